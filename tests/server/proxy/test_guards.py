"""What is refused, so that no rule of the service is got around and no key of it gets out."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import Caller
from tests.adapters.serving import definitions, names_in, searches
from tests.fake_provider.answers import Answer
from tests.server.proxy.scripted import BREAK, Reply, scripted
from tests.server.proxy.support import message, proxied
from tests.server.proxy.test_passing import before, reply
from tests.server.proxy.test_wishes import TOOLS

BODY: Any = {"model": "forbidden", "messages": [{"role": "user", "content": "Hi"}]}
RAW = json.dumps(BODY).encode()


@pytest.mark.parametrize(
    ("raw", "headers"),
    [
        (b"\xef\xbb\xbf" + RAW, {}),
        (gzip.compress(RAW), {"Content-Encoding": "gzip"}),
        (RAW, {"Content-Encoding": "identity"}),
        (RAW.decode().encode("utf-16"), {}),
        (RAW.replace(b"Hi", b"\xff"), {}),
        (b'{"model": "forbidden", "model": "gpt-5", "messages": []}', {}),
        (b'{"model": "gpt-5", "Model": "forbidden", "messages": []}', {}),
        (b'{"model": ["forbidden"], "messages": []}', {}),
        (b'{"messages": []}', {}),
        (b"", {}),
    ],
)
def test_a_body_whose_model_cannot_be_told_is_refused(raw: bytes, headers: Any) -> None:
    with proxied(proxy_model=("gpt-*",)) as through:
        answer = through.service.http.post(through.url("openai_chat"), content=raw, headers=headers)
        assert (answer.status_code, "restricted" in answer.text) == (400, True)
    assert through.provider.raw == []


@pytest.mark.parametrize(
    "path",
    [
        "chat/completions/",
        "/chat/completions",
        "chat%2Fcompletions",
        "chat/completions%2F",
        "Chat/Completions",
    ],
)
def test_a_searched_path_is_one_in_any_spelling(path: str) -> None:
    with scripted(reply({"choices": []})) as (provider, url), before(url, proxy_model=("gpt-*",)) as served:
        connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
        told = []
        for model in ("forbidden", "gpt-5"):
            connection.request("POST", f"/openai/v1/{path}", json.dumps({**BODY, "model": model}))
            response = connection.getresponse()
            response.read()
            told.append(response.status)
        connection.close()
    assert told == [404, 200]
    assert [got.target for got in provider.got] == ["/base/v1/chat/completions"]


@pytest.mark.parametrize("way", ["basic", "user", "header", "words", "query", "escaped", "path"])
def test_a_key_of_the_service_goes_to_no_provider(way: str) -> None:
    with proxied() as through:
        ours = through.service.key()
        user = base64.b64encode(f"{ours}:".encode()).decode()
        both = base64.b64encode(f"me:{ours}".encode()).decode()
        headers = {
            "basic": {"Authorization": f"Basic {both}"},
            "user": {"Authorization": f"Basic {user}"},
            "header": {"X-Other": ours},
            "words": {"X-Other": f'a, key="{ours}"'},
        }.get(way, {})
        query = {"query": f"?key={ours}", "escaped": f"?key=%74{ours[1:]}", "path": f"/{ours}"}.get(way, "")
        url = through.url("openai_chat") + query
        sent = {**headers, "X-ToolSearch-Key": through.service.key()}
        answer = through.service.http.post(url, json=message("openai_chat", "Hi"), headers=sent)
        assert (answer.status_code, ours in answer.text) == (403, False)
    assert through.provider.raw == []


def test_a_session_belongs_to_the_key_of_the_provider_that_began_it() -> None:
    session = {"X-ToolSearch-Session": "ticket-7"}
    with proxied(searches("send an email message"), then=Answer("Hm.")) as through:
        for key in ("first", "second", "first"):
            client = through.client("openai_chat", api_key=key, default_headers=session)
            Caller("openai_chat", client, definitions("openai_chat", TOOLS)).ask(f"Mail, {key}.")
    assert [names_in(body)[1:] for body in through.provider.bodies] == [
        [],
        ["mail__send_email"],
        [],
        ["mail__send_email"],
    ]


def test_a_busy_provider_whose_answer_breaks_off_is_asked_again() -> None:
    headers = (("content-type", "application/json"), ("content-length", "99"), ("retry-after", "0"))
    busy = Reply((b'{"error"', BREAK), 429, headers)
    with scripted(busy, reply({"choices": []})) as (provider, url), before(url) as served:
        answer = served.http.post("/openai/v1/chat/completions", json=BODY)
    assert (answer.status_code, len(provider.got)) == (200, 2)
