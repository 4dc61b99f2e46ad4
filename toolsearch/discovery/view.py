"""`CatalogView`: the tools that one caller may know of. Whatever is said to a model comes from here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolsearch.catalog import Catalog
from toolsearch.delivery.base import one_line
from toolsearch.exceptions import UnknownToolError
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.tokens import catalog_tokens
from toolsearch.tools import Tool

_DIRECTORY_CHARACTERS = 800
LABEL_CHARACTERS = 40


@dataclass(frozen=True, eq=False)
class CatalogView:
    """The tools of a catalog that every filter permits.

    Attributes:
        tools: By public name, in name order; decoded when asked for, as the catalog does.
        within: Their names, as `SearchRequest.within`; None where nothing is filtered out.
    """

    tools: Mapping[str, Tool]
    within: frozenset[str] | None = None

    @classmethod
    def of(cls, catalog: Catalog, filters: Iterable[ToolFilter] = ()) -> CatalogView:
        rules = [rule for rule in filters if rule != ToolFilter()]
        if not rules:
            return cls(catalog)
        names = [name for name, tool in catalog.items() if all(rule.permits(tool) for rule in rules)]
        part = _Part(catalog, names)
        return cls(part, frozenset(names))

    @cached_property
    def everything(self) -> tuple[Tool, ...]:
        """All tools in name order, decoded and kept."""
        return tuple(self.tools.values())

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """The named sources of the tools, sorted."""
        if isinstance(self.tools, Catalog):
            return tuple(source for source in self.tools.sources if source)
        return tuple(sorted({tool.source for tool in self.tools.values()} - {""}))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The tags of the tools, sorted."""
        return tuple(sorted({tag for tool in self.tools.values() for tag in tool.tags}))

    @cached_property
    def directory(self) -> str:
        """A sentence with the sources, or with the tags where there are none; empty without either."""
        if self.servers:
            return f"Servers: {listed(self.servers)}."
        return f"Categories: {listed(self.categories)}." if self.categories else ""

    @cached_property
    def pinned(self) -> tuple[str, ...]:
        """Tools that are always sent by their own word, in name order."""
        return tuple(name for name, tool in self.tools.items() if tool.pinned)

    @cached_property
    def tokens(self) -> int:
        """What sending all definitions costs."""
        return sum(catalog_tokens(self.tools.values()).values())


def listed(labels: Sequence[str]) -> str:
    """`labels` with commas between them, as many as fit into 800 characters, and how many did not."""
    shown: list[str] = []
    room = _DIRECTORY_CHARACTERS
    for label in labels:
        short = one_line(label, LABEL_CHARACTERS)
        room -= len(short) + 2
        if room < 0:
            break
        shown.append(short)
    rest = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


class _Part(Mapping[str, Tool]):
    """Some tools of a catalog, which alone holds them."""

    def __init__(self, catalog: Catalog, names: Iterable[str]) -> None:
        self._catalog = catalog
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Tool:
        if name not in self._names:
            raise UnknownToolError(name)
        return self._catalog[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
