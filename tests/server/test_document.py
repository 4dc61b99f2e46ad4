"""The OpenAPI document, and requests of any form."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_the_document_of_the_api_has_an_example_for_every_body(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["operationId"], (method, path)
            assert operation["summary"]
            assert "application/problem+json" in operation["responses"]["4XX"]["content"]
            for content in operation.get("requestBody", {}).get("content", {}).values():
                assert "example" in json.dumps(_resolved(content, document)), (method, path)


def _resolved(value: Any, document: Any) -> Any:
    """`value` with the schema that it refers to, one step deep."""
    schemas = document["components"]["schemas"]
    text = json.dumps(value)
    return [value, *(schema for name, schema in schemas.items() if f'schemas/{name}"' in text)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BODIES = (
    "/v1/search",
    "/v1/search/batch",
    "/v1/sessions",
    "/v1/sessions/s/search",
    "/v1/sessions/s/handle",
    "/v1/sessions/s/load",
    "/v1/sessions/s/forget",
    "/v1/render",
    "/v1/feedback",
    "/v1/tools/bulk",
)
FIELDS = (
    *("queries", "k", "names", "tool", "outcome", "arguments", "id", "searches", "name", "scopes", "form"),
    *("calls", "own", "delivery", "call_id"),
)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Served]:
    with service() as served:
        yield served


@given(
    path=st.sampled_from(BODIES),
    body=JSON | st.dictionaries(st.sampled_from(FIELDS), JSON, min_size=1),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_body_is_too_much_for_the_service(fuzzed: Served, path: str, body: Any) -> None:
    content = json.dumps(body).encode()
    response = fuzzed.http.post(path, content=content, headers={"Content-Type": "application/json"})
    assert response.status_code < 500, (path, body, response.text)
    response.json()


@given(
    call=JSON | st.dictionaries(st.sampled_from(("id", "call_id", "type", "function", "name", "input")), JSON)
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_call_of_a_model_is_too_much_for_the_service(fuzzed: Served, call: Any) -> None:
    body = {"form": "anthropic", "calls": [call], "delivery": "native"}
    for raw in (
        json.dumps(body),
        json.dumps({**body, "calls": [{"name": "\ud800", "input": {"\ud800": 1}}]}),
    ):
        headers = {"Content-Type": "application/json"}
        response = fuzzed.http.post("/v1/sessions/s/handle", content=raw.encode(), headers=headers)
        assert response.status_code < 500, (call, response.text)


@given(part=st.text(min_size=1, max_size=30), query=st.text(max_size=30))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_path_is_too_much_for_the_service(fuzzed: Served, part: str, query: str) -> None:
    for path in ("/v1/tools", "/v1/sessions", "/v1/sources", "/v1/catalogs"):
        for method in ("GET", "DELETE"):
            assert fuzzed.http.request(method, f"{path}/{quote(part, safe='')}").status_code < 500
    assert fuzzed.http.get("/v1/tools", params={"cursor": query, "tag": part}).status_code < 500


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_a_client_made_of_the_document_can_call_everything(served: Served) -> None:
    script = Path(__file__).parent / "openapi_client.mjs"
    done = subprocess.run(
        ["node", script, served.url], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    answers = {line["id"]: line for line in map(json.loads, done.stdout.splitlines())}
    # There is no such key, and the source has lost its only tool.
    refused = {name: line["status"] for name, line in answers.items() if line["status"] >= 400}
    assert refused == {"delete_key": 404, "delete_source": 404}
    assert answers["search"]["json"]["hits"] or answers["search"]["json"]["nothing_fits"]
    assert answers["put_tool"]["json"]["name"] == "mail__send_email"
    assert answers["delete_tool"]["status"] == 204
    assert answers["create_key"]["json"]["secret"].startswith("ts_")
