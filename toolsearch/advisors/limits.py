"""`LoopLimits`: when a tool-calling loop has gone on for long enough."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, TypeAlias

from toolsearch.advisors.calls import PlannedCall
from toolsearch.checks import check_choice, check_number, check_whole, shown
from toolsearch.functions.arguments import parse_arguments
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolMessage, ToolResult
from toolsearch.tool_names import ToolName, ToolNames
from toolsearch.tools import JsonObject, Tool

LimitKind: TypeAlias = Literal["rounds", "calls_per_tool", "calls", "repeats", "wall_time_s", "tokens"]
OnLimit: TypeAlias = Literal["stop", "tell", "raise"]

_REFUSED_BY = "refused_by_limit"


@dataclass(frozen=True)
class LimitBreach:
    """A limit that was reached: which, its value, and of which tool where it is about one."""

    kind: LimitKind
    limit: float
    tool: str = ""

    @property
    def message(self) -> str:
        match self.kind:
            case "rounds":
                return f"The limit of {self.limit:g} rounds is reached."
            case "calls":
                return f"The limit of {self.limit:g} tool calls is reached."
            case "calls_per_tool":
                return f"The limit of {self.limit:g} calls of {self.tool!r} is reached."
            case "repeats":
                return (
                    f"{self.tool!r} was called {self.limit:g} times with the same arguments "
                    "and the same result; another call will not change it."
                )
            case "wall_time_s":
                return f"The limit of {self.limit:g} s is reached."
            case "tokens":
                return f"The limit of {self.limit:g} tokens is reached."

    def cut(self, advice: str) -> ToolResult:
        """The result of a call that was running when this limit was reached."""
        return ToolResult.error(
            f"This was ended before it gave a result. {self.message} What it began may still take effect. "
            f"{advice}"
        )

    def refusal(self, advice: str) -> ToolResult:
        """The result of a call that goes past this limit."""
        part = TextPart(text=f"This was not run. {self.message} {advice}")
        return ToolResult((part,), is_error=True, structured={_REFUSED_BY: self.kind})


@dataclass(frozen=True, kw_only=True)
class LoopLimits:
    """How far one run may go. None, or -1, sets no limit.

    Calls that were refused count too, so a loop of unknown names ends as well. Tokens are looked at after
    each round. Time also ends a round that is running: the model is no longer waited for, and a call that has
    not come to its end gets an error result. Only hooks, advisors and decisions on calls are waited for.

    Attributes:
        rounds: Calls of the model.
        calls_per_tool: Calls of any one tool.
        calls: Calls of all tools.
        repeats: Calls of one tool with the same arguments that had the same result each time.
        wall_time_s: Seconds since the start, without the time that a run was paused. An answer that is on its
            way then is lost, and its tokens are not known.
        tokens: Input and output tokens, summed over the rounds.
        per_tool: Limits of single tools in place of `calls_per_tool`, by a text as `ToolNames` takes it.
            A public name goes before raw names and globs, of which the first that fits counts.
        on_limit: ``stop`` ends the run with finish reason ``limit``, ``raise`` with `LimitExceededError`; the
            calls of the answer that went too far do not run then. ``tell`` refuses the calls that go too far
            with an error result and goes on; the last round that `rounds` allows, and one after time or
            tokens have run out, is asked for without tool calls, so that the model answers with what it has.
            That round has as long again as `wall_time_s`. A model that was answering when time ran out is not
            asked again: the run ends.

    Raises:
        ValueError: a number that is not above 0, or an unknown `on_limit`.
        TypeError: what is no number, or no whole one where it counts something; a key of `per_tool` that
            names no tool.
    """

    rounds: int | None = 25
    calls_per_tool: int | None = 40
    calls: int | None = 150
    repeats: int | None = 5
    wall_time_s: float | None = None
    tokens: int | None = None
    per_tool: Mapping[ToolName, int | None] = field(default_factory=dict)
    on_limit: OnLimit = "stop"

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.name not in {"per_tool", "on_limit"}:
                object.__setattr__(self, each.name, _limit(each.name, getattr(self, each.name)))
        check_choice("on_limit", self.on_limit, OnLimit)
        if not isinstance(self.per_tool, Mapping):
            raise TypeError(f"per_tool is {shown(self.per_tool)}. Give a dict, such as {{'send_email': 3}}.")
        own = {name: _limit(f"per_tool[{name!r}]", value) for name, value in self.per_tool.items()}
        object.__setattr__(self, "per_tool", own)
        ToolNames(own, "per_tool")

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every name in `per_tool` is of one of `tools`.

        Raises:
            UnknownToolError: for the first that is not.
        """
        ToolNames(self.per_tool, "per_tool").check_in(tools)

    @property
    def time(self) -> LimitBreach | None:
        """What a run that goes past `wall_time_s` comes to; None where that sets no limit."""
        return None if self.wall_time_s is None else LimitBreach("wall_time_s", self.wall_time_s)

    def after_round(self, *, rounds: int, tokens: int, elapsed_s: float) -> LimitBreach | None:
        """The limit that leaves no room for another round, if any."""
        if self.rounds is not None and rounds >= self.rounds:
            return LimitBreach("rounds", self.rounds)
        if self.time is not None and elapsed_s >= self.time.limit:
            return self.time
        if self.tokens is not None and tokens >= self.tokens:
            return LimitBreach("tokens", self.tokens)
        return None

    def of_calls(
        self, calls: Sequence[PlannedCall], earlier: Sequence[Message]
    ) -> tuple[LimitBreach | None, ...]:
        """For each call, in order, the limit that it would go past; `earlier` is what the run did before.

        The limit of the tool is looked at before that of all calls. A call that goes too far is not counted.
        """
        counts = Counter(message.name for message in earlier if isinstance(message, ToolMessage))
        repeated = _repeated(earlier)
        breaches: list[LimitBreach | None] = []
        for planned in calls:
            name = planned.call.name
            breach = self._of_call(planned, counts, repeated)
            breaches.append(breach)
            if breach is None:
                counts[name] += 1
        return tuple(breaches)

    def _of_call(
        self, planned: PlannedCall, counts: Counter[str], repeated: Counter[tuple[str, str]]
    ) -> LimitBreach | None:
        name = planned.call.name
        of_tool = self._of_tool(name, planned.tool)
        if of_tool is not None and counts[name] >= of_tool:
            return LimitBreach("calls_per_tool", of_tool, name)
        if self.calls is not None and counts.total() >= self.calls:
            return LimitBreach("calls", self.calls)
        if self.repeats is not None and repeated[name, _canonical(planned.arguments)] >= self.repeats:
            return LimitBreach("repeats", self.repeats, name)
        return None

    def _of_tool(self, name: str, tool: Tool | None) -> int | None:
        if name in self.per_tool or tool is None:
            return self.per_tool.get(name, self.calls_per_tool)
        return next((limit for names, limit in self._by_names if tool in names), self.calls_per_tool)

    @cached_property
    def _by_names(self) -> tuple[tuple[ToolNames, int | None], ...]:
        return tuple((ToolNames((name,), "per_tool"), limit) for name, limit in self.per_tool.items())


def _limit(name: str, value: Any) -> Any:
    if value == -1:
        return None
    check = check_number if name == "wall_time_s" else check_whole
    check(name, value, or_none=True)
    return value


def _repeated(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    """How often each call was made last with one and the same result, by name and arguments."""
    results = {message.call_id: message for message in messages if isinstance(message, ToolMessage)}
    last: dict[tuple[str, str], object] = {}
    times: Counter[tuple[str, str]] = Counter()
    for message in messages:
        if not isinstance(message, AssistantMessage):
            continue
        for call in message.tool_calls:
            if call.id not in results or _is_refusal(results[call.id]):
                continue
            key = call.name, _canonical(parse_arguments(call.arguments))
            times[key] = times[key] + 1 if last.get(key) == results[call.id].content else 1
            last[key] = results[call.id].content
    return times


def _is_refusal(result: ToolMessage) -> bool:
    # It says nothing new of the call: counted as another result, it would let the repetition begin anew.
    return result.is_error and isinstance(result.structured, Mapping) and _REFUSED_BY in result.structured


def _canonical(arguments: JsonObject) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)
