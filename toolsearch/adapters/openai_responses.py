"""Tool search in calls of ``client.responses.create``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from toolsearch.adapters.api import Arguments, IsOurs, Rounds
from toolsearch.adapters.recall import Hidden, plain
from toolsearch.adapters.usage import summed
from toolsearch.adapters.wire import NO_SCHEMA, WireForm, read_call, written_result
from toolsearch.chat.arguments import as_object
from toolsearch.messages import ToolCall, ToolResult
from toolsearch.tools import JsonObject

_CALLS = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}
"""Types of calls, and of their results."""

_SHOWN_ID = "shown_id"
"""In an answer out of a stream: the id that the caller gets to know."""

_SCOPE = ("instructions", "user", "safety_identifier", "prompt_cache_key", "model")


class OpenAIResponses:
    """See `WireApi`."""

    form: WireForm = "openai_responses"

    def tool_name(self, record: JsonObject) -> str | None:
        return record.get("name") if record.get("type") in ("function", "custom") else None

    def as_function(self, record: JsonObject) -> JsonObject:
        if record.get("type") == "function":
            return record
        told = {key: record.get(key, "") for key in ("name", "description")}
        return {"type": "function", **told, "parameters": NO_SCHEMA}

    def refuses(self, request: Arguments) -> str:
        return "It runs in the background." if request.get("background") is True else ""

    def messages(self, request: Arguments) -> list[Any]:
        given = request.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return list(given) if isinstance(given, list | tuple) else []

    def with_messages(self, request: Arguments, told: list[Any], rounds: Rounds) -> Arguments:
        if rounds and self._conversation(request):
            # Everything else is already part of the provider's conversation.
            kinds = (*_CALLS.values(), "developer")
            results = [item for item in rounds[-1] if item.get("type", item.get("role")) in kinds]
            return {**request, "input": results}
        return {**request, "input": [*told, *chain.from_iterable(rounds)]}

    def with_instructions(self, request: Arguments, text: str) -> Arguments:
        given = request.get("instructions")
        return {**request, "instructions": f"{given}\n\n{text}" if isinstance(given, str) and given else text}

    def scope(self, request: Arguments) -> Any:
        return [request.get(key) for key in _SCOPE]

    def wanted(self, request: Arguments) -> tuple[str, ...]:
        choice = plain(request.get("tool_choice"))
        if not isinstance(choice, dict):
            return ()
        records = choice.get("tools")
        chosen = [choice, *(records if isinstance(records, list) else ())]
        names = (self.tool_name(record) for record in chosen if isinstance(record, dict))
        return tuple(name for name in names if isinstance(name, str))

    def server_state(self, request: Arguments) -> str:
        previous = request.get("previous_response_id")
        return previous if isinstance(previous, str) else self._conversation(request)

    def new_state(self, request: Arguments, answer: JsonObject) -> tuple[str, str]:
        if conversation := self._conversation(request):
            return conversation, conversation
        own = str(answer.get("id") or "")
        return str(answer.get(_SHOWN_ID) or own), own

    def with_state(self, request: Arguments, state: str) -> Arguments:
        is_told = isinstance(request.get("previous_response_id"), str)
        return {**request, "previous_response_id": state} if is_told else request

    def said(self, answer: JsonObject) -> list[Any]:
        return list(answer.get("output") or ())

    def calls(self, answer: JsonObject) -> list[JsonObject]:
        return [item for item in answer.get("output") or () if _is_call(item)]

    def result(self, call: JsonObject, call_id: str, result: ToolResult) -> JsonObject:
        return {**written_result(call_id, result, self.form), "type": _CALLS[call["type"]]}

    def exchange(
        self,
        request: Arguments,
        answer: JsonObject,
        calls: Sequence[ToolCall],
        results: Sequence[JsonObject],
    ) -> list[JsonObject]:
        mended = iter(calls)
        items = [_mended(item, next(mended)) if _is_call(item) else item for item in plain(answer["output"])]
        if request.get("store") is False:
            # Without storage the provider knows reasoning again only by what it has encrypted.
            items = [i for i in items if i["type"] != "reasoning" or i.get("encrypted_content")]
        return [*items, *results]

    def beside(self, answer: JsonObject, is_ours: IsOurs, calls: Sequence[ToolCall]) -> list[JsonObject]:
        ours = [plain(item) for item in answer["output"] if _is_ours(item, is_ours)]
        return list(map(_mended, ours, calls))

    def beyond(self, message: Any, exchange: Sequence[JsonObject]) -> Any:
        item = plain(message)
        return (
            None
            if isinstance(item, dict) and item.get("id") and any(_is_same(item, told) for told in exchange)
            else message
        )

    def rejoined(self, messages: list[Any], position: int, hidden: Hidden) -> None:
        # Items stand for themselves, so a call and its result may precede what was said with it.
        messages[position:position] = [*hidden.calls, *hidden.results]

    def without(self, answer: Any, is_ours: IsOurs) -> Any:
        kept = [item for item in answer.output if not _is_ours(item.to_dict(), is_ours)]
        return answer.model_copy(update={"output": kept})

    def chunks(self, is_ours: IsOurs) -> OpenAIResponsesChunks:
        return OpenAIResponsesChunks(is_ours)

    def _conversation(self, request: Arguments) -> str:
        conversation = plain(request.get("conversation"))
        if isinstance(conversation, dict):
            conversation = conversation.get("id")
        return conversation if isinstance(conversation, str) else ""


class OpenAIResponsesChunks:
    """See `Chunks`. The items of all rounds are numbered as those of one response.

    The response has the id of the first round that showed anything, as its first event said. Reasoning that
    says nothing is shown with what follows it: with a search it is kept from the caller like that, since the
    provider takes it back only with its next item.
    """

    def __init__(self, is_ours: IsOurs) -> None:
        self._is_ours = is_ours
        self._usages: list[Any] = []
        self._shown_items: list[Any] = []
        self._id = ""
        self._n_shown = self._sequence = 0
        self.start()

    def start(self) -> None:
        self._begun: list[Any] = []
        self._held: list[Any] = []
        self._silent: list[Any] = []
        self._places: dict[int, int | None] = {}
        self._round_items: dict[int, Any] = {}
        self._response: Any = None

    def show(self, event: Any) -> list[Any]:
        match event.type:
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = event.response
                self._usages.append(event.response.usage)
                self._held.append(event)
                return []
            case "response.created" | "response.in_progress" | "response.queued":
                if not self._id:
                    self._begun.append(event)
                return []
            case "response.output_item.done":
                self._round_items[event.output_index] = event.item
        if not hasattr(event, "output_index"):
            return [*self._beginning(), self._numbered(event)]
        if _is_silent(event):
            self._silent.append(event)
            return []
        if event.type == "response.output_item.added" and _is_ours(event.item.to_dict(), self._is_ours):
            self._places[event.output_index] = None
        if self._places.get(event.output_index, 0) is None:
            return []
        return [*self._released(), *self._placed(event)]

    def _released(self) -> list[Any]:
        """Reasoning that was held back."""
        silent, self._silent = self._silent, []
        return [shown for event in silent for shown in self._placed(event)]

    def _placed(self, event: Any) -> list[Any]:
        """An event of an item that is shown, at its place among these."""
        if event.type == "response.output_item.added":
            self._places[event.output_index] = self._n_shown
            self._n_shown += 1
        place = self._places.get(event.output_index)
        if place is None:
            return []
        if event.type == "response.output_item.done":
            self._shown_items.append(event.item)
        if place != event.output_index:
            event = event.model_copy(update={"output_index": place})
        return [*self._beginning(), self._numbered(event)]

    def answer(self) -> JsonObject:
        if self._response is None:
            return {"output": []}
        whole: JsonObject = self._response.to_dict()
        if not whole.get("output"):
            whole["output"] = [item.to_dict() for _, item in sorted(self._round_items.items())]
        return {**whole, _SHOWN_ID: self._id}

    def last(self) -> list[Any]:
        begun = [*self._released(), *self._beginning()]
        if len(self._usages) <= 1 and len(self._shown_items) == len(self._round_items):
            return [*begun, *map(self._numbered, self._held)]
        update = {"output": self._shown_items, "usage": summed(self._usages), "id": self._id}
        ends = (
            event.model_copy(update={"response": event.response.model_copy(update=update)})
            for event in self._held
        )
        return [*begun, *map(self._numbered, ends)]

    def _beginning(self) -> list[Any]:
        """What begins the answer, if nothing has been shown yet."""
        begun, self._begun = self._begun, []
        first = begun[0].response if begun else self._response
        if not self._id and first is not None:
            self._id = first.id
        return list(map(self._numbered, begun))

    def _numbered(self, event: Any) -> Any:
        number, self._sequence = self._sequence, self._sequence + 1
        if getattr(event, "sequence_number", None) == number:
            return event
        return event.model_copy(update={"sequence_number": number})


def _is_silent(event: Any) -> bool:
    """Whether it begins or ends an item of reasoning without a word of it."""
    item = getattr(event, "item", None)
    if item is None or item.type != "reasoning":
        return False
    told = item.to_dict()
    return not (told.get("summary") or told.get("content"))


def _mended(item: JsonObject, call: ToolCall) -> JsonObject:
    if item["type"] == "custom_tool_call":
        return {**item, "call_id": call.id, "name": call.name}
    if item["type"] == "tool_search_call":
        return {**item, "call_id": call.id, "arguments": as_object(call.arguments)}
    return {**item, "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _is_ours(item: JsonObject, is_ours: IsOurs) -> bool:
    return _is_call(item) and is_ours(read_call(item).name)


def _is_call(item: JsonObject) -> bool:
    """Of a tool that the caller runs."""
    return item.get("type") in tuple(_CALLS) and item.get("execution") != "server"


def _is_same(item: JsonObject, told: JsonObject) -> bool:
    return (item.get("type"), item["id"]) == (told.get("type"), told.get("id"))
