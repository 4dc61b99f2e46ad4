"""Every delivery of sessions, by whole conversations with a provider that refuses what providers refuse."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import Caller, client, wrapped
from tests.adapters.serving import served as provided
from tests.fake_provider.answers import Answer, Call
from tests.fake_provider.provider import FakeProvider
from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch import AsyncClient, Catalog, Client, ToolSearcher, build_index
from toolsearch.api.scopes import KeyScope
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

Json = dict[str, Any]

NATIVE = ("anthropic", "openai_responses")
FORMS = ("openai_chat", *NATIVE)
WAYS = [(form, way) for form in FORMS for way in ("append", "bridge")] + [(form, "native") for form in NATIVE]
PATHS = {"openai_chat": "/chat/completions", "openai_responses": "/responses", "anthropic": "/messages"}
CALLS: dict[str, Callable[[Json], list[Json]]] = {
    "openai_chat": lambda said: said.get("tool_calls", []),
    "openai_responses": lambda said: [said] if said["type"].endswith("_call") else [],
    "anthropic": lambda said: [block for block in said["content"] if block["type"] == "tool_use"],
}


@pytest.fixture
def served() -> Iterator[Served]:
    with service(tool_limit=1) as served:
        yield served


def search(query: str, call_id: str = "s1", *, native: bool = False) -> Call:
    return Call(call_id, "tool_search", json.dumps({"queries": [query]}), native=native)


def use(name: str, call_id: str, *, bridged: bool = False) -> Call:
    if bridged:
        return Call(call_id, "call_tool", json.dumps({"name": name, "arguments": {"text": "hi"}}))
    return Call(call_id, name, '{"text": "hi"}')


class Loop:
    """A program's own loop over the service, and its history in the form of a provider."""

    def __init__(self, sessions: Any, form: str, delivery: str, provider: FakeProvider) -> None:
        self.sessions, self.form, self.delivery, self.provider = sessions, form, delivery, provider
        self.history: list[Json] = []
        self.ran: list[tuple[str, Any]] = []

    def ask(self, *texts: str) -> None:
        asyncio.run(self._ask_all(texts))

    async def _ask_all(self, texts: tuple[str, ...]) -> None:
        for text in texts:
            content = [{"type": "text", "text": text}] if self.form == "anthropic" else text
            self.history.append({"role": "user", "content": content})
            while calls := await self._round():
                handled = await self._awaited(
                    self.sessions.handle_calls("s", calls, self.form, delivery=self.delivery)
                )
                results = [told.result or self._run(told) for told in handled.calls]
                if self.form == "anthropic":
                    results = [{"role": "user", "content": results}]
                self.history += [*results, *handled.notes]
        if inspect.iscoroutinefunction(self.sessions.get_session):
            await self.sessions.aclose()

    async def _round(self) -> list[Json]:
        sent = await self._awaited(self.sessions.session_tools("s", self.form, delivery=self.delivery))
        history = list(self.history)
        body: Json = {"model": "m", "tools": sent.tools}
        match self.form:
            case "openai_chat":
                system = {"role": "system", "content": sent.instructions}
                body["messages"] = [system, *history]
            case "openai_responses":
                body |= {"instructions": sent.instructions, "input": history}
            case _:
                body |= {"system": sent.instructions, "messages": history, "max_tokens": 100}
        status, _, raw = self.provider.respond(PATHS[self.form], json.dumps(body).encode(), httpx.Headers())
        answer = json.loads(raw)
        assert status == 200, answer
        match self.form:
            case "openai_chat":
                said = [answer["choices"][0]["message"]]
            case "openai_responses":
                said = answer["output"]
            case _:
                said = [{"role": "assistant", "content": answer["content"]}]
        self.history += said
        return [call for message in said for call in CALLS[self.form](message)]

    def _run(self, told: Any) -> Json:
        self.ran.append((told.name, told.arguments))
        text = f"{told.name} ran"
        match self.form:
            case "openai_chat":
                return {"role": "tool", "tool_call_id": told.call_id, "content": text}
            case "openai_responses":
                return {"type": "function_call_output", "call_id": told.call_id, "output": text}
            case _:
                return {"type": "tool_result", "tool_use_id": told.call_id, "content": text}

    async def _awaited(self, value: Any) -> Any:
        return await value if inspect.isawaitable(value) else value


def errand(form: str, delivery: str) -> tuple[Answer, ...]:
    """Search, call what was found, search again and call both."""
    native = delivery == "native" and form == "openai_responses"
    bridged = delivery == "bridge"
    return (
        Answer("Let me look.", (search("send an email message", native=native),), reasoning="Hm."),
        Answer(calls=(use("mail__send_email", "c1", bridged=bridged),)),
        Answer(calls=(search("current weather of a city", "s2", native=native),)),
        Answer(
            calls=(
                use("geo__get_weather", "c2", bridged=bridged),
                use("mail__send_email", "c3", bridged=bridged),
            )
        ),
        Answer("Sent."),
        Answer("Bye."),
    )


