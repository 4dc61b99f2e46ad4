"""Loops as somebody may have written them with the official clients, before tool search."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai

from toolsearch import wrap
from toolsearch.testing import HashingEmbedder

FORMS = ("openai_chat", "openai_responses", "anthropic")
MODES = ("plain", "streamed", "async", "async streamed")

Json = dict[str, Any]


def client(form: str, url: str, *, is_async: bool = False) -> Any:
    """The official client of a form; nothing is tried twice."""
    library: Any = anthropic if form == "anthropic" else openai
    kind = {
        (True, True): "AsyncAnthropic",
        (True, False): "Anthropic",
        (False, True): "AsyncOpenAI",
        (False, False): "OpenAI",
    }[library is anthropic, is_async]
    return getattr(library, kind)(base_url=url, api_key="key", max_retries=0)


def wrapped(plain: Any, **options: Any) -> Any:
    """`wrap` with the hashing embedder, one tool a query, and nothing sent whole."""
    return wrap(plain, **{"embedder": HashingEmbedder(), "limit": 1, "whole_below_tokens": 0, **options})


@dataclass
class Caller:
    """A conversation: every tool is passed with each call, and the history is the caller's own.

    Attributes:
        ask_by: Asks the client of a form with these arguments; None calls ``create``.
        ran: Name and arguments of the calls that came back.
        tool: What a call of a tool answers.
    """

    form: str
    client: Any
    tools: list[Json]
    mode: str = "plain"
    ask_by: Callable[[Any, str, Json], Awaitable[Any]] | None = None
    options: Json = field(default_factory=dict)
    history: list[Any] = field(default_factory=list)
    ran: list[tuple[str, Json]] = field(default_factory=list)
    usages: list[tuple[int, int]] = field(default_factory=list)
    tool: Callable[[str], str] = "{} ran".format

    def ask(self, *texts: str) -> list[str]:
        """What the model says in the end to each text of the user; the client is closed then."""
        return asyncio.run(self._ask_all(texts))

    async def _ask_all(self, texts: Iterable[str]) -> list[str]:
        try:
            return [await self._ask(text) for text in texts]
        finally:
            closed = self.client.close()
            if "async" in self.mode:
                await closed

    async def _ask(self, text: str) -> str:
        self.history.append({"role": "user", "content": _user_content(self.form, text)})
        while True:
            said, calls = self._read(await self._create())
            if not calls:
                return said
            results = [(call_id, self.tool(name)) for call_id, name, _ in calls]
            self.ran += [(name, arguments) for _, name, arguments in calls]
            self._append_results(results)

    async def _create(self) -> Any:
        arguments: Json = {"model": "m", **self.options}
        if self.tools:
            arguments["tools"] = self.tools
        streamed = "streamed" in self.mode
        match self.form:
            case "openai_chat":
                method = self.client.chat.completions.create
                arguments["messages"] = self.history
                if streamed:
                    arguments["stream_options"] = {"include_usage": True}
            case "openai_responses":
                method = self.client.responses.create
                arguments["input"] = self.history
            case _:
                method = self.client.messages.create
                arguments |= {"messages": self.history, "max_tokens": 100}
        if self.ask_by is not None:
            return await self.ask_by(self.client, self.form, arguments)
        answer = method(**arguments, **({"stream": True} if streamed else {}))
        if "async" in self.mode:
            answer = await answer
        if not streamed:
            return answer
        if "async" in self.mode:
            return put_together(self.form, [chunk async for chunk in answer])
        return put_together(self.form, answer)

    def _read(self, answer: Any) -> tuple[str, list[tuple[str, str, Json]]]:
        match self.form:
            case "openai_chat":
                message = answer.choices[0].message
                self.history.append(message)
                self.usages.append((answer.usage.prompt_tokens, answer.usage.completion_tokens))
                return message.content or "", list(map(_read_chat_call, message.tool_calls or ()))
            case "openai_responses":
                self.history += answer.output
                self.usages.append((answer.usage.input_tokens, answer.usage.output_tokens))
                items = [item for item in answer.output if item.type in OUTPUTS]
                spoken = (item.content for item in answer.output if item.type == "message")
                said = "".join(part.text for parts in spoken for part in parts)
                return said, [(item.call_id, item.name, _arguments(item)) for item in items]
            case _:
                self.history.append({"role": "assistant", "content": answer.content})
                self.usages.append((answer.usage.input_tokens, answer.usage.output_tokens))
                blocks = [block for block in answer.content if block.type == "tool_use"]
                said = "".join(block.text for block in answer.content if block.type == "text")
                return said, [(block.id, block.name, block.input) for block in blocks]

    def _append_results(self, results: Iterable[tuple[str, str]]) -> None:
        match self.form:
            case "openai_chat":
                self.history += [
                    {"role": "tool", "tool_call_id": call_id, "content": text} for call_id, text in results
                ]
            case "openai_responses":
                kinds = {
                    item.call_id: OUTPUTS[item.type] for item in self.history if hasattr(item, "call_id")
                }
                self.history += [
                    {"type": kinds[call_id], "call_id": call_id, "output": text} for call_id, text in results
                ]
            case _:
                content = [
                    {"type": "tool_result", "tool_use_id": call_id, "content": text}
                    for call_id, text in results
                ]
                self.history.append({"role": "user", "content": content})


def put_together(form: str, chunks: Iterable[Any]) -> Any:
    """The answer that the client's own helper makes of a stream."""
    if form == "openai_chat":
        from openai.lib.streaming.chat import ChatCompletionStreamState
        from openai.types.chat import ChatCompletion

        state = ChatCompletionStreamState()
        for chunk in chunks:
            state.handle_chunk(chunk)
        # The final completion of the helper leaves calls of custom tools out.
        whole = state.current_completion_snapshot.model_dump(exclude_none=True, warnings=False)
        return ChatCompletion.model_validate(whole)
    if form == "openai_responses":
        return [event.response for event in chunks if event.type == "response.completed"][-1]
    from anthropic.lib.streaming._messages import accumulate_event

    message: Any = None
    pieces: dict[int, bytes] = {}
    for event in chunks:
        message = accumulate_event(event=event, current_snapshot=message, json_bufs=pieces)
    return message


OUTPUTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


def _arguments(item: Any) -> Json:
    return {"input": item.input} if item.type == "custom_tool_call" else json.loads(item.arguments)


def _read_chat_call(call: Any) -> tuple[str, str, Json]:
    if call.type == "custom":
        return call.id, call.custom.name, {"input": call.custom.input}
    return call.id, call.function.name, json.loads(call.function.arguments)


def _user_content(form: str, text: str) -> Any:
    return [{"type": "text", "text": text}] if form == "anthropic" else text
