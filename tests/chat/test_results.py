"""Every call of a message is answered once, directly after it, in the shape that each provider wants."""

import asyncio
from collections.abc import Callable

import pytest

from tests.chat.conversation import PICTURE
from tests.fake_provider import Answer, FakeProvider
from toolsearch.chat import ChatRequest
from toolsearch.chat.model import HttpChatModel
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolMessage, UserMessage
from toolsearch.tools import JsonObject, Tool

Connect = Callable[..., tuple[HttpChatModel, FakeProvider]]
IDS = ["c1", "c2", "c3", "c4"]


def four_calls(*after: UserMessage) -> ChatRequest:
    """One that works, one that raises, one of an unknown tool, one with broken arguments."""
    names = ("add", "boom", "gone", "add")
    arguments = ('{"x": 1}', "{}", "{}", '{"x": ')
    calls = tuple(
        ToolCall(id=call_id, name=name, arguments=text)
        for call_id, name, text in zip(IDS, names, arguments, strict=True)
    )
    results = tuple(
        ToolMessage(
            call_id=call_id,
            name=name,
            content=(TextPart(text="shown"), PICTURE),
            is_error=call_id != "c1",
        )
        for call_id, name in zip(IDS, names, strict=True)
    )
    messages: tuple[Message, ...] = (UserMessage.of("go"), AssistantMessage(content=calls), *results, *after)
    return ChatRequest(messages, tools=(Tool(raw_name="add"), Tool(raw_name="boom")))


def answered(form: str, body: JsonObject) -> list[str]:
    """The ids of all results, in their order, with what comes directly after the calls first."""
    match form:
        case "openai_chat":
            return [message.get("tool_call_id", "-") for message in body["messages"][2:]]
        case "openai_responses":
            return [item.get("call_id", "-") for item in body["input"][5:]]
        case _:
            return [block.get("tool_use_id", "-") for block in body["messages"][2]["content"]]


@pytest.mark.parametrize("after", [(), (UserMessage.of("and now?"),)])
def test_four_calls_get_four_results(connect: Connect, form: str, after: tuple[UserMessage, ...]) -> None:
    """Pictures that may not be in a result come after all of them (E98)."""
    model, provider = connect(form, [Answer("ok")])
    assert asyncio.run(model.complete(four_calls(*after))).text == "ok"
    sent = answered(form, provider.bodies[0])
    assert sent[:4] == IDS
    assert set(sent[4:]) <= {"-"}
    pictures = {"openai_chat": "image_url", "openai_responses": "input_image", "anthropic": '"image"'}
    assert provider.raw[0].decode().count(pictures[form]) >= 4
