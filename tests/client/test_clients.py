"""Both clients over HTTP on this machine."""

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import OFFICE_NAMES, Served, service
from toolsearch import AsyncClient, Client
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.api.search import SearchQuery
from toolsearch.exceptions import ServiceError, ServiceUnreachableError
from toolsearch.http.retries import RetryPolicy

PING = {"name": "ping", "server": "net", "description": "Ping a host."}


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_a_search_has_typed_results(served: Served) -> None:
    with Client(served.url) as client:
        found = client.search("send an email", k=2, explain=True)
        assert found.names[0] == "mail__send_email"
        assert found.hits[0].score > found.hits[1].score
        assert found == client.search(SearchQuery(queries=("send an email",), k=2, explain=True)).model_copy(
            update={"took_ms": found.took_ms, "timings_ms": found.timings_ms}
        )


def test_a_batch_of_texts_and_queries(served: Served) -> None:
    with Client(served.url) as client:
        first, second = client.search_batch(["weather", SearchQuery(queries=("send_email",), k=1)]).items
        assert first.answer is not None
        assert second.answer is not None
        assert "geo__get_weather" in first.answer.names
        assert second.answer.names == ("mail__send_email",)


def test_a_tool_comes_and_goes(served: Served) -> None:
    with Client(served.url) as client:
        made = client.put_tool("net__ping", PING)
        assert client.search("ping a host").names[0] == "net__ping"
        patched = client.patch_tool("net__ping", {"tags": ["network"]}, if_match=made.digest)
        assert client.get_tool("net__ping") == patched
        assert patched.definition["tags"] == ["network"]
        with pytest.raises(ServiceError) as caught:
            client.delete_tool("net__ping", if_match=made.digest)
        assert (caught.value.status, caught.value.problem) == (412, "precondition-failed")
        client.delete_tool("net__ping", if_match=patched.digest)
        assert [entry.name for entry in client.all_tools()] == OFFICE_NAMES


def test_many_tools_at_once(served: Served) -> None:
    with Client(served.url) as client:
        report = client.put_tools([{**PING, "name": f"ping{n}"} for n in range(3)], source="other")
        assert (report.added, report.changed, report.unchanged) == (3, 0, 0)
        assert client.get_source("net").tools == 3
        assert client.put_source("net", [PING]).removed == 3
        client.delete_source("net")
        assert "net" not in [source.name for source in client.list_sources().sources]
        catalog = client.get_catalog()
        report = client.put_catalog([PING], if_match=catalog.fingerprint)
        assert (report.added, report.removed) == (1, len(OFFICE_NAMES))
        assert client.get_definitions("mcp").tools["tools"][0]["name"] == "net__ping"


@pytest.mark.parametrize("source", [".", "..", "a/..", "%2E", "ä b?c#d"])
def test_a_source_is_reached_whatever_its_name(served: Served, source: str) -> None:
    with Client(served.url) as client:
        assert client.put_source(source, [{"name": "ping", "description": "Ping a host."}]).added == 1
        assert client.get_source(source).name == source
        client.delete_source(source)
        assert client.list_tools(source=source).tools == ()


def test_a_conversation(served: Served) -> None:
    with Client(served.url) as client:
        session = client.create_session("s1")
        first = client.session_tools(session.id, "anthropic")
        assert [tool["name"] for tool in first.tools] == ["tool_search"]
        result = client.session_search(session.id, {"queries": ["send_email"], "limit": 1})
        assert result.discovered == ("mail__send_email",)
        assert "mail__send_email" in result.text
        second = client.session_tools(session.id, "anthropic")
        assert second.tools[: len(first.tools)] == first.tools
        assert client.load_tools("s1", ["web__search"]).discovered == ("mail__send_email", "web__search")
        receipt = client.session_receipt("s1")
        assert receipt.sent_tokens == sum(receipt.sent.values())
        assert receipt.catalog_tools == len(OFFICE_NAMES)
        assert client.forget_tools("s1", ["mail__send_email"]).discovered == ("web__search",)
        client.delete_session("s1")
        assert client.get_session("s1").discovered == ()
        assert client.render(["web__search"], "openai_chat").tools[0]["function"]["name"] == "web__search"