@pytest.mark.parametrize("make", [Client, AsyncClient])
@pytest.mark.parametrize(("form", "delivery"), WAYS)
def test_a_whole_errand(served: Served, form: str, delivery: str, make: Callable[[str], Any]) -> None:
    provider = FakeProvider(errand(form, delivery))
    loop = Loop(make(served.url), form, delivery, provider)
    loop.ask("Mail hi to Ann.", "Thanks.")
    hi = {"text": "hi"}
    assert loop.ran == [("mail__send_email", hi), ("geo__get_weather", hi), ("mail__send_email", hi)]
    lists = [body["tools"] for body in provider.bodies]
    if delivery == "append":
        assert all(after[: len(before)] == before for before, after in itertools.pairwise(lists))
    else:
        assert len({json.dumps(tools) for tools in lists}) == 1
    if make is Client:
        loop.sessions.close()


@pytest.mark.parametrize("form", NATIVE)
def test_the_provider_is_told_what_a_wrapped_client_tells_it(served: Served, form: str) -> None:
    own = FakeProvider(errand(form, "native"))
    with Client(served.url) as sessions:
        Loop(sessions, form, "native", own).ask("Mail hi to Ann.", "Thanks.")
    embedder = HashingEmbedder()
    searcher = ToolSearcher(build_index(OFFICE, embedder), embedder)
    with provided(*errand(form, "native")) as (provider, url):
        options = {"delivery": "native", "catalog": Catalog(OFFICE), "searcher": searcher}
        Caller(form, wrapped(client(form, url), **options), []).ask("Mail hi to Ann.", "Thanks.")
    keys = {"tools", "messages", "input", "system", "instructions"}
    told = [[{k: v for k, v in body.items() if k in keys} for body in p.bodies] for p in (own, provider)]
    assert told[0] == told[1]


def test_anthropic_is_sent_references_to_tools_that_it_was_told_of(served: Served) -> None:
    with Client(served.url) as sessions:
        tools = sessions.session_tools("s", "anthropic", delivery="native").tools
        assert [tool["name"] for tool in tools if not tool.get("defer_loading")] == ["tool_search"]
        assert [tool["name"] for tool in tools[1:]] == sorted(tool.name for tool in OFFICE)
        arguments = {"queries": ["send an email message"]}
        found = sessions.session_search("s", arguments, delivery="native", form="anthropic", call_id="a")
        assert found.result == {
            "type": "tool_result",
            "tool_use_id": "a",
            "content": [{"type": "tool_reference", "tool_name": "mail__send_email"}],
        }
        assert sessions.session_tools("s", "anthropic", delivery="native").tools == tools
        rendered = served.http.post(
            "/v1/render", json={"session_id": "s", "form": "anthropic", "delivery": "native"}
        )
        assert rendered.json()["tools"] == tools
        assert sorted(sessions.session_receipt("s", delivery="native").sent) == [
            "mail__send_email",
            "tool_search",
        ]
        (seen, _) = sessions.session_rounds("s").rounds
        assert seen.tools == ("tool_search",)


@pytest.mark.parametrize("form", NATIVE)
def test_what_no_result_tells_of_is_shown_openly(served: Served, form: str) -> None:
    """What was loaded by name, or found in another way; forgotten tools are hidden again."""
    with Client(served.url) as sessions:
        sessions.load_tools("s", ["web__search"])

        def shown() -> list[str]:
            tools = served.http.get(
                "/v1/sessions/s/tools", params={"form": form, "delivery": "native"}
            ).json()["tools"]
            return [tool.get("name", tool.get("type")) for tool in tools if not tool.get("defer_loading")]

        assert shown() == ["tool_search", "web__search"]
        told: Any = {"delivery": "native", "form": form, "call_id": "a"}
        sessions.session_search("s", {"queries": ["select:geo__get_weather"]}, **told)
        assert shown() == ["tool_search", "web__search"]
        sessions.forget_tools("s", ["geo__get_weather", "web__search"])
        assert shown() == ["tool_search"]
        sessions.load_tools("s", ["geo__get_weather"])
        assert shown() == ["tool_search", "geo__get_weather"]
        sessions.session_search("s", {"queries": ["select:web__search"]}, **told)
        sessions.delete_session("s")
        sessions.load_tools("s", ["web__search"])
        assert shown() == ["tool_search", "web__search"]


