"""What is passed on as it is, and what is not passed on at all."""

from __future__ import annotations

import contextlib
import gzip
import json
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.adapters.callers import FORMS
from tests.adapters.serving import definitions
from tests.server.proxy.scripted import BREAK, WAIT, Reply, scripted
from tests.server.proxy.support import KEY, PATHS, PREFIXES, message
from tests.server.support import Served, service
from toolsearch.exceptions import ServerSettingsError
from toolsearch.server.settings import ServerSettings, made_settings

MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "created": 1, "owned_by": "x"}]}
VECTORS = {
    "object": "list",
    "model": "m",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 1.0]}],
    "usage": {"prompt_tokens": 1, "total_tokens": 1},
}
FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 1,
    "filename": "a.txt",
    "purpose": "batch",
}


def reply(body: Any, **more: Any) -> Reply:
    return Reply((json.dumps(body).encode(),), **more)


@contextlib.contextmanager
def before(url: str, **settings: Any) -> Iterator[Served]:
    """The service in front of the provider at `url`."""
    chosen: dict[str, Any] = {"openai_upstream": f"{url}/base/v1", "anthropic_upstream": url, **settings}
    with service(**chosen) as served:
        yield served


def weather(form: str) -> Any:
    return definitions(form, [("get_weather", "Current weather of a city.")])


def test_other_calls_of_the_official_client_are_passed_on() -> None:
    with (
        scripted(reply(MODELS), reply(VECTORS), reply(FILE)) as (provider, url),
        before(url) as served,
        openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key=KEY, max_retries=0) as client,
    ):
        assert [model.id for model in client.models.list()] == ["m"]
        made = client.embeddings.create(model="m", input="x", encoding_format="float")
        assert made.data[0].embedding == [0.5, 1.0]
        sent = client.files.create(file=("a.txt", b"abc"), purpose="batch")
        assert sent.id == "file-1"
    assert [(got.method, got.target) for got in provider.got] == [
        ("GET", "/base/v1/models"),
        ("POST", "/base/v1/embeddings"),
        ("POST", "/base/v1/files"),
    ]
    assert b"abc" in provider.got[2].body
    assert {got.headers["authorization"] for got in provider.got} == {f"Bearer {KEY}"}


def test_method_path_query_and_bytes_are_as_they_came() -> None:
    packed = gzip.compress(b'{"any": "thing"}')
    headers = (("content-encoding", "gzip"), ("x-request-id", "req-7"), ("retry-after", "3"))
    with scripted(Reply((packed,), 418, headers)) as (provider, url), before(url) as served:
        answer = served.http.patch(
            "/anthropic/v1/files/a%2Fb%20c?x=1&y=%20", content=b"\x00\xff", headers={"X-Own": "yes"}
        )
        (got,) = provider.got
    assert (got.method, got.target, got.body) == ("PATCH", "/v1/files/a%2Fb%20c?x=1&y=%20", b"\x00\xff")
    assert got.headers["x-own"] == "yes"
    assert (answer.status_code, answer.json()) == (418, {"any": "thing"})
    assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("req-7", "3")


def test_a_body_that_comes_in_pieces_is_passed_on_in_pieces() -> None:
    pieces = [b"x" * 100_000 for _ in range(30)]
    with scripted(reply({})) as (provider, url), before(url, max_body_bytes=1024) as served:
        assert served.http.post("/openai/v1/files", content=iter(pieces)).status_code == 200
        (got,) = provider.got
    assert got.body == b"".join(pieces)
    assert got.headers["transfer-encoding"] == "chunked"


def test_a_body_that_drips_holds_no_connection_to_a_provider() -> None:
    pause = threading.Event()

    def drip() -> Iterator[bytes]:
        for _ in range(40):
            pause.wait(0.05)
            yield b"x"

    with scripted(reply(FILE), reply(FILE)) as (_, url), before(url, timeout_s=0.3) as served:
        answer = served.http.post("/openai/v1/files", content=drip(), timeout=60)
        assert answer.status_code == 408
        steady = served.http.post("/openai/v1/files", content=(b"x" * 1024 for _ in range(9)))
        assert steady.status_code == 200


