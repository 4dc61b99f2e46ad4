"""What servers ask in the middle of a call: it reaches the client that made it, or is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.support import connected, gateway_of, served, text_of, until
from tests.sources.mcp.support import call, scripted, servers, tools
from tests.sources.mcp.support import text_of as shown
from toolsearch.exceptions import McpConfigError
from toolsearch.tools import JsonObject

FORM = {"type": "object", "properties": {"color": {"type": "string"}}}
ELICIT = {"method": "elicitation/create", "params": {"message": "Which color?", "requestedSchema": FORM}}
SAMPLE = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Say hi."}}],
        "maxTokens": 10,
        "includeContext": "allServers",
    },
}
BOTH = {"asks": ["elicitation", "sampling"]}


def asking(settings: JsonObject) -> JsonObject:
    return {"shop": scripted(tools("ask", "able"), settings=settings)}


def called(question: JsonObject) -> JsonObject:
    return {"name": "shop__ask", "arguments": question}


class User:
    """Replies, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def elicited(self, context: Any, params: Any) -> types.ElicitResult:
        del context
        self.asked.append(params)
        return types.ElicitResult(action="accept", content={"color": "red"})

    async def sampled(self, context: Any, params: Any) -> types.CreateMessageResult:
        del context
        self.asked.append(params)
        return types.CreateMessageResult(
            role="assistant", content=types.TextContent(text="hi"), model="some-model"
        )


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_a_server_asks_reaches_the_client_that_calls_it(
    transport: Literal["stdio", "http"], tmp_path: Path
) -> None:
    """It is told which server asks, and gives it nothing of other conversations."""
    user = User()

    async def used() -> tuple[str, str, str]:
        able: Any = {"elicitation_callback": user.elicited, "sampling_callback": user.sampled}
        async with connected(transport, tmp_path, asking(BOTH), **able) as client:
            answers = [
                await client.call_tool("call_tool", arguments)
                for arguments in (called(ELICIT), called(SAMPLE), {"name": "shop__able", "arguments": {}})
            ]
            return text_of(answers[0]), text_of(answers[1]), text_of(answers[2])

    elicited, sampled, able = asyncio.run(used())
    assert json.loads(elicited) == {"action": "accept", "content": {"color": "red"}}
    assert json.loads(sampled)["content"] == {"type": "text", "text": "hi"}
    assert set(json.loads(able)) == {"elicitation", "sampling"}
    form, message = user.asked
    assert (form.message, form.requested_schema) == ("[shop] Which color?", FORM)
    assert message.messages[0].content.text == "Say hi."
    assert message.include_context is None


@pytest.mark.parametrize(
    ("settings", "mode", "able", "told"),
    [
        ({}, "legacy", True, "Elicitation not supported"),
        ({"asks": ["sampling"]}, "legacy", True, "Elicitation not supported"),
        (BOTH, "legacy", False, "The client cannot be asked: it does not take elicitation."),
        (BOTH, "auto", True, "by its version or transport of MCP"),
    ],
)
def test_who_may_not_ask_or_cannot_be_asked_is_told_so(
    settings: JsonObject, mode: Any, able: bool, told: str, tmp_path: Path
) -> None:
    user = User()

    async def used() -> str:
        options: Any = {"elicitation_callback": user.elicited} if able else {}
        async with connected("http", tmp_path, asking(settings), protocol=mode, **options) as client:
            return text_of(await client.call_tool("call_tool", called(ELICIT)))

    assert told in asyncio.run(used())
    assert user.asked == []


def test_while_several_clients_call_a_server_none_of_them_is_asked(tmp_path: Path) -> None:
    entries = {"shop": scripted(tools("ask", "hang"), settings=BOTH)}
    user = User()

    async def used() -> str:
        gateway = gateway_of(tmp_path, entries)
        async with (
            served(gateway) as url,
            Client(streamable_http_client(url), mode="legacy", elicitation_callback=user.elicited) as one,
            Client(streamable_http_client(url), mode="legacy", elicitation_callback=user.elicited) as other,
        ):
            hanging = asyncio.create_task(
                other.call_tool("call_tool", {"name": "shop__hang", "arguments": {}})
            )
            await until(lambda: gateway._clients.flights_of("shop"))
            answer = await one.call_tool("call_tool", called(ELICIT))
            hanging.cancel()
            return text_of(answer)

    assert "Several clients call this server" in asyncio.run(used())
    assert user.asked == []


def test_a_call_waits_for_a_user_longer_than_for_its_server(tmp_path: Path) -> None:
    async def slow(context: Any, params: Any) -> types.ElicitResult:
        del context, params
        ends = asyncio.get_running_loop().time() + 3.1
        await until(lambda: asyncio.get_running_loop().time() > ends)
        return types.ElicitResult(action="decline")

    async def used() -> str:
        settings = {**BOTH, "timeout_s": 3}
        async with connected("http", tmp_path, asking(settings), elicitation_callback=slow) as client:
            return text_of(await client.call_tool("call_tool", called(ELICIT)))

    assert json.loads(asyncio.run(used())) == {"action": "decline"}


def test_a_program_may_reply_itself() -> None:
    async def reply(server: str, question: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"color": f"{server} {question.message}"})

    with servers({"on_question": reply}, **asking({"asks": ["elicitation"]})) as source:
        assert json.loads(shown(call(source, "shop", "ask", ELICIT)))["content"] == {
            "color": "shop Which color?"
        }


def test_what_a_server_may_ask_for_is_checked() -> None:
    with pytest.raises(McpConfigError, match="roots"):
        servers(a=scripted(settings={"asks": ["roots"]}))
