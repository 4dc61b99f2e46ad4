"""`ToolFilter`: the tools that a caller may know of, decided tool by tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from toolsearch.globs import Globs, is_glob
from toolsearch.tool_names import ToolNames
from toolsearch.tools import Tool


class ToolFilter(BaseModel):
    """A rule that lets tools through; the fields mean what they mean in `SearchRequest`.

    Attributes:
        sources: Only tools of these sources.
        tags: Only tools with at least one of these tags.
        allow, deny: Globs over public names, raw names and ``source/raw_name``; deny wins.
        read_only: True keeps only tools that claim to be read-only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sources: frozenset[str] | None = None
    tags: frozenset[str] | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    read_only: bool = False

    def permits(self, tool: Tool) -> bool:
        """Whether `tool` passes every rule that is given."""
        return (
            (self.sources is None or tool.source in self.sources)
            and (self.tags is None or not self.tags.isdisjoint(tool.tags))
            and (self.allow is None or _fits(self._allowed, tool))
            and not _fits(self._denied, tool)
            and (not self.read_only or tool.read_only is True)
        )

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every name in `allow` and `deny` is of one of `tools`; globs need not fit any.

        Raises:
            UnknownToolError: for the first that is not.
        """
        names = (*(self.allow or ()), *self.deny)
        ToolNames((name for name in names if not is_glob(name)), "filter").check_in(tools)

    @cached_property
    def _allowed(self) -> Globs:
        return Globs(self.allow or ())

    @cached_property
    def _denied(self) -> Globs:
        return Globs(self.deny)


def _fits(globs: Globs, tool: Tool) -> bool:
    return globs.fits_any((tool.name, tool.raw_name, f"{tool.source}/{tool.raw_name}"))
