"""`DiscoverySettings`: how much is loaded, shown and searched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict, Unpack

from toolsearch.checks import check_known, check_whole
from toolsearch.tool_names import ToolName, ToolNames

MAX_LIMIT = 20
"""The most tools that a model can ask for with one query."""


@dataclass(frozen=True, kw_only=True)
class DiscoverySettings:
    """How a conversation discovers tools.

    Attributes:
        pinned: Tools that are always visible, beside those that are pinned by themselves: see `ToolName`.
        limit: The most tools that one query loads, unless the model asks for another number (1 to 20).
        max_tools: The most tools in a request, built-in, pinned and the caller's own included; None for no
            bound. Beyond it the tools that were discovered first make room.
        whole_below_tokens: A catalog whose definitions cost fewer tokens is sent whole and not searched.
            Decided once a session. One to five percent of the context window is a good share; 0 is never.
        preselect: The most tools that are loaded for each user message before the model reads it; 0 for
            none. A process searches for each message of a conversation once.
        nudge_after: After so many searches in a row that load nothing, the result advises to stop.
        max_fruitless: After so many, further searches of the turn are not run.
        instructions: Added to the system message where something is hidden; empty for nothing.

    Raises:
        ValueError: a number out of its range.
        TypeError: a number that is no whole one, or something among `pinned` that names no tool.
    """

    pinned: Iterable[ToolName] = ()
    limit: int = 5
    max_tools: int | None = None
    whole_below_tokens: int = 0
    preselect: int = 0
    nudge_after: int = 3
    max_fruitless: int = 8
    instructions: str = (
        "You see only some of your tools. Before you say that something cannot be done, look for a tool that "
        "does it with tool_search."
    )

    @classmethod
    def of(cls, **options: Unpack[DiscoveryOptions]) -> DiscoverySettings:
        """The settings that callers pass on, where a misspelt one is told by its name.

        Raises:
            TypeError: there is no such setting.
            ValueError, TypeError: as the class.
        """
        check_known("argument or setting", options, DiscoveryOptions.__annotations__)
        return cls(**options)

    def __post_init__(self) -> None:
        ToolNames(self.pinned, "pinned")
        object.__setattr__(self, "pinned", tuple(self.pinned))
        check_whole("limit", self.limit, most=MAX_LIMIT)
        check_whole("preselect", self.preselect, least=0, most=MAX_LIMIT)
        check_whole("whole_below_tokens", self.whole_below_tokens, least=0)
        check_whole("nudge_after", self.nudge_after)
        check_whole("max_fruitless", self.max_fruitless)
        check_whole("max_tools", self.max_tools, or_none=True)


class DiscoveryOptions(TypedDict, total=False):
    """The attributes of `DiscoverySettings` as keyword arguments."""

    pinned: Iterable[ToolName]
    limit: int
    max_tools: int | None
    whole_below_tokens: int
    preselect: int
    nudge_after: int
    max_fruitless: int
    instructions: str
