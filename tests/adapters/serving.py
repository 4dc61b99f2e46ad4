"""A provider that answers over HTTP on this machine, for clients that block and clients that are awaited."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from tests.fake_provider.answers import Answer, Call
from tests.fake_provider.provider import FakeProvider, Step

TOOLS = (
    ("mail__send_email", "Send an email message."),
    ("mail__search_mail", "Find emails by text."),
    ("calendar__create_event", "Add an event to a calendar."),
    ("get_weather", "Current weather of a city."),
    ("web__search", "Search the web."),
)
SEND = Call("c1", "mail__send_email", '{"text": "hi"}')
WEATHER = Call("c2", "get_weather", '{"text": "Oslo"}')


@contextlib.contextmanager
def served(*steps: Step, then: Step | None = None) -> Iterator[tuple[FakeProvider, str]]:
    """The provider and its base URL; `then` answers all that the steps do not."""
    provider = FakeProvider(itertools.chain(steps, () if then is None else itertools.repeat(then)))
    started, stop = threading.Event(), asyncio.Event()
    told: dict[str, Any] = {}

    async def serve() -> None:
        async with provider.serve() as url:
            told["url"], told["loop"] = url, asyncio.get_running_loop()
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait()
    try:
        yield provider, told["url"]
    finally:
        told["loop"].call_soon_threadsafe(stop.set)
        thread.join()


def search_call(*queries: str, call_id: str = "s1") -> Call:
    return Call(call_id, "tool_search", json.dumps({"queries": list(queries)}), native=False)


def searches(*queries: str, call_id: str = "s1", text: str = "") -> Answer:
    """The model looks for tools."""
    return Answer(text, (search_call(*queries, call_id=call_id),))


def names_in(body: dict[str, Any]) -> list[str]:
    """The tools that a request offered."""
    return [(tool.get("function") or tool.get("custom") or tool)["name"] for tool in body["tools"]]


def conversation(provider: FakeProvider, position: int) -> list[Any]:
    """What a request told of the conversation, without the system's words."""
    body = provider.bodies[position]
    messages: list[Any] = body.get("messages") or body["input"]
    return [message for message in messages if message.get("role") != "system"]


def definitions(form: str, names: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Tools in a provider's form, by name and description."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    out: list[dict[str, Any]] = []
    for name, description in names:
        plain = {"name": name, "description": description}
        if form == "openai_chat":
            out.append({"type": "function", "function": {**plain, "parameters": schema}})
        elif form == "openai_responses":
            out.append({"type": "function", **plain, "parameters": schema})
        else:
            out.append({**plain, "input_schema": schema})
    return out