def test_what_is_there_to_look_at(served: Served) -> None:
    with Client(served.url) as client:
        client.session_tools("s1", "anthropic")
        client.session_search("s1", {"queries": ["send_email"], "limit": 1})
        (session,) = client.list_sessions().sessions
        assert (session.id, session.rounds, session.searches) == ("s1", 1, 1)
        (seen,) = client.session_rounds("s1").rounds
        assert (seen.tools, seen.events[0].tools) == (("tool_search",), ("mail__send_email",))
        page = client.lint_catalog(severity="info", self_retrieval=True)
        assert {finding.severity for finding in page.findings} <= {"info"}
        assert page.tools == len(OFFICE_NAMES)
        assert {tag.name for tag in client.list_tags().tags} == {tag for t in OFFICE for tag in t.tags}
        assert client.list_tools(text="send_email").tools[0].name == "mail__send_email"


def test_feedback_and_usage(served: Served) -> None:
    with Client(served.url) as client:
        given = client.give_feedback("web__search", "succeeded", query="look it up", session_id="s1")
        assert client.list_feedback().feedback == (given,)
        client.search("weather")
        usage = client.get_usage()
        assert usage.total.searches == 1
        assert usage.total.spared_tokens > 0


def test_keys(served: Served) -> None:
    with Client(served.url) as client:
        assert client.is_ready()
        admin = client.create_key(NewKey(name="admin", scopes=frozenset({KeyScope.ADMIN})))
        with pytest.raises(ServiceError) as caught:
            client.search("mail")
        assert (caught.value.status, caught.value.problem) == (401, "access-denied")
    with Client(served.url, api_key=admin.secret) as client:
        assert admin.secret not in repr(client) + repr(admin)
        other = client.create_key(NewKey(name="mail only", sources=("mail",)))
        assert [key.name for key in client.list_keys().keys] == ["admin", "mail only"]
        with Client(served.url, api_key=other.secret) as restricted:
            assert restricted.get_catalog().sources == ("mail",)
        client.delete_key(other.key)
        assert [key.name for key in client.list_keys().keys] == ["admin"]


def test_the_awaited_client_does_the_same(served: Served) -> None:
    async def talk() -> None:
        async with AsyncClient(served.url) as client:
            assert await client.is_ready()
            found = await asyncio.gather(*(client.search(query) for query in ("send_email", "get_weather")))
            assert [answer.names[0] for answer in found] == ["mail__send_email", "geo__get_weather"]
            await client.put_tool("net__ping", PING)
            names = [entry.name async for entry in client.all_tools(source="net")]
            assert names == ["net__ping"]
            await client.load_tools("s", names)
            assert (await client.get_session("s")).discovered == ("net__ping",)
            with pytest.raises(ServiceError) as caught:
                await client.get_tool("net__pong")
            assert caught.value.facts["near"] == ["net__ping"]

    asyncio.run(talk())


def test_both_clients_have_the_same_methods() -> None:
    def methods(kind: type) -> dict[str, str]:
        return {
            name: str(inspect.signature(value)).replace("AsyncIterator", "Iterator")
            for name, value in vars(kind).items()
            if not name.startswith("_") and name not in {"close", "aclose"}
        }

    assert methods(Client) == methods(AsyncClient)


