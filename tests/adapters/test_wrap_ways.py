"""Every way of asking a wrapped client is answered with tool search, and none sends all tools."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anthropic
import httpx2
import openai
import pydantic
import pytest

from tests.adapters.callers import FORMS, Caller, client, wrapped
from tests.adapters.serving import (
    SEND,
    TOOLS,
    WEATHER,
    conversation,
    definitions,
    names_in,
    search_call,
    searches,
    served,
)
from tests.adapters.ways import EVERY_WAY, RESOURCES, answer, now, resource_of
from tests.fake_provider.answers import Answer
from tests.fake_provider.provider import FakeProvider, Step
from toolsearch.exceptions import UnsearchedToolsError

SYNC = pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "awaited"])
WAY = pytest.mark.parametrize(("form", "prefix", "way"), EVERY_WAY, ids=lambda part: part or "-")


def asking(prefix: str, way: str) -> Callable[[Any, str, dict[str, Any]], Awaitable[Any]]:
    def ask(searching: Any, form: str, arguments: dict[str, Any]) -> Awaitable[Any]:
        return answer(searching, form, prefix, way, arguments)

    return ask


def strict(form: str) -> list[dict[str, Any]]:
    """Tools that the helpers take, which read arguments only of those."""
    tools = definitions(form, TOOLS)
    for tool in tools:
        holder = tool.get("function", tool)
        if form != "anthropic":
            holder["strict"] = True
            closed = {"additionalProperties": False, "required": ["text"]}
            holder["parameters"] = holder["parameters"] | closed
    return tools


@WAY
@SYNC
def test_a_loop_gets_only_calls_of_its_own_tools(form: str, prefix: str, way: str, is_async: bool) -> None:
    steps = (
        searches("send an email message"),
        Answer(calls=(search_call("current weather of a city", call_id="s2"), SEND)),
        Answer(calls=(WEATHER,)),
        Answer("Sent."),
    )
    with served(*steps) as (provider, url):
        mode = "async" if is_async else "plain"
        searching = wrapped(client(form, url, is_async=is_async))
        loop = Caller(form, searching, strict(form), mode, asking(prefix, way))
        assert loop.ask("Mail hi to Ann.") == ["Sent."]
    assert loop.ran == [("mail__send_email", {"text": "hi"}), ("get_weather", {"text": "Oslo"})]
    one, two = ["tool_search", "mail__send_email"], ["tool_search", "mail__send_email", "get_weather"]
    assert list(map(names_in, provider.bodies)) == [["tool_search"], one, two, two]
    # Two rounds in the first call, one each in the others; Anthropic counts what was cached apart.
    once = 11 - 3 * (form == "anthropic")
    assert loop.usages == [(2 * once, 14), (once, 7), (once, 7)]
    for position in range(len(steps) - 1):
        before, after = conversation(provider, position), conversation(provider, position + 1)
        assert after[: len(before)] == before


MAIL = {"role": "user", "content": [{"type": "text", "text": "Mail?"}]}
RAW = [(form, way) for form in FORMS for way in ("with_raw_response", "with_streaming_response")]


@contextlib.contextmanager
def searching_client(
    *steps: Step, form: str = "openai_chat", then: Step | None = None, **options: Any
) -> Iterator[tuple[FakeProvider, Any]]:
    with served(*steps, then=then) as (provider, url), wrapped(client(form, url), **options) as searching:
        yield provider, searching


def request(form: str, **more: Any) -> dict[str, Any]:
    """Arguments of a call that begins a conversation."""
    key = "input" if form == "openai_responses" else "messages"
    limit = {"max_tokens": 9} if form == "anthropic" else {}
    return {"model": "m", key: [MAIL], "tools": definitions(form, TOOLS), **limit, **more}


@pytest.mark.parametrize("form", FORMS)
def test_copies_of_a_wrapped_client_are_wrapped(form: str) -> None:
    with searching_client(then=Answer("Hi."), form=form) as (provider, searching):
        for copied in (
            searching.copy(timeout=7),
            searching.with_options(max_retries=1).with_options(timeout=7),
        ):
            resource_of(copied, RESOURCES[form]).create(**request(form))
            assert (type(copied), copied.timeout) == (type(searching), 7)
    assert list(map(names_in, provider.bodies)) == [["tool_search"]] * 2


def test_clients_that_derive_from_the_official_ones_are_wrapped() -> None:
    """They change requests further below: Azure's path has the deployment that the body names."""
    with served(then=Answer("Hi.")) as (provider, url):
        azure = wrapped(openai.AzureOpenAI(azure_endpoint=url, api_key="key", api_version="2025-01-01"))
        foundry = wrapped(anthropic.AnthropicFoundry(base_url=url, api_key="key"))
        with azure, foundry:
            for searching in (azure, azure.with_options(timeout=7)):
                assert searching.chat.completions.create(**request("openai_chat")).choices
            assert foundry.messages.create(**request("anthropic")).content
            assert isinstance(azure, openai.AzureOpenAI)
    assert list(map(names_in, provider.bodies)) == [["tool_search"]] * 3


