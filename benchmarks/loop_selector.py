"""`Selector`: a scripted model that picks the relevant tool where it is offered and searches otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

from benchmarks.loop_tasks import Task
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RoundFinished
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage
from toolsearch.tools import JsonObject

ASSUMPTIONS = (
    "It knows a relevant tool when it sees it, by its definition or by its name alone, and calls no other: "
    "what varies is only whether it gets to see it. So sending everything selects perfectly by construction, "
    "which real models do less and less as lists grow.",
    "Where a relevant tool is not loaded but named as near, it loads it by name. Where it is not named "
    "either, it searches once more for up to ten tools a query, in the user's words: the request itself, or "
    "its clauses where several tools are needed, cut by punctuation and conjunctions alone. When told that "
    "nothing fits, or after the searches that it is allowed, it goes on with what it has.",
    "It makes all calls in one answer and with empty arguments, each result is one word, and so is its "
    "answer. That keeps the rounds few, which favours sending everything.",
)
"""What the figures of the scripted selector rest on; the report prints it."""

WORDS: Mapping[str, str] = {
    "rephrased": "It searches in the words of a tool's maker, as the description of tool_search asks for, "
    "one query for each capability. The queries were written beforehand from the requests, without the "
    "catalog but not blind to which tools the demo has: read this as what a capable model reaches at its "
    "best.",
    "verbatim": "It searches with the user's own words, unchanged: the request, or its clauses. Most "
    "requests of the demo set avoid the words of the tools on purpose: read this as the floor.",
}
"""What the selector searches with, and how to read it."""

MORE = 10
"""How many tools for each query the second search asks for."""

MAX_SEARCHES = 3


class Selector:
    """A `ChatModel` for one task; see `ASSUMPTIONS`. Holds no state: it reads the conversation."""

    def __init__(self, task: Task, *, words: str = "rephrased", max_searches: int = MAX_SEARCHES) -> None:
        """A selector that searches up to `max_searches` times.

        Raises:
            ValueError: `words` is not in `WORDS`, or the task has no rephrased queries.
        """
        if words not in WORDS:
            raise ValueError(f"words is {words!r}; it must be one of {', '.join(WORDS)}.")
        if words == "rephrased" and not task.rephrased:
            raise ValueError(f"Task {task.id!r} has no rephrased queries.")
        self.id = f"scripted:selector-{words}"
        self.native_search = True
        self._task = task
        self._rephrases = words == "rephrased"
        self._max_searches = max_searches

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Searches, calls what it has found, or answers."""
        calls = self._calls(request)
        if not calls:
            return ChatResponse(AssistantMessage(content=(TextPart(text="Done."),)))
        numbered = tuple(
            ToolCall(id=f"call_{len(request.messages)}_{i}", name=name, arguments=_json(arguments))
            for i, (name, arguments) in enumerate(calls)
        )
        return ChatResponse(AssistantMessage(content=numbered), finish_reason="tool_calls")

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """The same as one event."""
        yield RoundFinished(await self.complete(request))

    def _calls(self, request: ChatRequest) -> list[tuple[str, JsonObject]]:
        offered = {tool.name for tool in request.tools}
        bridged = CALL_TOOL in offered
        found = {name for result in _searches(request.messages) for name in result.discovered}
        usable = offered | found if bridged else offered
        open_needs = [need for need in self._task.needs if not set(need) & set(_called(request.messages))]
        lacking = [need for need in open_needs if not usable & set(need)]
        # A task that nothing serves is searched for as any other: only the search can tell.
        if (lacking or not self._task.needs) and SEARCH_TOOL in offered:
            search = self._next_search(lacking, request.messages)
            if search is not None:
                return [(SEARCH_TOOL, search)]
        chosen = dict.fromkeys(
            next(n for n in need if n in usable) for need in open_needs if usable & set(need)
        )
        return [
            (name, {}) if name in offered else (CALL_TOOL, {"name": name, "arguments": {}}) for name in chosen
        ]

    def _next_search(
        self, lacking: Sequence[tuple[str, ...]], messages: Sequence[Message]
    ) -> JsonObject | None:
        results = list(_searches(messages))
        if len(results) >= self._max_searches:
            return None
        if not results:
            first = self._task.rephrased if self._rephrases else self._task.clauses
            return {"queries": list(first)}
        told = [result.structured or {} for result in results]
        near = {name for facts in told for name in facts.get("near", ())}
        known = [next(n for n in need if n in near) for need in lacking if near & set(need)]
        if known:
            return {"queries": [f"select:{','.join(known)}"]}
        if told[-1].get("nothing_fits") or any("limit" in arguments for arguments in _asked(messages)):
            return None
        other_words = self._task.clauses if self._rephrases else (self._task.text,)
        return {"queries": list(other_words), "limit": MORE}


def _searches(messages: Sequence[Message]) -> Iterator[ToolMessage]:
    for message in messages:
        if isinstance(message, ToolMessage) and message.name == SEARCH_TOOL:
            yield message


def _asked(messages: Sequence[Message]) -> Iterator[JsonObject]:
    """The arguments of the searches so far."""
    for message in messages:
        if isinstance(message, AssistantMessage):
            yield from (json.loads(c.arguments) for c in message.tool_calls if c.name == SEARCH_TOOL)


def _called(messages: Sequence[Message]) -> Iterator[str]:
    """Names of the tools that were called, those behind a bridge included."""
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                yield call.name if call.name != CALL_TOOL else json.loads(call.arguments)["name"]


def _json(arguments: JsonObject) -> str:
    return json.dumps(arguments, ensure_ascii=False)
