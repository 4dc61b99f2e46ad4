"""What is odd in an answer or a request of a wrapped client is met as the plain client meets it, or named."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.adapters.callers import client, wrapped
from tests.adapters.serving import definitions, searches, served
from tests.adapters.test_wrap import TOOLS
from tests.adapters.ways import answer
from tests.fake_provider.answers import Failure
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