@pytest.mark.parametrize(("form", "way"), RAW)
def test_a_raw_response_says_what_the_answer_says(form: str, way: str) -> None:
    """Its body has neither searches nor the usage of one round alone; its headers are those that came."""
    beside = Answer(calls=(search_call("current weather of a city", call_id="s2"), SEND))
    with searching_client(searches("send an email message"), beside, form=form) as (_, searching):
        create = getattr(resource_of(searching, RESOURCES[form]), way).create
        response = create(**request(form))
        with response if way == "with_streaming_response" else contextlib.nullcontext(response) as raw:
            body = json.loads(raw.http_response.content)
            parsed = raw.parse()
            assert raw.headers["content-type"] == "application/json"
            assert raw.status_code == 200
    assert "tool_search" not in json.dumps(body)
    assert "mail__send_email" in json.dumps(body)
    assert parsed.to_dict()["usage"] == body["usage"]
    assert body["usage"].get("completion_tokens", body["usage"].get("output_tokens")) == 14


@pytest.mark.parametrize("form", FORMS)
def test_the_bytes_of_a_searched_stream_are_refused(form: str) -> None:
    """They are those of one round, with calls that the caller's tools do not have."""
    with searching_client(then=Answer("Hi."), form=form) as (_, searching):
        create = resource_of(searching, RESOURCES[form]).with_streaming_response.create
        with create(**request(form, stream=True)) as raw, pytest.raises(UnsearchedToolsError, match="parse"):
            next(raw.iter_lines())


@pytest.mark.parametrize("form", ["openai_responses", "anthropic"])
def test_counted_are_the_tokens_of_the_next_round(form: str) -> None:
    with searching_client(form=form) as (provider, searching):
        arguments = {key: value for key, value in request(form).items() if key != "max_tokens"}
        if form == "anthropic":
            counted = searching.messages.count_tokens(**arguments)
        else:
            counted = searching.responses.input_tokens.count(**arguments)
    assert names_in(provider.bodies[0]) == ["tool_search"]
    assert counted.input_tokens == len(provider.raw[0])


def test_the_runner_of_tools_runs_what_was_found() -> None:
    ran: list[str] = []

    @anthropic.beta_tool(name="mail__send_email", description="Send an email message.")
    def send(text: str) -> str:
        ran.append(text)
        return "Sent."

    others = definitions("anthropic", TOOLS[1:])
    steps = (searches("send an email message"), Answer(calls=(SEND,)), Answer("Done."))
    with searching_client(*steps, form="anthropic") as (provider, searching):
        runner = searching.beta.messages.tool_runner(
            model="m", max_tokens=9, messages=[MAIL], tools=[send, *others]
        )
        assert runner.until_done().content[0].text == "Done."
    assert ran == ["hi"]
    assert [names_in(body)[1:] for body in provider.bodies] == [
        [],
        ["mail__send_email"],
        ["mail__send_email"],
    ]


class Weather(pydantic.BaseModel):
    city: str