@pytest.mark.parametrize("form", ["own", "openai_chat", "mcp", "gemini", "langchain", "pydantic_ai", None])
def test_a_form_without_native_delivery_is_refused_with_those_that_have_it(
    served: Served, form: str | None
) -> None:
    told = {"delivery": "native", **({} if form is None else {"form": form})}
    asked = [
        served.http.get("/v1/sessions/s/tools", params=told),
        served.http.post("/v1/render", json={"session_id": "s", **told}),
    ]
    if form in {None, "openai_chat"}:
        body = {"arguments": {"queries": ["mail"]}, "call_id": "a", **told}
        asked.append(served.http.post("/v1/sessions/s/search", json=body))
    if form == "openai_chat":
        calls = [{"id": "a", "function": {"name": "tool_search", "arguments": "{}"}}]
        asked.append(served.http.post("/v1/sessions/s/handle", json={"calls": calls, **told}))
    for response in asked:
        assert response.status_code == 400
        assert "anthropic" in response.json()["detail"]
        assert "openai_responses" in response.json()["detail"]
    assert served.http.get("/v1/sessions/s").json()["discovered"] == []


def test_a_result_in_a_form_needs_the_id_of_its_call(served: Served) -> None:
    body = {"arguments": {"queries": ["mail"]}, "form": "anthropic"}
    response = served.http.post("/v1/sessions/s/search", json=body)
    assert (response.status_code, "call_id" in response.json()["detail"]) == (400, True)


def test_a_mark_of_caching_or_deferring_does_not_reach_a_provider_that_refuses_it() -> None:
    marked = {"defer_loading": True, "cache_control": {"type": "ephemeral"}}
    tools = tuple(
        Tool(raw_name=name, description=f"To {name}.", meta={"anthropic": marked})
        for name in ("sing", "dance")
    )
    with service(tools) as served, Client(served.url) as sessions:
        sessions.load_tools("s", ["sing"])
        for delivery in ("append", "native"):
            written = sessions.session_tools("s", "anthropic", delivery=delivery).tools
            body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi."}], "tools": written}
            provider = FakeProvider([Answer("Hello.")])
            status, _, raw = provider.respond("/messages", json.dumps(body).encode(), httpx.Headers())
            assert status == 200, raw
            shown = [tool["name"] for tool in written if not tool.get("defer_loading")]
            assert shown == ["tool_search", "sing"]


def handled(served: Served, *calls: Json, **options: Any) -> list[Json]:
    body = {"form": "openai_chat", "calls": list(calls), **options}
    response = served.http.post("/v1/sessions/s/handle", json=body)
    assert response.status_code == 200, response.text
    told: list[Json] = response.json()["calls"]
    return told


def chat_call(name: str, arguments: str = "{}", call_id: str = "a") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_tool_that_an_answer_finds_cannot_be_called_by_it(served: Served) -> None:
    queries = json.dumps({"queries": ["send an email message"]})
    calls = (chat_call("tool_search", queries), chat_call("mail__send_email", call_id="b"))
    found, early = handled(served, *calls)
    assert found["discovered"] == ["mail__send_email"]
    assert (early["is_error"], early["arguments"]) == (True, None)
    assert early["result"]["tool_call_id"] == "b"
    (now,) = handled(served, calls[1])
    assert (now["result"], now["name"], now["arguments"]) == (None, "mail__send_email", {})


def test_what_must_not_run_is_told_to_the_model(served: Served) -> None:
    for call in (
        chat_call("call_tool", '{"name": "web__search", "arguments": {}}'),
        chat_call("call_tool", '{"name": 1}'),
        chat_call("call_tool", "nonsense"),
        chat_call("no_such_tool"),
    ):
        (told,) = handled(served, call, delivery="bridge")
        assert told["is_error"], call
        assert told["result"]["content"]
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search"]})
    (told,) = handled(served, chat_call("web__search", "[1]"))
    assert told["is_error"]


def test_tools_of_the_program_are_its_own_to_run(served: Served) -> None:
    custom = {"id": "b", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    told = handled(served, chat_call("ring", '{"bell": 1}'), custom, own=["ring"])
    assert [(each["name"], each["arguments"], each["result"]) for each in told] == [
        ("ring", {"bell": 1}, None),
        ("sql", None, None),
    ]
    for body in (
        {"own": ["tool_search"]},
        {"own": ["a b"]},
        {"calls": [{"id": "a"}]},
        {"calls": [{"name": 1}]},
    ):
        whole = {"form": "openai_chat", "calls": [chat_call("ring")], **body}
        assert served.http.post("/v1/sessions/s/handle", json=whole).status_code == 400


def test_nothing_is_said_of_tools_that_the_caller_may_not_know(served: Served) -> None:
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search"]})
    http = served.as_key(served.key(KeyScope.SEARCH, deny=("web__*",), tenant=""))
    body = {"form": "openai_chat", "calls": [chat_call("web__search"), chat_call("xyz__search", call_id="b")]}
    known, unknown = http.post("/v1/sessions/s/handle", json=body).json()["calls"]
    same = known["result"]["content"].replace("web__search", "xyz__search")
    assert same == unknown["result"]["content"]
    tools = http.get("/v1/sessions/s/tools", params={"form": "anthropic", "delivery": "native"}).json()[
        "tools"
    ]
    assert "web__search" not in json.dumps(tools)
