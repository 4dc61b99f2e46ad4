"""`ToolNames`: some tools, by what a program calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from toolsearch.checks import check_collection, shown
from toolsearch.exceptions import UnknownToolError
from toolsearch.given import as_tools
from toolsearch.globs import Globs, is_glob
from toolsearch.naming import RESERVED_NAMES, near_names
from toolsearch.tools import Tool

ToolName: TypeAlias = str | Tool | Callable[..., Any]
"""A public name, a raw name, ``source/raw_name`` or a glob over these; or a tool or function itself."""


class ToolNames:
    """Tools by name. A text means every tool of that public name, raw name or ``source/raw_name``, and as a
    glob all that fit it. A tool or a function means the tool that was made of it, under whatever name."""

    def __init__(self, given: Iterable[ToolName] = (), what: str = "tools") -> None:
        """The tools that `given` names; `what` is the argument that errors name.

        Raises:
            TypeError: it is one text, or holds something that names no tool.
            DefinitionError: a function of which no tool can be made.
        """
        check_collection(what, given)
        self._entries = tuple(_entry(each, f"{what}[{number}]") for number, each in enumerate(given))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, tool: Tool) -> bool:
        return any(entry.means(tool) for entry in self._entries)

    def names_in(self, tools: Mapping[str, Tool]) -> tuple[str, ...]:
        """Public names of those of `tools` that are meant, in the order that they are named in.

        A text that is a public name means that tool alone here.
        """
        meant = {entry.text: [entry.text] for entry in self._entries if entry.text in tools}
        sought = [entry for entry in self._entries if entry.text not in meant]
        if sought:
            # Read once for all that need it: a catalog may be on disk.
            for name, tool in tools.items():
                for entry in sought:
                    if entry.means(tool):
                        meant.setdefault(entry.text, []).append(name)
        return tuple(dict.fromkeys(name for entry in self._entries for name in meant.get(entry.text, ())))

    def check_in(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where each name is of at least one of `tools`, or of a built-in tool.

        Raises:
            UnknownToolError: for the first that is of none.
        """
        for entry in self._entries:
            if entry.text not in RESERVED_NAMES and next(entry.names_in(tools), None) is None:
                raise UnknownToolError(entry.text, near_names(entry.text, tools))


@runtime_checkable
class NamesTools(Protocol):
    """Something whose settings name tools, which can be looked up once the catalog is known."""

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every name is of one of `tools`.

        Raises:
            ToolSearchError: says which is not.
        """


@dataclass(frozen=True)
class _Entry:
    text: str
    globs: Globs | None = None
    tool: Tool | None = None

    def means(self, tool: Tool) -> bool:
        if self.tool is not None:
            function = getattr(self.tool, "function", None)
            is_made_of_it = function is not None and getattr(tool, "function", None) == function
            return tool.name == self.text or is_made_of_it
        names = (tool.name, tool.raw_name, f"{tool.source}/{tool.raw_name}")
        return self.text in names or (self.globs is not None and self.globs.fits_any(names))

    def names_in(self, tools: Mapping[str, Tool]) -> Iterator[str]:
        if self.text in tools:
            # Others need not be read: a catalog may be on disk.
            yield self.text
        else:
            yield from (name for name, tool in tools.items() if self.means(tool))


def _entry(given: Any, what: str) -> _Entry:
    if isinstance(given, str):
        return _Entry(given, Globs((given,)) if is_glob(given) else None)
    if not isinstance(given, Tool) and not callable(given):
        raise TypeError(f"{what} is {shown(given)}. Give a name, a function or a Tool.")
    (tool,) = as_tools((given,), what)
    return _Entry(tool.name, tool=tool)