@pytest.mark.parametrize("form", FORMS)
def test_what_is_parsed_is_the_answer_after_the_searches(form: str) -> None:
    """And not what the model says before it searches, which has no such form."""
    steps = (searches("weather", text="Let me look."), Answer('{"city": "Oslo"}'))
    kind = {"openai_chat": "response_format", "openai_responses": "text_format", "anthropic": "output_format"}
    tools = strict(form)
    with searching_client(*steps, form=form) as (_, searching):
        parse = resource_of(searching, RESOURCES[form]).parse
        answered = parse(**request(form, tools=tools, **{kind[form]: Weather}))
    parsed = {
        "openai_chat": lambda: answered.choices[0].message.parsed,
        "openai_responses": lambda: answered.output_parsed,
        "anthropic": lambda: answered.parsed_output,
    }[form]()
    assert parsed == Weather(city="Oslo")


def test_arguments_of_parsed_calls_are_read() -> None:
    steps = (searches("send an email message"), Answer(calls=(SEND,)))
    with searching_client(*steps) as (_, searching):
        answered = searching.chat.completions.parse(**request("openai_chat", tools=strict("openai_chat")))
    assert answered.choices[0].message.tool_calls[0].function.parsed_arguments == {"text": "hi"}


def in_namespace(searching: Any, tools: list[Any]) -> Any:
    functions = definitions("openai_responses", TOOLS[: len(tools)])
    namespace = {"type": "namespace", "name": "office", "description": "Office.", "tools": functions}
    return searching.responses.create(model="m", input="Hi.", tools=[namespace])


def in_an_item(searching: Any, tools: list[Any]) -> Any:
    item = {"type": "additional_tools", "role": "developer", "tools": tools}
    message = {"role": "user", "content": "Hi."}
    return searching.responses.create(model="m", input=[message, item], tools=tools[:1])


ELSEWHERE: list[tuple[str, Callable[[Any, list[Any]], Any]]] = [
    ("openai_responses", in_namespace),
    ("openai_responses", in_an_item),
    ("openai_responses", lambda c, t: in_an_item(c.beta, t)),
    (
        "openai_responses",
        lambda c, t: c.conversations.create(items=iter([{"type": "additional_tools", "tools": t}])),
    ),
    ("openai_chat", lambda c, t: ask(c, extra_body={"session": {"tools": t}})),
    ("openai_chat", lambda c, t: ask(c, functions=[tool["function"] for tool in t])),
    ("openai_chat", lambda c, t: c.post("/elsewhere", cast_to=object, body={"tools": t})),
    ("openai_chat", lambda c, t: c.put("/elsewhere", cast_to=object, body={"tools": t})),
    (
        "openai_chat",
        lambda c, t: c.post("/chat/completions", cast_to=object, body={"messages": [], "tools": t}),
    ),
    ("openai_chat", lambda c, t: c.realtime.client_secrets.create(session={"type": "realtime", "tools": t})),
    (
        "anthropic",
        lambda c, t: c.messages.batches.create(requests=iter([{"custom_id": "a", "params": {"tools": t}}])),
    ),
]


def ask(searching: Any, **more: Any) -> Any:
    return searching.chat.completions.create(model="m", messages=[MAIL], **more)


@pytest.mark.parametrize(("form", "call"), ELSEWHERE)
def test_tools_in_another_place_are_refused(form: str, call: Callable[[Any, list[Any]], Any]) -> None:
    told = "use the client that you gave to wrap"
    with (
        searching_client(form=form) as (provider, searching),
        pytest.raises(UnsearchedToolsError, match=told),
    ):
        call(searching, definitions(form, TOOLS))
    assert provider.bodies == []


def test_what_a_conversation_says_may_look_like_tools() -> None:
    """Results of the provider's own search have definitions too, which it has seen."""
    found = {"type": "tool_search_output", "tools": definitions("openai_responses", TOOLS)}
    with searching_client(Answer("Hi."), form="openai_responses") as (provider, searching):
        provider.refuses = False
        searching.responses.create(model="m", input=[MAIL, found])
    assert provider.bodies[0]["input"] == [MAIL, found]