class Failing:
    """Answers with these, one after the other, and then with an empty session."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self.handle)

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = (
            self.answers.pop(0) if self.answers else httpx.Response(200, json={"id": "s", "discovered": []})
        )
        if isinstance(answer, Exception):
            raise answer
        return answer

    def client(self, **settings: Any) -> Client:
        return Client(transport=self.transport, retries=RetryPolicy(3, base_wait_s=0), **settings)


def test_a_write_that_may_have_got_through_is_sent_again_under_one_key() -> None:
    failing = Failing(httpx.ReadError("broke"), httpx.Response(503))
    with failing.client() as client:
        client.load_tools("s", ["a"])
    keys = {request.headers["idempotency-key"] for request in failing.requests}
    assert (len(failing.requests), len(keys)) == (3, 1)


def test_a_busy_service_is_given_up_in_the_end() -> None:
    failing = Failing(*[httpx.Response(429, headers={"retry-after": "0"}) for _ in range(3)])
    with failing.client() as client, pytest.raises(ServiceError) as caught:
        client.get_session("s")
    assert (caught.value.status, len(failing.requests)) == (429, 3)


def test_a_call_is_never_sent_twice() -> None:
    failing = Failing(httpx.ReadError("broke"))
    with failing.client() as client, pytest.raises(ServiceUnreachableError, match="broke"):
        client.call_tool("pay", {"amount": 1})
    assert len(failing.requests) == 1


def test_what_is_no_answer_of_the_service_is_an_error() -> None:
    for answer in (httpx.Response(200, text="<html>"), httpx.Response(200, json=[1])):
        with Failing(answer).client() as client, pytest.raises(ServiceError, match="another form"):
            client.get_session("s")
    with (
        Failing(httpx.Response(404, text="<html>")).client() as client,
        pytest.raises(ServiceError) as caught,
    ):
        client.get_session("s")
    assert (caught.value.status, caught.value.problem) == (404, "")


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(301, headers={"location": "https://elsewhere.example/"}),
        httpx.Response(302),
        httpx.Response(200, text="<html>Log in"),
    ],
)
def test_what_stands_in_front_of_the_service_has_not_carried_out_a_write(answer: httpx.Response) -> None:
    with Failing(answer).client() as client, pytest.raises(ServiceError) as caught:
        client.delete_tool("ping")
    assert caught.value.status == answer.status_code


def test_an_answer_that_cannot_be_unpacked_is_none() -> None:
    packed = {"content-encoding": "gzip"}
    answers = [httpx.Response(200, headers=packed, stream=httpx.ByteStream(b"no")) for _ in range(3)]
    with Failing(*answers).client() as client, pytest.raises(ServiceUnreachableError, match="DecodingError"):
        client.get_session("s")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_neither_a_key_that_cannot_be_sent_nor_a_password_is_shown(
    kind: type[Client] | type[AsyncClient],
) -> None:
    for key in ("s3cr3t\nkey", "s3cr3t\0", "s3cr3t-ü"):
        with pytest.raises(ValueError, match="api_key") as caught:
            kind(api_key=key)
        assert "s3cr3t" not in repr(caught.value)
    assert "s3cr3t" not in repr(kind("http://me:s3cr3t@127.0.0.1:9"))


def test_a_key_that_was_read_from_a_file_may_end_with_its_line() -> None:
    failing = Failing()
    with failing.client(api_key="s3cr3t-key\n") as client:
        client.get_session("s")
    assert failing.requests[0].headers["authorization"] == "Bearer s3cr3t-key"


def test_no_service_is_an_error() -> None:
    with Client("http://127.0.0.1:9", retries=RetryPolicy(1)) as client:
        assert not client.is_ready()
        with pytest.raises(ServiceUnreachableError):
            client.get_session("s")


def test_the_key_is_sent_and_shown_nowhere() -> None:
    failing = Failing(httpx.Response(500, text="no"))
    with failing.client(api_key="s3cr3t-key") as client:
        with pytest.raises(ServiceError) as caught:
            client.get_session("s")
        assert "s3cr3t" not in repr(client) + str(caught.value) + repr(caught.value)
    assert failing.requests[0].headers["authorization"] == "Bearer s3cr3t-key"
