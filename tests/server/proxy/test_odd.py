"""Answers that are not as the API of a provider says, and in another form than was asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.serving import definitions
from tests.server.proxy.scripted import Reply, scripted
from tests.server.proxy.test_passing import before
from tests.server.proxy.test_wishes import TOOLS

FUNCTION: Any = {"name": "tool_search", "arguments": '{"queries": ["mail"]}'}
SEARCH: Any = {"role": "assistant", "tool_calls": [{"id": "s", "type": "function", "function": FUNCTION}]}
EVENTS = (("content-type", "Text/Event-Stream; charset=utf-8"),)
JSON = (("content-type", "Application/JSON"),)


def message(said: Any) -> Any:
    return {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}


def piece(delta: Any, reason: str | None = None) -> Any:
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def events(*records: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in records) + b"data: [DONE]\n\n"


def asked(*replies: Reply, stream: bool) -> tuple[Any, int]:
    """The response, and how often the provider was asked."""
    body: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    body["tools"] = definitions("openai_chat", TOOLS)
    with scripted(*replies) as (provider, url), before(url, proxy_whole_below_tokens=0) as served:
        return served.http.post("/openai/v1/chat/completions", json=body), len(provider.got)


@pytest.mark.parametrize(
    "record",
    [
        message({"role": "assistant", "tool_calls": [{"id": "a", "function": None}]}),
        message({"role": "assistant", "tool_calls": "abc"}),
        message({"role": "assistant", "content": 5}),
        {"choices": [5]},
        {"choices": 5},
    ],
)
def test_an_odd_answer_goes_back_as_it_came(record: Any) -> None:
    raw = json.dumps(record, indent=1).encode()
    answer, _ = asked(Reply((raw,), headers=JSON), stream=False)
    assert (answer.status_code, answer.content) == (200, raw)


@pytest.mark.parametrize(
    "record",
    [
        piece({"tool_calls": [None]}),
        piece({"tool_calls": "abc"}),
        piece({"content": [{"type": "text", "text": "x"}]}),
        {"choices": [5]},
    ],
)
def test_an_odd_piece_of_a_stream_is_passed_on(record: Any) -> None:
    raw = events(record, piece({"role": "assistant", "content": "fin"}), piece({}, "stop"))
    answer, _ = asked(Reply((raw,), headers=EVENTS), stream=True)
    assert answer.status_code == 200
    assert json.dumps(record) in answer.text
    assert "fin" in answer.text


def test_an_odd_answer_with_a_search_in_it_is_a_bad_gateway() -> None:
    odd = message({**SEARCH, "tool_calls": [*SEARCH["tool_calls"], None]})
    answer, _ = asked(Reply((json.dumps(odd).encode(),)), stream=False)
    assert (answer.status_code, "tool_calls" in answer.text) == (502, False)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_in_another_form_shows_no_search(stream: bool) -> None:
    whole = Reply((json.dumps(message(SEARCH)).encode(),), headers=JSON)
    pieces = Reply((events(piece(SEARCH), piece({}, "tool_calls")),), headers=EVENTS)
    answer, _ = asked(whole if stream else pieces, stream=stream)
    assert (answer.status_code, "tool_calls" in answer.text) == (502, False)


def test_the_media_type_of_a_stream_is_one_in_any_letters() -> None:
    call = {**SEARCH, "tool_calls": [{"index": 0, **SEARCH["tool_calls"][0]}]}
    first = Reply((events(piece(call), piece({}, "tool_calls")),), headers=EVENTS)
    second = Reply(
        (events(piece({"role": "assistant", "content": "fin"}), piece({}, "stop")),), headers=EVENTS
    )
    answer, n_asked = asked(first, second, stream=True)
    assert (n_asked, "fin" in answer.text, "tool_search" in answer.text) == (2, True, False)
