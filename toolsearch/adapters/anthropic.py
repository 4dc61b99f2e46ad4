"""Tool search in calls of ``client.messages.create`` and ``client.messages.stream``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from toolsearch.adapters.api import Arguments, IsOurs, Rounds
from toolsearch.adapters.recall import Hidden, plain
from toolsearch.adapters.usage import summed
from toolsearch.adapters.wire import WireForm, lacks_messages, messages_in, written_result
from toolsearch.chat.anthropic import Assembler
from toolsearch.chat.arguments import as_object
from toolsearch.messages import ToolCall, ToolResult
from toolsearch.tools import JsonObject

_SCOPE = ("system", "metadata", "model")
_TOTALS = (
    *("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("output_tokens_details", "server_tool_use"),
)
"""What the end of a stream counts."""


class Anthropic:
    """See `WireApi`."""

    form: WireForm = "anthropic"

    def tool_name(self, record: JsonObject) -> str | None:
        is_custom = record.get("type") in (None, "custom")
        return record.get("name") if is_custom else None

    def as_function(self, record: JsonObject) -> JsonObject:
        return record

    def refuses(self, request: Arguments) -> str:
        return (
            "Its conversation is kept by the provider." if request.get("thread") else lacks_messages(request)
        )

    def messages(self, request: Arguments) -> list[Any]:
        return messages_in(request)

    def with_messages(self, request: Arguments, told: list[Any], rounds: Rounds) -> Arguments:
        return {**request, "messages": [*told, *chain.from_iterable(rounds)]}

    def with_instructions(self, request: Arguments, text: str) -> Arguments:
        system = request.get("system")
        if isinstance(system, str) and system:
            return {**request, "system": f"{system}\n\n{text}"}
        blocks = list(system) if isinstance(system, list | tuple) else []
        return {**request, "system": [*blocks, {"type": "text", "text": text}] if blocks else text}

    def scope(self, request: Arguments) -> Any:
        return [request.get(key) for key in _SCOPE]

    def wanted(self, request: Arguments) -> tuple[str, ...]:
        choice = plain(request.get("tool_choice"))
        name = choice.get("name") if isinstance(choice, dict) else None
        return (name,) if isinstance(name, str) else ()

    def server_state(self, request: Arguments) -> str:
        del request
        return ""

    def new_state(self, request: Arguments, answer: JsonObject) -> tuple[str, str]:
        del request, answer
        return "", ""

    def with_state(self, request: Arguments, state: str) -> Arguments:
        del state
        return request

    def said(self, answer: JsonObject) -> list[Any]:
        return [{"role": "assistant", "content": answer.get("content")}]

    def calls(self, answer: JsonObject) -> list[JsonObject]:
        return [block for block in answer.get("content") or () if block.get("type") == "tool_use"]

    def result(self, call: JsonObject, call_id: str, result: ToolResult) -> JsonObject:
        del call
        return written_result(call_id, result, self.form)

    def exchange(
        self,
        request: Arguments,
        answer: JsonObject,
        calls: Sequence[ToolCall],
        results: Sequence[JsonObject],
    ) -> list[JsonObject]:
        del request
        mended = iter(calls)
        content = [
            _mended(block, next(mended)) if block["type"] == "tool_use" else block
            for block in plain(answer["content"])
        ]
        return [
            {"role": "assistant", "content": content},
            {"role": "user", "content": list(results)},
        ]

    def beside(self, answer: JsonObject, is_ours: IsOurs, calls: Sequence[ToolCall]) -> list[JsonObject]:
        ours = [plain(block) for block in answer["content"] if _is_ours(block, is_ours)]
        return list(map(_mended, ours, calls))

    def beyond(self, message: Any, exchange: Sequence[JsonObject]) -> Any:
        answer = plain(message)
        content = answer.get("content") if isinstance(answer, dict) else None
        if content is None or answer.get("role") != "assistant" or not isinstance(content, list):
            return message
        answers = (told["content"] for told in exchange if told["role"] == "assistant")
        said = [block for blocks in answers for block in blocks if block["type"] != "tool_use"]
        n_shown = len(said) if said and content[: len(said)] == said else 0
        return {**answer, "content": content[n_shown:]} if n_shown < len(content) else message

    def rejoined(self, messages: list[Any], position: int, hidden: Hidden) -> None:
        match list(map(plain, messages[position : position + 2])):
            case [
                {"role": "assistant", "content": list(said)} as answer,
                {"role": "user", "content": list(told)} as results,
            ]:
                messages[position] = {**answer, "content": [*said, *hidden.calls]}
                messages[position + 1] = {**results, "content": [*hidden.results, *told]}

    def without(self, answer: Any, is_ours: IsOurs) -> Any:
        kept = [block for block in answer.content if not _is_ours(block.to_dict(warnings=False), is_ours)]
        return answer.model_copy(update={"content": kept})

    def chunks(self, is_ours: IsOurs) -> AnthropicChunks:
        return AnthropicChunks(is_ours)


class AnthropicChunks:
    """See `Chunks`. The blocks of all rounds are numbered as those of one message."""

    def __init__(self, is_ours: IsOurs) -> None:
        self._is_ours = is_ours
        self._usages: list[Any] = []
        self._has_started = False
        self._n_shown = 0
        self.start()

    def start(self) -> None:
        self._assembler = Assembler()
        self._held: list[Any] = []
        self._places: dict[int, int | None] = {}
        self._usage: Any = None

    def show(self, event: Any) -> list[Any]:
        self._assembler.add(event.to_dict())
        match event.type:
            case "message_start":
                self._usages.append(event.message.usage.model_copy(deep=True))
                if self._has_started:
                    return []
                self._has_started = True
            case "content_block_start":
                ours = _is_ours(event.content_block.to_dict(), self._is_ours)
                self._places[event.index] = None if ours else self._n_shown
                self._n_shown += not ours
                return self._placed(event)
            case "content_block_delta" | "content_block_stop":
                return self._placed(event)
            case "message_delta":
                self._held.append(event)
                for name, value in event.usage:
                    # These are totals of the round; what is missing stays as the round began.
                    if value is not None:
                        setattr(self._usages[-1], name, value)
                return []
            case "message_stop":
                self._held.append(event)
                return []
        return [event]

    def answer(self) -> JsonObject:
        whole = self._assembler.answer()
        if whole is None:
            return {"content": []}
        for block in whole["content"]:
            if block["type"] == "tool_use" and isinstance(block["input"], str):
                block["input"] = as_object(block["input"])
        return whole

    def last(self) -> list[Any]:
        if len(self._usages) <= 1:
            return self._held
        total = summed(self._usages)
        out = []
        for event in self._held:
            if event.type == "message_delta":
                names = getattr(type(event.usage), "model_fields", _TOTALS)
                numbers = {name: getattr(total, name, None) for name in names}
                usage = event.usage.model_copy(
                    update={name: value for name, value in numbers.items() if value is not None}
                )
                event = event.model_copy(update={"usage": usage})  # noqa: PLW2901
            out.append(event)
        return out

    def _placed(self, event: Any) -> list[Any]:
        place = self._places.get(event.index)
        if place is None:
            return []
        return [event if place == event.index else event.model_copy(update={"index": place})]


def _mended(block: JsonObject, call: ToolCall) -> JsonObject:
    return {**block, "id": call.id, "name": call.name, "input": as_object(call.arguments)}


def _is_ours(block: JsonObject, is_ours: IsOurs) -> bool:
    return block.get("type") == "tool_use" and is_ours(block["name"])
