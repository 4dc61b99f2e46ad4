"""Every method of the installed clients that takes tools searches them, or refuses: none sends all of them.

The methods are found by walking the clients, so that one which a new version brings is called here, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.callers import client, wrapped
from tests.adapters.serving import TOOLS, definitions, names_in, served
from tests.adapters.ways import now
from tests.fake_provider.answers import Answer
from tests.fake_provider.provider import FakeProvider
from toolsearch.exceptions import UnsearchedToolsError

CLIENTS = [(form, is_async) for form in ("openai_chat", "anthropic") for is_async in (False, True)]
CLIENT = pytest.mark.parametrize(("form", "is_async"), CLIENTS)

_HELPED = ("create", "parse", "stream")
SEARCHED = {
    "openai_chat": {
        *(f"chat.completions.{name}" for name in _HELPED),
        *(f"beta.chat.completions.{name}" for name in _HELPED),
        *(f"responses.{name}" for name in (*_HELPED, "input_tokens.count")),
        *(f"beta.responses.{name}" for name in ("create", "input_tokens.count")),
    },
    "anthropic": {
        *(f"messages.{name}" for name in (*_HELPED, "count_tokens")),
        *(f"beta.messages.{name}" for name in (*_HELPED, "count_tokens", "tool_runner")),
    },
}
_RUNS = ("create_and_run", "create_and_run_poll", "create_and_run_stream")
_HELD_RUNS = ("create", "create_and_poll", "create_and_stream", "stream")
_SOCKETS = ("realtime", "beta.realtime", "realtime.translations", "live", "live.forks", "live.sideband")
REFUSED = {
    "openai_chat": {
        *(f"beta.{name}.{verb}" for name in ("agents", "assistants") for verb in ("create", "update")),
        *("beta.realtime.sessions.create", "realtime.calls.accept"),
        *(f"beta.threads.{name}" for name in _RUNS),
        *(
            f"beta.threads.runs.{name}"
            for name in ("create", "create_and_poll", "create_and_stream", "stream")
        ),
        *(f"{name}.connect" for name in ("responses", "beta.responses", *_SOCKETS)),
    },
    "anthropic": {"beta.agents.create", "beta.agents.update", "beta.messages.thread"},
}
SENDS_NONE = {"beta.environments.work.worker", "beta.sessions.events.tool_runner"}
"""These run tools on this machine and tell no model of them."""


_RESOURCES = ("openai.resources", "anthropic.resources")


def walk(resource: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each method of a client and of its resources by its path, however deep."""
    for name in dir(resource):
        if name.startswith("_"):
            continue
        member = getattr(resource, name)
        if inspect.ismethod(member) or inspect.isfunction(member):
            yield f"{path}{name}", member
        elif type(member).__module__.startswith(_RESOURCES) or name.startswith("with_"):
            yield from walk(member, f"{path}{name}.")


def takes_tools(path: str, method: Any) -> bool:
    return path.endswith(".connect") or "tools" in inspect.signature(method).parameters


def bare(path: str) -> str:
    return path.replace("with_raw_response.", "").replace("with_streaming_response.", "")


@contextlib.contextmanager
def searching_client(form: str, is_async: bool) -> Iterator[tuple[Any, Any]]:
    with served(then=Answer("Hi.")) as (provider, url):
        plain = client(form, url, is_async=is_async)
        yield provider, wrapped(plain)


@CLIENT
def test_the_methods_that_take_tools_are_known(form: str, is_async: bool) -> None:
    """One that is new is to be listed here, in the docs, and where it belongs."""
    plain = client(form, "http://127.0.0.1:9", is_async=is_async)
    found = {bare(path) for path, method in walk(plain) if takes_tools(path, method)}
    assert found - SENDS_NONE == SEARCHED[form] | REFUSED[form]
    closed = plain.close()
    if is_async:
        asyncio.run(closed)


@CLIENT
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_method_sends_all_tools(form: str, is_async: bool) -> None:
    with searching_client(form, is_async) as (provider, searching):
        asyncio.run(_call_all(form, provider, searching))


async def _call_all(form: str, provider: FakeProvider, searching: Any) -> None:
    methods = {path: method for path, method in walk(searching) if takes_tools(path, method)}
    assert len(methods) > 20
    for path, method in methods.items():
        if path in SENDS_NONE:
            continue
        before = len(provider.bodies)
        refused = await is_refused(path, method)
        sent = provider.bodies[before:]
        assert refused == (bare(path) in REFUSED[form]), path
        assert bool(sent) == (bare(path) in SEARCHED[form]), path
        assert all(names_in(body) == ["tool_search"] for body in sent), path
    await now(searching.close())


async def is_refused(path: str, method: Any) -> bool:
    """Whether a call with many tools is refused; what can be entered or run is."""
    try:
        answer = await now(method(**arguments(path, method)))
        if hasattr(answer, "until_done"):
            await now(answer.until_done())
        elif hasattr(answer, "__aenter__"):
            async with answer:
                pass
        elif hasattr(answer, "__enter__"):
            with answer:
                pass
    except UnsearchedToolsError:
        return True
    except Exception as error:
        # The client's own words for a conversation that it cannot have kept.
        if "Message threads are not available" not in str(error):
            raise
        return True
    return False


def arguments(path: str, method: Any) -> dict[str, Any]:
    """What a method must be given, and many tools."""
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(method).parameters.items():
        if name == "tools":
            given[name] = definitions(_form(path), TOOLS)
            for tool in given[name] if path.endswith(("parse", "stream")) else ():
                tool.get("function", tool)["strict"] = True
        elif name in _VALUES or (parameter.default is parameter.empty and parameter.kind in _NAMED):
            given[name] = _VALUES.get(name, "x")
    return given


_NAMED = {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
_VALUES: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi."}],
    "input": "Hi.",
    "version": 1,
}


def _form(path: str) -> str:
    if "messages" in path or "agents" in path:
        return "anthropic"
    of_chat = ("chat", "threads", "assistants")
    return "openai_chat" if any(name in path for name in of_chat) else "openai_responses"