def test_few_tools_may_go_anywhere() -> None:
    with searching_client(Answer("Hi."), whole_below_tokens=100_000) as (provider, searching):
        function = definitions("openai_chat", TOOLS)[0]["function"]
        assert ask(searching, functions=[function]).choices[0].message.content == "Hi."
    assert provider.bodies[0]["functions"] == [function]


def test_tools_of_the_body_are_searched_like_arguments() -> None:
    with searching_client(Answer("Hi.")) as (provider, searching):
        ask(searching, extra_body={"tools": definitions("openai_chat", TOOLS), "toolsearch_session": "one"})
    assert names_in(provider.bodies[0]) == ["tool_search"]
    assert "toolsearch_session" not in provider.bodies[0]


def test_tools_may_come_out_of_an_iterator() -> None:
    with searching_client(Answer("Hi."), Answer("Hi."), form="anthropic") as (provider, searching):
        for messages in ([MAIL], iter([MAIL])):
            tools = iter(definitions("anthropic", TOOLS))
            searching.messages.create(model="m", max_tokens=9, messages=messages, tools=tools)
    assert provider.bodies[0] == provider.bodies[1]
    assert names_in(provider.bodies[0]) == ["tool_search"]


def test_each_round_has_an_idempotency_key_of_its_own() -> None:
    """The same key with another body would get the first answer again, or be refused."""
    with searching_client(searches("send an email message"), Answer("Done.")) as (provider, searching):
        ask(searching, tools=definitions("openai_chat", TOOLS), extra_headers={"Idempotency-Key": "k"})
    assert [headers["Idempotency-Key"] for headers in provider.headers] == ["k", "k-1"]


@pytest.mark.parametrize("form", FORMS)
def test_a_helper_that_is_left_early_gives_its_connection_back(form: str) -> None:
    """Also in a later round than the one that it was opened with."""
    steps = (searches("send an email message"), Answer("A long text. " * 50))
    with searching_client(*steps, form=form) as (provider, searching):
        with resource_of(searching, RESOURCES[form]).stream(**request(form)) as stream:
            for _ in stream:
                if len(provider.bodies) == 2:
                    break
        assert [each.is_idle() or each.is_closed() for each in connections(searching)].count(False) == 0


OF_A_CLOSED_STREAM = (openai.APIConnectionError, httpx2.TransportError, httpx2.StreamError)
"""What the clients may raise where somebody reads on."""


@SYNC
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_that_was_closed_asks_for_nothing_more(form: str, is_async: bool) -> None:
    """Though what had come by then, of which the rest is shown, was a whole search."""

    async def ask(searching: Any) -> None:
        stream = await now(resource_of(searching, RESOURCES[form]).create(**request(form), stream=True))
        if is_async:
            await anext(stream)
            await stream.close()
            with contextlib.suppress(*OF_A_CLOSED_STREAM):
                async for chunk in stream:
                    assert "tool_search" not in str(chunk)
        else:
            next(stream)
            stream.close()
            with contextlib.suppress(*OF_A_CLOSED_STREAM):
                for chunk in stream:
                    assert "tool_search" not in str(chunk)
        await now(searching.close())

    steps = (searches("send an email message", text="Let me look."), Answer("Hi."))
    with served(*steps) as (provider, url):
        asyncio.run(ask(wrapped(client(form, url, is_async=is_async))))
    assert len(provider.bodies) == 1


def connections(searching: Any) -> list[Any]:
    found: list[Any] = searching._client._transport._pool.connections
    return found


def test_a_client_is_wrapped_once_and_stays_as_it_was() -> None:
    tools = definitions("openai_chat", TOOLS)
    with served(then=Answer("Hi.")) as (provider, url), client("openai_chat", url) as plain:
        plain.chat.completions.create(model="m", messages=[MAIL], tools=tools)
        searching = wrapped(plain)
        for each in (plain, searching, plain):
            each.chat.completions.create(model="m", messages=[MAIL], tools=tools)
        with pytest.raises(TypeError, match="wrapped already"):
            wrapped(searching)
    assert [len(body["tools"]) for body in provider.bodies] == [5, 5, 1, 5]
