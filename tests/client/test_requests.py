"""The requests of each method of both clients, and the operations of the OpenAPI document."""

import asyncio
import inspect
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import service
from toolsearch import AsyncClient, Client
from toolsearch.api.keys import NewKey
from toolsearch.exceptions import ServiceError
from toolsearch.http.retries import RetryPolicy

OTHER_NAMES = {
    "is_ready": "ready",
    "is_alive": "health",
    "wait_until_ready": "ready",
    "all_tools": "list_tools",
}
NO_REQUESTS = {"close", "aclose", "send"}
NO_METHODS = {"index"}  # where things are, which a client knows
METHODS = sorted(name for name in vars(Client) if not name.startswith("_") and name not in NO_REQUESTS)
PING = {"name": "ping", "description": "Ping a host."}
# One value for each parameter, other than its default.
VALUES: dict[str, Any] = {
    "answer_calls": [{"id": "c1", "type": "function", "function": {"name": "ping", "arguments": "{}"}}],
    "arguments": {"queries": ["ping"]},
    "call_id": "c1",
    "catalog": "other",
    "code": "a-rule",
    "cursor": "bWFpbA",
    "days": 7,
    "definition": PING,
    "definitions": [PING],
    "delivery": "native",
    "form": "anthropic",
    "if_match": "abc",
    "key": "k1",
    "limit": 3,
    "name": "net__ping",
    "names": ["net__ping"],
    "new": NewKey(name="bot"),
    "outcome": "failed",
    "own": ["mine"],
    "patch": {"title": "Ping"},
    "query": "ping a host",
    "rounds": 4.0,
    "search_tokens": 50.0,
    "searches": ["ping", "mail"],
    "self_retrieval": True,
    "session_id": "s1",
    "severity": "info",
    "since": "2026-01-01",
    "source": "net",
    "tag": "network",
    "tenant": "acme",
    "text": "host",
    "timeout_s": 0.0,
    "tool": "net__ping",
    "until": "2026-01-31",
}


@dataclass(frozen=True)
class Sent:
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


def _arguments(name: str) -> dict[str, Any]:
    parameters = inspect.signature(getattr(Client, name)).parameters
    given = {key: VALUES[key] for key in parameters if key not in {"self", "options"}}
    return {**given, **({"k": 3, "explain": True} if "options" in parameters else {})}


class Recorder:
    """Refuses every request, and keeps it."""

    def __init__(self) -> None:
        self.requests: list[Sent] = []
        self.transport = httpx.MockTransport(self._refuse)
        self.retries = RetryPolicy(1)

    def _refuse(self, request: httpx.Request) -> httpx.Response:
        headers = dict(request.headers)
        keyed = headers.pop("idempotency-key", None)
        if keyed is not None:
            assert re.fullmatch("[0-9a-f]{32}", keyed)
            headers["idempotency-key"] = "given"
        self.requests.append(Sent(request.method, str(request.url), headers, request.content))
        return httpx.Response(404)


def _sent(name: str) -> list[Sent]:
    recorder = Recorder()
    with (
        Client(transport=recorder.transport, retries=recorder.retries, api_key="k") as client,
        suppress(ServiceError),
    ):
        result = getattr(client, name)(**_arguments(name))
        if inspect.isgenerator(result):
            next(result)
    return recorder.requests


def _awaited(name: str) -> list[Sent]:
    recorder = Recorder()

    async def ask() -> None:
        async with AsyncClient(transport=recorder.transport, retries=recorder.retries, api_key="k") as client:
            with suppress(ServiceError):
                result = getattr(client, name)(**_arguments(name))
                await (anext(result) if inspect.isasyncgen(result) else result)

    asyncio.run(ask())
    return recorder.requests


@pytest.mark.parametrize("name", METHODS)
def test_both_clients_send_the_same(name: str) -> None:
    (sent,) = _sent(name)
    assert _awaited(name) == [sent]
    assert sent.headers["authorization"] == "Bearer k"


def test_each_operation_of_the_document_has_a_method_that_asks_for_it() -> None:
    with service(callable_tools=OFFICE) as served:
        document = served.http.get("/openapi.json").json()
    operations = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert {OTHER_NAMES.get(name, name) for name in METHODS} == operations.keys() - NO_METHODS
    for name in METHODS:
        method, path = operations[OTHER_NAMES.get(name, name)]
        (sent,) = _sent(name)
        asked = httpx.URL(sent.url).path
        assert sent.method == method, name
        assert re.fullmatch(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)), asked), (name, asked)
        taken = {
            parameter["name"]
            for parameter in document["paths"][path][method.lower()].get("parameters", ())
            if parameter.get("in") == "query"
        }
        assert set(httpx.URL(sent.url).params) <= taken, name


def test_catalogs_and_metrics_are_there_to_look_at() -> None:
    with service() as served, Client(served.url) as client:
        assert client.is_alive()
        (catalog,) = client.list_catalogs().catalogs
        assert catalog == client.get_catalog()
        assert f"toolsearch_tools {len(OFFICE)}\n" in client.metrics()
