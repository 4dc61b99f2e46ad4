"""Tool search in calls of ``client.chat.completions.create``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from toolsearch.adapters.api import Arguments, IsOurs, Rounds
from toolsearch.adapters.recall import Hidden, plain
from toolsearch.adapters.usage import summed
from toolsearch.adapters.wire import NO_SCHEMA, WireForm, lacks_messages, messages_in, written_result
from toolsearch.chat.openai_chat import Assembler
from toolsearch.messages import ToolCall, ToolResult
from toolsearch.tools import JsonObject

_SCOPE = ("user", "safety_identifier", "prompt_cache_key", "model")
_GAP = "\n\n"


class OpenAIChat:
    """See `WireApi`."""

    form: WireForm = "openai_chat"

    def tool_name(self, record: JsonObject) -> str | None:
        holder = _holder(record)
        return holder.get("name") if isinstance(holder, dict) else None

    def as_function(self, record: JsonObject) -> JsonObject:
        if "custom" not in record:
            return record
        told = {key: record["custom"].get(key, "") for key in ("name", "description")}
        return {"type": "function", "function": {**told, "parameters": NO_SCHEMA}}

    def refuses(self, request: Arguments) -> str:
        n = request.get("n")
        if isinstance(n, int) and n > 1:
            return f"n is {n}; only one answer can be had."
        return lacks_messages(request)

    def messages(self, request: Arguments) -> list[Any]:
        return messages_in(request)

    def with_messages(self, request: Arguments, told: list[Any], rounds: Rounds) -> Arguments:
        return {**request, "messages": [*told, *chain.from_iterable(rounds)]}

    def with_instructions(self, request: Arguments, text: str) -> Arguments:
        messages = list(request["messages"])
        first = plain(messages[0]) if messages else {}
        if isinstance(first, dict) and first.get("role") in ("system", "developer"):
            messages[0] = {**first, "content": _extended(first.get("content"), text)}
        else:
            messages.insert(0, {"role": "system", "content": text})
        return {**request, "messages": messages}

    def scope(self, request: Arguments) -> Any:
        return [request.get(key) for key in _SCOPE]

    def wanted(self, request: Arguments) -> tuple[str, ...]:
        choice = plain(request.get("tool_choice"))
        if not isinstance(choice, dict):
            return ()
        match choice:
            case {"allowed_tools": {"tools": list(records)}}:
                chosen = [choice, *records]
            case _:
                chosen = [choice]
        names = (self.tool_name(record) for record in chosen if isinstance(record, dict))
        return tuple(name for name in names if isinstance(name, str))

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
        return [{"role": "assistant", **_message(answer)}]

    def calls(self, answer: JsonObject) -> list[JsonObject]:
        return list(_message(answer).get("tool_calls") or ())

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
        message = _message(answer)
        told = list(map(_mended, message["tool_calls"], calls))
        return [{**message, "tool_calls": told}, *results]

    def beside(self, answer: JsonObject, is_ours: IsOurs, calls: Sequence[ToolCall]) -> list[JsonObject]:
        ours = [call for call in self.calls(answer) if is_ours(_holder(call)["name"])]
        return list(map(_mended, ours, calls))

    def beyond(self, message: Any, exchange: Sequence[JsonObject]) -> Any:
        answer = plain(message)
        rest = answer.get("content") if isinstance(answer, dict) else None
        if rest is None or answer.get("role") != "assistant" or not isinstance(rest, str):
            return message
        for said in filter(None, (told.get("content") for told in exchange if told["role"] == "assistant")):
            if rest.startswith(said):
                rest = rest.removeprefix(said).removeprefix(_GAP)
        return message if rest == answer["content"] else {**answer, "content": rest or None}

    def rejoined(self, messages: list[Any], position: int, hidden: Hidden) -> None:
        answer = plain(messages[position])
        if isinstance(answer, dict) and answer.get("role") == "assistant" and answer.get("tool_calls"):
            calls = [*answer["tool_calls"], *hidden.calls]
            messages[position : position + 1] = [{**answer, "tool_calls": calls}, *hidden.results]

    def without(self, answer: Any, is_ours: IsOurs) -> Any:
        answer = answer.model_copy(deep=True)
        message = answer.choices[0].message
        message.tool_calls = [
            call for call in message.tool_calls if not is_ours(_holder(call.to_dict())["name"])
        ]
        return answer

    def chunks(self, is_ours: IsOurs) -> OpenAIChatChunks:
        return OpenAIChatChunks(is_ours)


class OpenAIChatChunks:
    """See `Chunks`. Text of a round that turns out to be a search is set apart by an empty line."""

    def __init__(self, is_ours: IsOurs) -> None:
        self._is_ours = is_ours
        self._usages: list[Any] = []
        self._has_spoken = False
        self._is_first = True
        self._begun: Any = None
        self._n_shown = 0
        self.start()

    def start(self) -> None:
        self._assembler = Assembler()
        self._held: list[Any] = []
        self._places: dict[int, int | None] = {}
        self._gap = _GAP if self._has_spoken else ""

    def show(self, chunk: Any) -> list[Any]:
        self._assembler.add(chunk.to_dict())
        if chunk.usage is not None:
            self._usages.append(chunk.usage)
        chunk = self._of_the_first(chunk)
        if not chunk.choices or chunk.choices[0].finish_reason is not None:
            self._held.append(chunk)
            return []
        delta = chunk.choices[0].delta
        if delta is None or self._is_fine(delta):
            self._has_spoken = self._has_spoken or bool(delta and delta.content)
            return [chunk]
        chunk = chunk.model_copy(deep=True)
        delta = chunk.choices[0].delta
        if delta.tool_calls:
            delta.tool_calls = [call for call in delta.tool_calls if self._is_shown(call)] or None
        if delta.content:
            delta.content = self._gap + delta.content
            self._gap, self._has_spoken = "", True
        if self._is_first:
            self._is_first = False
            return [chunk]
        if delta.role is not None:
            delta.role = None  # clients put the pieces of all fields together
        extra = any((delta.model_extra or {}).values())
        says = delta.content or delta.refusal or delta.tool_calls or delta.function_call or extra
        return [chunk] if says else []

    def answer(self) -> JsonObject:
        whole = self._assembler.answer()
        if whole is None:
            return {"choices": [{"message": {}}]}
        message = {key: value for key, value in whole["choices"][0]["message"].items() if value}
        calls = [{"type": "function"} | call for call in message.pop("tool_calls", ())]
        return {"choices": [{"message": {"role": "assistant", **message, "tool_calls": calls}}]}

    def last(self) -> list[Any]:
        if len(self._usages) <= 1:
            return self._held
        total = summed(self._usages)
        return [
            chunk if chunk.usage is None else chunk.model_copy(update={"usage": total})
            for chunk in self._held
        ]

    def _of_the_first(self, chunk: Any) -> Any:
        """`chunk` as one of the answer that the first one began."""
        if not chunk.choices and chunk.usage is None:
            return chunk
        if self._begun is None:
            self._begun = chunk
        if chunk.id == self._begun.id:
            return chunk
        return chunk.model_copy(update={"id": self._begun.id, "created": self._begun.created})

    def _is_fine(self, delta: Any) -> bool:
        """Whether nothing of it is to be changed: text that goes on."""
        return not (self._is_first or self._gap or delta.tool_calls or delta.role) and bool(delta.content)

    def _is_shown(self, call: Any) -> bool:
        """Whether the piece belongs to a call of the caller's tools; it then gets its place among these."""
        name = (_holder(call.to_dict()) or {}).get("name")
        if name:
            self._places[call.index] = None if self._is_ours(name) else self._n_shown
            self._n_shown += not self._is_ours(name)
        place = self._places.get(call.index)
        if place is not None:
            call.index = place
        return place is not None


def _message(answer: JsonObject) -> JsonObject:
    """The message of an answer; empty for one without, such as a server's report of an error."""
    match answer:
        case {"choices": [{"message": dict(message)}, *_]}:
            told: JsonObject = plain(message)
            return told
    return {}


def _holder(record: JsonObject) -> Any:
    """What has the name of a tool, or of the tool that a call means."""
    return record.get("function") or record.get("custom")


def _mended(record: JsonObject, call: ToolCall) -> JsonObject:
    if "custom" in record:
        return {**record, "id": call.id, "custom": {**record["custom"], "name": call.name}}
    function = {**record["function"], "name": call.name, "arguments": call.arguments}
    return {**record, "id": call.id, "function": function}


def _extended(content: Any, text: str) -> Any:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if content else text
