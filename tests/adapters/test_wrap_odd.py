"""What is odd in an answer or a request of a wrapped client is met as the plain client meets it, or named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.adapters.callers import FORMS, client, wrapped
from tests.adapters.serving import TOOLS, definitions, searches, served
from tests.adapters.ways import RESOURCES, answer, resource_of
from tests.fake_provider.answers import Answer, Failure
from tests.fake_provider.provider import FakeProvider, Step

MAIL = {"role": "user", "content": "Mail hi to Ann."}
ERROR = {"error": {"message": "The engine is busy.", "code": 502}}
ODD_ANSWERS = [
    ("openai_chat", {"choices": None, **ERROR}),
    ("openai_chat", {"choices": [], "usage": None}),
    ("openai_chat", {"choices": [{"index": 0, "message": None}]}),
    ("openai_chat", ERROR),
    ("openai_chat", [ERROR]),
    ("openai_chat", "Busy."),
    ("openai_responses", {"output": None, **ERROR}),
    ("openai_responses", ERROR),
    ("openai_responses", "Busy."),
    ("anthropic", {"content": None, **ERROR}),
    ("anthropic", {"content": [], "usage": None}),
    ("anthropic", {"content": [{"text": "A block of no type."}]}),
    ("anthropic", ERROR),
    ("anthropic", "Busy."),
]


def said(value: Any) -> Failure:
    """An answer with status 200 whose body is `value`."""
    return Failure(200, json.dumps(value), {"content-type": "application/json"})


def request(form: str, **more: Any) -> dict[str, Any]:
    told = {"input" if form == "openai_responses" else "messages": [MAIL]}
    limit = {"max_tokens": 9} if form == "anthropic" else {}
    return {"model": "m", "tools": definitions(form, TOOLS), **told, **limit, **more}


@contextmanager
def searching_client(form: str, *steps: Step, **options: Any) -> Iterator[tuple[FakeProvider, Any]]:
    with served(*steps) as (provider, url), wrapped(client(form, url), **options) as searching:
        yield provider, searching


@pytest.mark.parametrize("way", ["create", "raw create"])
@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize(("form", "body"), ODD_ANSWERS)
def test_an_answer_that_says_nothing_is_that_of_the_plain_client(
    form: str, body: Any, rounds: int, way: str
) -> None:
    """Such as the error that a server reports with status 200; also after a search."""
    with served(said(body)) as (_, url), client(form, url) as plain:
        wanted = asyncio.run(answer(plain, form, "", way, request(form)))
    steps = [searches("send an email message")] * rounds
    with searching_client(form, *steps, said(body)) as (_, searching):
        got = asyncio.run(answer(searching, form, "", way, request(form)))
    assert type(got) is type(wanted)
    if hasattr(got, "to_dict"):
        told, expected = (each.to_dict(warnings=False) for each in (got, wanted))
        assert told.pop("usage", None) is not None or not rounds
        expected.pop("usage", None)
        assert told == expected
    else:
        assert got == wanted


def test_a_chunk_without_a_delta_goes_to_the_caller() -> None:
    events = [
        {"id": "1", "choices": [{"index": 0, "delta": None}]},
        {"id": "1", "choices": None, "note": "still here"},
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "Hi."}}]},
        {"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    ]
    stream = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    failure = Failure(200, stream, {"content-type": "text/event-stream"})
    with searching_client("openai_chat", failure) as (_, searching):
        chunks = list(searching.chat.completions.create(**request("openai_chat"), stream=True))
    assert sorted(chunk.to_dict()["choices"] is None for chunk in chunks) == [False, False, False, True]


def send_mail(text: str) -> str:
    """Send an email message."""
    return text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("tool", "told"),
    [
        (None, "None"),
        ("mail", "the text 'mail'"),
        (7, "7"),
        (send_mail, "a function"),
        (dict, "the class dict"),
        (FakeProvider, "the class FakeProvider"),
        ([], "a list"),
    ],
    ids=str,
)
def test_what_is_no_definition_is_told_with_its_place(form: str, tool: Any, told: str) -> None:
    tools = [*definitions(form, TOOLS), tool]
    with (
        searching_client(form) as (provider, searching),
        pytest.raises(TypeError, match=rf"^tools\[5\] is {told}\. Give the definition of a tool"),
    ):
        resource_of(searching, RESOURCES[form]).create(**request(form, tools=tools))
    assert provider.bodies == []


ODD_TOOLS: list[dict[str, Any]] = [
    {},
    {"name": 7},
    {"name": ["a"], "type": "custom"},
    {"type": "function", "name": {}},
    {"type": "function", "function": "mail"},
    {"type": "function", "function": {"name": ["a"]}},
    {"type": "function", "function": {"name": "odd", "parameters": 7, "description": 7}},
    {"type": "custom", "custom": "mail"},
    {"type": "web_search", "tools": [None, "x"]},
]
ODD_MESSAGES: list[Any] = [
    None,
    "hello",
    7,
    {},
    {"role": "user", "content": ["hello", None]},
    {"role": "user", "content": 7},
    {"role": "user", "content": [{"type": "tool_result", "content": [{}, "x", {"text": "no type"}]}]},
    {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "tool_reference"}]}]},
    {"role": "assistant"},
    {"role": "assistant", "content": [7], "tool_calls": 7},
    {"type": "tool_search_output", "tools": [None, {}]},
    {"type": "tool_search_output"},
]
ODD_CHOICES: list[Any] = [
    "no such choice",
    {"type": "tool", "name": 7},
    {"type": "function", "function": "x", "name": ["x"]},
    {"type": "allowed_tools", "allowed_tools": {"tools": [None, {}]}, "tools": ["x"]},
    {"type": "allowed_tools", "allowed_tools": "x", "tools": 7},
]
HOW = [*((form, "append") for form in FORMS), ("openai_responses", "native"), ("anthropic", "native")]


@pytest.mark.parametrize(("form", "delivery"), HOW)
@pytest.mark.parametrize(
    ("key", "odd"),
    [
        *(("tools", tool) for tool in ODD_TOOLS),
        *(("messages", message) for message in ODD_MESSAGES),
        *(("tool_choice", choice) for choice in ODD_CHOICES),
    ],
    ids=str,
)
def test_what_only_the_provider_can_judge_is_sent_as_it_is(
    form: str, delivery: str, key: str, odd: Any
) -> None:
    """With a search and its memory before it, so that every part of the conversation is read."""
    steps = (searches("send an email message"), Answer("Hi."), Answer("Ho."))
    listed = "input" if form == "openai_responses" else "messages"
    more = {
        "tools": {"tools": [*definitions(form, TOOLS), odd]},
        "messages": {listed: [MAIL, odd, MAIL]},
        "tool_choice": {"tool_choice": odd},
    }
    with searching_client(form, *steps, delivery=delivery) as (provider, searching):
        provider.refuses = False
        create = resource_of(searching, RESOURCES[form]).create
        create(**request(form))
        create(**request(form, **more[key]))
    sent = provider.bodies[-1][listed if key == "messages" else key]
    assert odd == sent if key == "tool_choice" else odd in sent


@pytest.mark.parametrize("messages", [{}, {"messages": "Hi."}, {"messages": None}], ids=str)
@pytest.mark.parametrize(
    ("form", "path"), [("openai_chat", "/chat/completions"), ("anthropic", "/v1/messages")]
)
def test_a_request_without_messages_is_refused(form: str, path: str, messages: dict[str, Any]) -> None:
    body = {"model": "m", "tools": definitions(form, TOOLS), **messages}
    with (
        searching_client(form) as (provider, searching),
        pytest.raises(ValueError, match=r"cannot answer this request\. Its messages are no list"),
    ):
        searching.post(path, cast_to=object, body=body)
    assert provider.bodies == []
