"""OpenAI Responses.

Source: the types of openai-python 3.57, ``openai/types/responses``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Unpack

from toolsearch.chat.arguments import as_object, as_text, compact
from toolsearch.chat.base import ChatRequest, ChatResponse, FinishReason
from toolsearch.chat.call_ids import wire_id
from toolsearch.chat.content import error_text, image_url, images_of, plain_text
from toolsearch.chat.model import HttpChatModel, ModelSettings
from toolsearch.chat.native import offer_of, open_records
from toolsearch.chat.native_models import gpt_knows_search, search_record
from toolsearch.chat.openai import openai_service, tool_fields, usage_of
from toolsearch.chat.pieces import joined
from toolsearch.chat.validate import OPENAI_RESPONSES, check_native
from toolsearch.messages import (
    AssistantMessage,
    AssistantPart,
    ContentPart,
    OpaquePart,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from toolsearch.tools import JsonObject, Tool

_SERVICE = openai_service("/responses")
_MAX_ID_LENGTH = 64
_OPAQUE = "openai_responses"


class OpenAIResponsesModel(HttpChatModel):
    """A model behind ``POST {base_url}/responses``. Safe to use from several tasks.

    The whole conversation goes out with each request and nothing is stored at the provider, unless the
    option ``store`` says so; reasoning comes back encrypted and is sent back.

    With `ChatRequest.native` the search tool is declared as ``tool_search`` that the client executes, and
    deferred tools are not declared at all: the results of searches bring their definitions. A discovered
    tool that no result of the conversation brings any more comes with ``additional_tools``.
    """

    form = OPENAI_RESPONSES

    def __init__(
        self,
        model: str,
        *,
        native_search: bool | None = None,
        max_tools: int | None = None,
        **settings: Unpack[ModelSettings],
    ) -> None:
        """Sends nothing yet; other arguments, and what it raises, are those of `HttpChatModel`.

        An option is such as ``{"reasoning": {"effort": "low"}}``; OpenAI itself takes 128 tools.

        Args:
            native_search: Whether the model knows ``tool_search``; None goes by its name: from gpt-5.4 on.
        """
        if native_search is None:
            native_search = gpt_knows_search(model)
        super().__init__(_SERVICE, model, native_search=native_search, max_tools=max_tools, **settings)

    def _write(self, request: ChatRequest, *, stream: bool) -> JsonObject:
        check_native(self.id, request)
        return {
            "model": self._model,
            **_tool_fields(request),
            "input": _write_input(request),
            "max_output_tokens": request.max_tokens,
            "store": False,
            **({"stream": True} if stream else {}),
        }

    def _assembler(self) -> Assembler:
        return Assembler()

    def _read(self, answer: JsonObject, request: ChatRequest) -> ChatResponse:
        search_tool = request.native.search_tool if request.native else ""
        parts = [part for item in answer["output"] for part in _read_item(item, search_tool)]
        message = AssistantMessage(content=tuple(parts))
        return ChatResponse(
            message,
            _finish_reason(answer, message),
            usage_of(answer.get("usage"), sent="input", received="output"),
            str(answer.get("model") or ""),
        )


def _tool_fields(request: ChatRequest) -> JsonObject:
    search_tool = request.native.search_tool if request.native else ""
    records = [
        search_record(record) if record["name"] == search_tool else record
        for record in _records(offer_of(request).shown)
    ]
    return tool_fields(records, request.tool_choice, {"name": request.tool_choice})


def _records(tools: Sequence[Tool]) -> list[JsonObject]:
    """Definitions with the schema as it is: left unsaid, the provider would make every property required."""
    return [{"strict": False, **record} for record in open_records(tools, OPENAI_RESPONSES)]


def _write_input(request: ChatRequest) -> list[JsonObject]:
    search_tool = request.native.search_tool if request.native else ""
    definitions = {tool.name: tool for tool in request.tools}
    if request.native:
        definitions |= {tool.name: tool for tool in request.native.deferred}
    items: list[JsonObject] = []
    notes: list[JsonObject] = []
    for message in request.messages:
        if notes and not isinstance(message, ToolMessage):
            items += notes
            notes = []
        match message:
            case SystemMessage(text=text):
                items.append({"role": "system", "content": text})
            case UserMessage(content=content):
                items.append({"role": "user", "content": _write_content(content)})
            case AssistantMessage():
                items += _write_answer(message, search_tool)
            case ToolMessage() if message.name == search_tool:
                found = [definitions[name] for name in message.discovered if name in definitions]
                items.append(_write_found(message, () if message.is_error else found))
                # This form has no place for what a search without results has to say.
                if message.is_error or not found:
                    notes.append({"role": "developer", "content": error_text(message)})
            case ToolMessage():
                items.append(_write_result(message))
    items += notes
    extra = offer_of(request).unreferenced
    if extra:
        place = next((i for i, item in enumerate(items) if item.get("role") != "system"), len(items))
        item = {"type": "additional_tools", "role": "developer", "tools": _records(extra)}
        items.insert(place, item)
    return items


def _write_content(content: Sequence[ContentPart]) -> str | list[JsonObject]:
    if not images_of(content):
        return plain_text(content)
    return [
        {"type": "input_text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "input_image", "image_url": image_url(part), "detail": "auto"}
        for part in content
    ]


def _write_answer(message: AssistantMessage, search_tool: str) -> Iterator[JsonObject]:
    phase: JsonObject = {}
    for part in message.content:
        match part:
            case TextPart(text=text):
                yield {"role": "assistant", "content": text, **phase}
                phase = {}
            case ToolCall():
                yield _write_call(part, search_tool)
            case OpaquePart(provider=provider, data=data) if provider == _OPAQUE:
                if data.get("type") == "message":
                    phase = {"phase": data["phase"]}
                elif data.get("type") != "reasoning" or data.get("encrypted_content") or data.get("content"):
                    # Reasoning that is neither here nor stored there cannot be referred to.
                    yield data


def _write_call(call: ToolCall, search_tool: str) -> JsonObject:
    call_id = wire_id(call.id, max_length=_MAX_ID_LENGTH)
    if call.name == search_tool:
        arguments = as_object(call.arguments)
        item: JsonObject = {"type": "tool_search_call", "call_id": call_id, "execution": "client"}
        return {**item, "arguments": arguments, "status": "completed"}
    arguments_text = as_text(call.arguments)
    return {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": arguments_text}


def _write_found(message: ToolMessage, found: Sequence[Tool]) -> JsonObject:
    return {
        "type": "tool_search_output",
        "call_id": wire_id(message.call_id, max_length=_MAX_ID_LENGTH),
        "execution": "client",
        "status": "completed",
        "tools": [{**record, "defer_loading": True} for record in _records(found)],
    }


def _write_result(message: ToolMessage) -> JsonObject:
    text = TextPart(text=error_text(message))
    images = images_of(message.content)
    output = _write_content((text, *images) if images and message.is_error else message.content)
    return {
        "type": "function_call_output",
        "call_id": wire_id(message.call_id, max_length=_MAX_ID_LENGTH),
        "output": output if images else text.text,
    }


def _read_item(item: JsonObject, search_tool: str) -> Iterable[AssistantPart]:
    match item["type"]:
        case "message":
            if item.get("phase"):
                yield OpaquePart(provider=_OPAQUE, data={"type": "message", "phase": item["phase"]})
            text = "".join(part.get("text") or part.get("refusal") or "" for part in item["content"])
            if text:
                yield TextPart(text=text)
        case "function_call":
            yield ToolCall(
                id=item.get("call_id") or "", name=item["name"], arguments=item["arguments"] or "{}"
            )
        case "tool_search_call" if search_tool and item.get("execution") != "server":
            arguments = item["arguments"]
            text = arguments if isinstance(arguments, str) else compact(arguments or {})
            yield ToolCall(id=item.get("call_id") or "", name=search_tool, arguments=text)
        case _:
            yield OpaquePart(provider=_OPAQUE, data=item)


def _finish_reason(answer: JsonObject, message: AssistantMessage) -> FinishReason:
    refused = any(
        part.get("type") == "refusal"
        for item in answer["output"]
        if item["type"] == "message"
        for part in item["content"]
    )
    details = answer.get("incomplete_details") or {}
    match answer.get("status"):
        case "incomplete":
            return "content_filter" if details.get("reason") == "content_filter" else "length"
        case "failed" | "cancelled" | "queued" | "in_progress":
            return "error"
    if refused:
        return "content_filter"
    return "tool_calls" if message.tool_calls else "stop"


class Assembler:
    """A whole response out of the events of its stream."""

    def __init__(self) -> None:
        self._items: dict[int, JsonObject] = {}
        self._arguments: dict[int, list[str]] = {}
        self._response: JsonObject | None = None

    def add(self, event: JsonObject) -> str:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                shown: str = event["delta"]
                return shown
            case "response.output_item.added" | "response.output_item.done":
                self._items[event["output_index"]] = event["item"]
            case "response.function_call_arguments.delta":
                self._arguments.setdefault(event["output_index"], []).append(event["delta"])
            case "response.function_call_arguments.done":
                self._arguments[event["output_index"]] = [event["arguments"]]
            case "response.completed" | "response.incomplete":
                self._response = event["response"]
        return ""

    def answer(self) -> JsonObject | None:
        if self._response is None:
            return None
        # Not every server repeats the items in its last event.
        return {**self._response, "output": self._response.get("output") or list(self._assembled())}

    def _assembled(self) -> Iterator[JsonObject]:
        for index, item in sorted(self._items.items()):
            if item.get("type") == "function_call" and not item.get("arguments"):
                yield {**item, "arguments": joined(self._arguments.get(index, ()))}
            else:
                yield item
