"""Calls of operations: what is sent, what comes of the answers, and what nobody gets to see."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import httpx
import pytest

from tests.sources.openapi.documents import Recorder, call, document, only_tool, operation, parameter, text_of
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.exceptions import ToolTimeoutError
from toolsearch.messages import AssistantMessage, ImagePart, ToolCall
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import JsonObject, Tool

GET = document({"/x": {"get": {"operationId": "op"}}})
SHOWN = "GET https://api.example.com/v1/x"


def answered(*answers: httpx.Response, value: JsonObject = GET, **settings: Any) -> Any:
    return call(only_tool(value, Recorder(*answers), **settings))


def test_json_comes_as_it_is_and_as_a_value() -> None:
    result = answered(httpx.Response(200, json={"a": ["ä"]}))
    assert (text_of(result), result.structured, result.is_error) == ('{"a":["ä"]}', {"a": ["ä"]}, False)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (httpx.Response(204), "Done (204 No Content)."),
        (httpx.Response(200, text="plain"), "plain"),
        (
            httpx.Response(
                200, content="ä".encode("latin-1"), headers={"Content-Type": "text/plain; charset=latin-1"}
            ),
            "ä",
        ),
        (httpx.Response(200, content=b"<a/>", headers={"Content-Type": "application/xml"}), "<a/>"),
        (httpx.Response(200, content=b"bare"), "bare"),
        (httpx.Response(200, content=b"x", headers={"Content-Type": "text/plain; charset=nonsense"}), "x"),
        (
            httpx.Response(200, content=b"%PDF\x00", headers={"Content-Type": "application/pdf"}),
            "data:application/pdf;base64,JVBERgA=",
        ),
        (httpx.Response(200, content=b"{broken", headers={"Content-Type": "application/json"}), "{broken"),
    ],
)
def test_other_answers_come_as_what_they_are(answer: httpx.Response, text: str) -> None:
    result = answered(answer)
    assert (text_of(result), result.structured, result.is_error) == (text, None, False)


def test_a_picture_comes_as_one() -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"\0" * 200_000
    result = answered(httpx.Response(200, content=png, headers={"Content-Type": "image/png"}))
    assert result.content == (ImagePart.of(png, "image/png"),)


@pytest.mark.parametrize("status", [200, 500])
def test_a_long_answer_is_cut_with_a_notice(status: int) -> None:
    long = httpx.Response(status, text="x" * 5000)
    result = answered(long, max_result_bytes=1000)
    assert "x" * 1000 + "\n[The answer goes on; only its first 1,000 bytes were read." in text_of(result)
    assert "x" * 1001 not in text_of(result)
    assert result.structured is None


def test_a_long_file_is_not_shown() -> None:
    long = httpx.Response(200, content=b"\0" * 5000, headers={"Content-Type": "application/zip"})
    result = answered(long, max_result_bytes=1000)
    assert (
        text_of(result)
        == "The answer is a file of type application/zip, of which only 1,000 bytes were read."
    )


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            httpx.Response(404, json={"detail": "no pet"}),
            f'{SHOWN} answered 404 Not Found.\n{{"detail":"no pet"}}',
        ),
        (httpx.Response(500), f"{SHOWN} answered 500 Internal Server Error."),
        (httpx.Response(599, text=" "), f"{SHOWN} answered 599."),
        (
            httpx.Response(429, headers={"Retry-After": "7"}),
            f"{SHOWN} answered 429 Too Many Requests. It asks to wait: Retry-After 7.",
        ),
        (httpx.Response(304), f"{SHOWN} answered 304 Not Modified, a redirect that was not followed."),
    ],
)
def test_what_is_no_success_is_an_error_result(answer: httpx.Response, text: str) -> None:
    result = answered(answer)
    assert (text_of(result), result.is_error) == (text, True)


class Failing(httpx.AsyncBaseTransport):
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise self.error


@pytest.mark.parametrize(
    "error", [httpx.ConnectError("refused"), httpx.ReadError(""), httpx.RemoteProtocolError("garbage")]
)
def test_a_broken_connection_is_an_error_result(error: Exception) -> None:
    result = call(only_tool(GET, Failing(error)))
    assert result.is_error
    assert text_of(result).startswith(f"{SHOWN} gave no answer ({type(error).__name__}")


def test_an_answer_that_cannot_be_decoded_is_an_error_result() -> None:
    result = answered(
        httpx.Response(200, stream=httpx.ByteStream(b"no gzip"), headers={"Content-Encoding": "gzip"})
    )
    assert result.is_error
    assert "DecodingError" in text_of(result)


def test_a_call_that_takes_too_long_ends_and_the_conversation_goes_on() -> None:
    class Hanging(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await asyncio.Event().wait()
            raise AssertionError

    tool = only_tool(GET, Hanging(), timeout_s=0.01)
    with pytest.raises(ToolTimeoutError):
        call(tool)
    asked = AssistantMessage(content=(ToolCall(id="c", name=tool.name),))
    batch = asyncio.run(ToolCallingManager().run(asked, [tool]))
    assert batch.results[0].is_error
    assert "no result within 0.01 s" in batch.results[0].text


SECURE = document(
    {"/x/{id}": {"get": operation(parameter("id", "path"))}},
    components={
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "query": {"type": "apiKey", "in": "query", "name": "key"},
            "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
        }
    },
    security=[{"key": [], "query": [], "cookie": []}],
)
ENVIRONMENT = {"PETS_KEY": "s3cr3t-aaaa", "PETS_QUERY": "s3cr3t-bb/b+", "PETS_COOKIE": "s3cr3t-cccc"}


def secure(transport: httpx.AsyncBaseTransport, **settings: Any) -> Tool:
    return only_tool(SECURE, transport, environment=ENVIRONMENT, **settings)


def test_schemes_that_go_together_are_sent_together() -> None:
    recorder = Recorder()
    call(secure(recorder), {"id": "7"})
    sent = recorder.last
    assert sent.headers["X-Key"] == "s3cr3t-aaaa"
    assert sent.url.params["key"] == "s3cr3t-bb/b+"
    assert sent.headers["Cookie"] == "sid=s3cr3t-cccc"


class Repeating(httpx.AsyncBaseTransport):
    """Answers with everything that it was sent, plain and as an error."""

    def __init__(self, status: int) -> None:
        self.status = status

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        told = {"url": str(request.url), "headers": dict(request.headers)}
        return httpx.Response(self.status, json=told)


@pytest.mark.parametrize(
    "transport",
    [Repeating(200), Repeating(401), Failing(httpx.ReadError("at ?key=s3cr3t-bb%2Fb%2B with s3cr3t-aaaa"))],
    ids=["200", "401", "broken"],
)
def test_no_secret_and_no_argument_is_told(
    transport: httpx.AsyncBaseTransport, caplog: pytest.LogCaptureFixture
) -> None:
    """(E168)"""
    source = OpenApiSource(SECURE, transport=transport, environment=ENVIRONMENT)
    (tool,) = source.list_tools()
    with caplog.at_level(logging.DEBUG):
        result = call(tool, {"id": "private-id"})
    logged = "\n".join(record.getMessage() for record in caplog.records)
    assert "/v1/x/{id}" in logged or isinstance(transport, Failing)
    assert "private-id" not in logged
    told = [repr(result), str(result.structured), logged, repr(source), repr(tool), str(tool.definition)]
    for secret in ("s3cr3t-aaaa", "s3cr3t-bb", "s3cr3t-cccc"):
        assert [text for text in told if secret in text] == []


def test_a_bad_credential_is_not_shown() -> None:
    environment = {**ENVIRONMENT, "PETS_KEY": "s3cr3t\r\nX-Evil: 1"}
    result = call(only_tool(SECURE, Recorder(), environment=environment), {"id": "1"})
    assert result.is_error
    assert "PETS_KEY" in text_of(result)
    assert "s3cr3t" not in text_of(result)


def test_a_redirect_is_followed_where_its_host_is_allowed_but_without_credentials() -> None:
    recorder = Recorder(httpx.Response(302, headers={"Location": "https://files.example.org/y?z=1"}))
    result = call(secure(recorder, allow_hosts=["files.example.org"]), {"id": "1"})
    assert result.structured == {"ok": True}
    assert str(recorder.last.url) == "https://files.example.org/y?z=1"
    assert {"X-Key", "Cookie", "Authorization"}.isdisjoint(map(str, recorder.last.headers))
    assert "s3cr3t" not in str(recorder.last.headers.raw)


def test_a_redirect_to_the_same_host_keeps_credentials() -> None:
    recorder = Recorder(httpx.Response(307, headers={"Location": "/v1/y"}))
    call(secure(recorder), {"id": "1"})
    assert str(recorder.last.url) == "https://api.example.com/v1/y"
    assert (recorder.last.headers["X-Key"], recorder.last.headers["Cookie"]) == (
        "s3cr3t-aaaa",
        "sid=s3cr3t-cccc",
    )


@pytest.mark.parametrize(
    "location",
    ["https://evil.example.org/", "http://169.254.169.254/latest/", "https://api.example.com:8443/"],
)
def test_a_redirect_to_another_host_is_refused(location: str) -> None:
    """(E165)"""
    recorder = Recorder(httpx.Response(302, headers={"Location": location}))
    result = call(secure(recorder), {"id": "1"})
    assert result.is_error
    assert "Nothing was sent to" in text_of(result)
    assert len(recorder.requests) == 1


def test_redirects_without_end_have_one() -> None:
    recorder = Recorder(*(httpx.Response(302, headers={"Location": "/v1/x"}) for _ in range(20)))
    result = call(only_tool(GET, recorder))
    assert "a redirect that was not followed" in text_of(result)
    assert len(recorder.requests) == 6


def test_cookies_of_an_answer_are_not_kept() -> None:
    recorder = Recorder(httpx.Response(200, headers={"Set-Cookie": "sid=other; Path=/"}, json={}))
    tool = only_tool(GET, recorder)

    async def twice() -> None:
        assert tool.call is not None
        for _ in range(2):
            await tool.call({}, None)  # type: ignore[arg-type]

    asyncio.run(twice())
    assert "Cookie" not in recorder.last.headers


def test_a_server_on_this_machine_is_asked_only_where_somebody_in_charge_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(E165)"""

    async def no_connection(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("something was connected to")

    monkeypatch.setattr("anyio.connect_tcp", no_connection)
    inside = document({"/x": {"get": {}}}, servers=[{"url": "http://127.0.0.1:9"}])
    result = call(only_tool(inside))
    assert result.is_error
    assert "127.0.0.1 is not public" in text_of(result)


def test_a_named_server_is_asked_in_place_of_those_of_the_document() -> None:
    recorder = Recorder()
    call(only_tool(GET, recorder, server="http://localhost:8000/base/"))
    assert str(recorder.last.url) == "http://localhost:8000/base/x"


def test_server_variables_have_defaults_and_may_be_set() -> None:
    region = {"default": "eu", "enum": ["eu", "us"]}
    servers = [
        {
            "url": "https://{region}.example.com/{base}",
            "variables": {"region": region, "base": {"default": "v1"}},
        }
    ]
    value = document({"/x": {"get": {}}}, servers=servers)
    recorder = Recorder()
    call(only_tool(value, recorder))
    call(only_tool(value, recorder, variables={"region": "us"}))
    assert [str(each.url) for each in recorder.requests] == [
        "https://eu.example.com/v1/x",
        "https://us.example.com/v1/x",
    ]
    with pytest.raises(ValueError, match="takes no 'region' of 'mars'"):
        OpenApiSource(value, variables={"region": "mars"})
    with pytest.raises(TypeError, match="no server variable 'regio'"):
        OpenApiSource(value, variables={"regio": "eu"})


def test_the_server_of_an_operation_goes_first() -> None:
    own = {"servers": [{"url": "https://own.example.com"}]}
    recorder = Recorder()
    call(
        only_tool(document({"/x": {"get": own, "servers": [{"url": "https://path.example.com"}]}}), recorder)
    )
    assert str(recorder.last.url) == "https://own.example.com/x"


def test_a_document_without_a_host_needs_a_server() -> None:
    value = document({"/x": {"get": {}}}, servers=[{"url": "/v1"}])
    with pytest.raises(ValueError, match="no server with a host"):
        OpenApiSource(value)
    recorder = Recorder()
    (tool,) = OpenApiSource(
        value, base="https://docs.example.com/a/openapi.json", transport=recorder
    ).list_tools()
    call(tool)
    assert str(recorder.last.url) == "https://docs.example.com/v1/x"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"max_result_bytes": True}, "max_result_bytes is True"),
        ({"credentials": {"kee": "X"}}, "no security scheme 'kee'. Did you mean 'key'"),
        ({"server": "localhost"}, "no http or https URL"),
        ({"allow_hosts": "x.org"}, "is the text 'x.org'"),
        ({"allow_private": ["http://x"]}, "names no host"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises((TypeError, ValueError), match=problem):
        OpenApiSource(SECURE, **settings)


def test_the_first_way_in_that_there_are_credentials_for_is_taken() -> None:
    schemes = {name: {"type": "apiKey", "in": "header", "name": name} for name in ("A", "B")}
    digest = {"digest": {"type": "http", "scheme": "digest"}}

    def sent(security: list[JsonObject], environment: dict[str, str]) -> Any:
        recorder = Recorder()
        value = document(
            {"/x": {"get": {"security": security}}}, components={"securitySchemes": {**schemes, **digest}}
        )
        result = call(only_tool(value, recorder, environment=environment))
        headers = recorder.requests[0].headers if recorder.requests else {}
        return text_of(result) if result.is_error else {name for name in "AB" if name in headers}

    either: list[JsonObject] = [{"digest": []}, {"A": []}, {"B": []}]
    assert sent(either, {"PETS_A": "a", "PETS_B": "b"}) == {"A"}
    assert sent(either, {"PETS_B": "b"}) == {"B"}
    assert sent([{"A": [], "B": []}], {"PETS_A": "a"}).endswith("variable PETS_B.")
    assert sent([{"A": []}, {}], {}) == set()
    assert sent([{}, {"A": []}], {"PETS_A": "a"}) == {"A"}
    assert sent([], {}) == set()
    assert "cannot be used here" in sent([{"digest": []}], {})
    assert sent(either, {}).endswith("Set the environment variable PETS_A, or PETS_B.")


def test_what_the_program_wants_sent_is_sent_with_every_request() -> None:
    recorder = Recorder()
    call(only_tool(GET, recorder, headers={"X-Team": "a", "User-Agent": "mine"}))
    assert (recorder.last.headers["X-Team"], recorder.last.headers["User-Agent"]) == ("a", "mine")


def test_a_file_and_a_text_can_be_the_whole_body() -> None:
    recorder = Recorder()

    def sent(media_type: str, value: str, schema: JsonObject) -> tuple[bytes, str]:
        body = {"content": {media_type: {"schema": schema}}, "required": True}
        call(only_tool(document({"/x": {"put": {"requestBody": body}}}), recorder), {"body": value})
        return recorder.last.content, recorder.last.headers["Content-Type"]

    binary = {"type": "string", "format": "binary"}
    assert sent("application/octet-stream", "AP8=", binary) == (b"\x00\xff", "application/octet-stream")
    assert sent("image/png", "AP8=\n", {}) == (b"\x00\xff", "image/png")
    assert sent("text/csv", "a,ä", {"type": "string"}) == ("a,ä".encode(), "text/csv; charset=utf-8")
    assert sent("application/xml", "<a/>", {"type": "object"}) == (b"<a/>", "application/xml; charset=utf-8")
    assert sent("application/merge-patch+json", "x", {}) == (b'"x"', "application/merge-patch+json")


def test_a_key_that_is_also_a_parameter_is_no_argument() -> None:
    listed = operation(parameter("id", "path"), parameter("x-key", "header"), parameter("key", "query"))
    value = {**SECURE, "paths": {"/x/{id}": {"get": listed}}}
    assert list(only_tool(value).input_schema["properties"]) == ["id"]


def test_structured_is_the_json_that_the_text_is() -> None:
    result = call(secure(Repeating(200)), {"id": "1"})
    assert json.loads(text_of(result)) == result.structured
    assert result.structured["headers"]["x-key"] == "***"