@pytest.mark.parametrize("path", ["/openai/v1/models", "/openai/v1/chat/completions"])
def test_a_provider_that_says_nothing_is_not_waited_for(path: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with before(url, proxy_timeout_s=0.3, proxy_retries=0) as served:
            method = "GET" if path.endswith("models") else "POST"
            body = None if method == "GET" else message("openai_chat", "Hi")
            assert served.http.request(method, path, json=body).status_code == 504


@pytest.mark.parametrize("form", FORMS)
def test_few_tools_go_out_byte_for_byte(form: str) -> None:
    tools = weather(form)
    body = json.dumps({**message(form, "Hi ☂"), "tools": tools}, indent=1, ensure_ascii=False).encode()
    answer = b'{"id" :  "x", "choices": [], "output": [], "content": []}'
    with scripted(Reply((answer,))) as (provider, url), before(url) as served:
        told = served.http.post(f"{PREFIXES[form]}{PATHS[form]}", content=body)
    assert provider.got[0].body == body
    assert told.content == answer


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_without_a_search_comes_back_byte_for_byte(form: str) -> None:
    tools = weather(form)
    empty: Any = {"openai_chat": {"choices": []}, "openai_responses": {"output": []}}
    answer = json.dumps({"x": 1.50, **empty.get(form, {"content": []})}, indent=2).encode()
    settings = {"proxy_whole_below_tokens": 0}
    with scripted(Reply((answer,))) as (provider, url), before(url, **settings) as served:
        told = served.http.post(
            f"{PREFIXES[form]}{PATHS[form]}", json={**message(form, "Hi"), "tools": tools}
        )
    assert told.content == answer
    assert b"tool_search" in provider.got[0].body


@pytest.mark.parametrize("path", ["/openai/v1/../secret", "/openai/v1/%2e%2e/secret", "/openai/v1/a/./b"])
def test_no_path_leads_out_of_the_address_of_a_provider(path: str) -> None:
    with scripted() as (provider, url), before(url) as served:
        # The client must not tidy the path up.
        import http.client

        connection = http.client.HTTPConnection(served.url.removeprefix("http://"))
        connection.request("GET", path)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        connection.close()
    assert (answer.status, provider.got) == (400, [])
    assert told["error"]["type"] == "invalid_request_error"


def test_redirects_are_the_callers_to_follow() -> None:
    there = Reply((), 302, (("location", "http://169.254.169.254/latest/"),))
    with scripted(there) as (provider, url), before(url) as served:
        answer = served.http.get("/openai/v1/models")
    assert (answer.status_code, len(provider.got)) == (302, 1)


def test_without_an_upstream_there_are_no_such_paths() -> None:
    with service() as served:
        assert served.http.post("/openai/v1/chat/completions", json={}).status_code == 404
    with scripted(reply(MODELS)) as (_, url), service(openai_upstream=url) as served:
        assert served.http.get("/anthropic/v1/models").status_code == 404
        assert served.http.get("/openai/v1/models").status_code == 200
        assert served.http.get("/openai/v1x").status_code == 404


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://user:secret@x/v1", "https://x/v1?key=secret"])
def test_an_address_that_cannot_be_used_is_told_without_it(url: str) -> None:
    with pytest.raises(ServerSettingsError, match="openai_upstream") as caught:
        made_settings({"openai_upstream": url})
    assert "secret" not in str(caught.value)


def test_proxy_stands_in_front_of_both_where_they_are() -> None:
    told = {name: str(url) for name, url in ServerSettings(proxy=True).upstreams.items()}
    assert told == {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
    assert ServerSettings().upstreams == {}


def test_headers_of_the_network_here_stay_here() -> None:
    sent = {
        "Cookie": "a=b",
        "X-Forwarded-For": "10.0.0.1",
        "Referer": "http://x",
        "Via": "1.1 here",
        "X-ToolSearch-Session": "s",
        "Connection": "keep-alive, X-Hop",
        "X-Hop": "1",
        "X-Secret-Team": "t",
        "OpenAI-Beta": "b",
    }
    only = ("openai-*",)
    with scripted(reply({}), reply({})) as (provider, url):
        with before(url, proxy_drop_header=("X-Secret-*",)) as served:
            served.http.get("/openai/v1/models", headers=sent)
        with before(url, proxy_only_header=only) as served:
            served.http.get("/openai/v1/models", headers={**sent, "Authorization": "Bearer k"})
    names = [set(got.headers) - {"host", "accept", "accept-encoding", "user-agent"} for got in provider.got]
    assert names == [{"openai-beta"}, {"openai-beta", "authorization"}]


def test_cookies_of_a_provider_reach_no_other_caller() -> None:
    cookie = Reply((b"{}",), headers=(("set-cookie", "who=one; Path=/"),))
    with scripted(cookie, reply({})) as (provider, url), before(url) as served:
        assert "set-cookie" not in served.http.get("/openai/v1/models").headers
        served.http.get("/openai/v1/models")
    assert all("cookie" not in got.headers for got in provider.got)


def test_the_key_of_a_provider_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = tmp_path / "service.db"
    steps = (reply({}), reply({}, status=401), Reply((BREAK,), 0))
    tools = weather("openai_chat")
    with caplog.at_level(logging.DEBUG), scripted(*steps) as (provider, url):
        settings = {"proxy_whole_below_tokens": 0, "database": database, "proxy_retries": 0}
        with before(url, **settings) as served:
            for _ in steps:
                served.http.post(
                    "/openai/v1/chat/completions?key=" + KEY,
                    json={**message("openai_chat", "Hi"), "tools": tools},
                    headers={"Authorization": f"Bearer {KEY}", "x-api-key": KEY},
                )
    assert [got.headers["x-api-key"] for got in provider.got] == [KEY] * 3
    # What is left are lines of the test's own client.
    ours = [record for record in caplog.records if "127.0.0.1" not in record.getMessage()]
    told = [record.getMessage() for record in ours if record.name.startswith(("toolsearch", "uvicorn"))]
    assert any("/openai/v1/chat/completions" in line for line in told)
    assert not any(KEY[:8] in line for line in told)
    assert not any(KEY[:8] in record.getMessage() for record in caplog.records if url in record.getMessage())
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_client_that_goes_away_ends_the_request_at_the_provider() -> None:
    stream = (("content-type", "text/event-stream"),)
    for path, headers in (("/openai/v1/chat/completions", stream), ("/openai/v1/models", stream)):
        waiting = Reply((b": hi\n\n", WAIT), headers=headers)
        with scripted(waiting) as (provider, url), before(url) as served:
            with served.http.stream("POST", path, json={"stream": True}) as answer:
                next(answer.iter_raw())
                assert provider.waits.wait(20)
            assert provider.gone.wait(20)


def test_a_client_that_goes_away_before_an_answer_ends_the_request_too() -> None:
    import socket

    with scripted(Reply((WAIT,))) as (provider, url), before(url) as served:
        host, port = served.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            body = b'{"model": "m"}'
            head = (
                f"POST /openai/v1/responses HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            raw.sendall(head.encode() + body)
            assert provider.waits.wait(20)
        assert provider.gone.wait(20)


@pytest.mark.parametrize("tools", [None, weather("openai_chat")], ids=["passed", "searched"])
def test_a_stream_that_breaks_off_breaks_off(tools: Any) -> None:
    stream = (("content-type", "text/event-stream"),)
    chunk = b'data: {"id": "x", "created": 1, "choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
    given: dict[str, Any] = {} if tools is None else {"tools": tools}
    said: list[str] = []
    with (
        scripted(Reply((chunk, BREAK), headers=stream)) as (_, url),
        before(url, proxy_whole_below_tokens=0, proxy_retries=0) as served,
        openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key=KEY, max_retries=0) as client,
    ):
        answer: Any = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True, **given
        )
        with pytest.raises(openai.APIConnectionError):
            said.extend(piece.choices[0].delta.content for piece in answer)
    assert said == ["Hel"]


def test_a_broken_answer_that_was_to_be_searched_is_a_bad_gateway() -> None:
    tools = weather("anthropic")
    with scripted(Reply((b'{"content"', BREAK))) as (_, url):
        settings = {"proxy_whole_below_tokens": 0, "proxy_retries": 0}
        with before(url, **settings) as served:
            client = anthropic.Anthropic(base_url=f"{served.url}/anthropic", api_key=KEY, max_retries=0)
            with client, pytest.raises(anthropic.InternalServerError) as caught:
                client.messages.create(**message("anthropic", "Hi"), tools=tools)
    assert caught.value.status_code == 502
    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "api_error")


@pytest.mark.parametrize("raw", [b"", b'{"tools": [', b'[{"tools": 1}]', b'\xff"tools"', b'{"tools": 7}'])
def test_what_cannot_be_read_is_the_providers_to_refuse(raw: bytes) -> None:
    refusal = reply({"error": {"message": "no"}}, status=400)
    with scripted(refusal) as (provider, url), before(url) as served:
        answer = served.http.post("/openai/v1/chat/completions", content=raw)
    assert (provider.got[0].body, answer.json()["error"]["message"]) == (raw, "no")
