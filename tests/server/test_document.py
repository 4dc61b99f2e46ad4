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

from tests.retrieval.support import OFFICE
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


WRITES = {"post", "put", "patch", "delete"}
OPEN = {"/", "/healthz", "/readyz"}
NEVER_KEPT = {"search", "search_batch", "render", "create_key", "delete_key", "call_tool"}


def test_every_path_says_whether_it_takes_a_key(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    served.key()  # from now on a key is needed
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation["security"] == ([] if path in OPEN else [{"key": []}]), (method, path)
            status = served.http.request(method, path.replace("{", "").replace("}", "")).status_code
            assert (status == 401) == bool(operation["security"]), (method, path)


def test_every_write_says_whether_it_takes_an_idempotency_key() -> None:
    with service(callable_tools=OFFICE) as served:
        document = served.http.get("/openapi.json").json()
    for path, method, operation in _operations(document):
        takes = method in WRITES and operation["operationId"] not in NEVER_KEPT
        assert ("Idempotency-Key" in _headers_taken(operation, document)) == takes, (method, path)
        for status, headers in _headers_given(operation, document).items():
            assert ("Idempotency-Replayed" in headers) == (takes and status[0] in "24"), (path, status)
            assert ("Retry-After" in headers) == (status in {"4XX", "5XX"}), (path, status)
            assert "X-Request-Id" in headers, (path, status)


def test_what_has_a_version_says_so(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    reads: set[str] = set()
    writes: set[str] = set()
    tags = {}
    for _, method, operation in _operations(document):
        taken, name = _headers_taken(operation, document), operation["operationId"]
        if "If-None-Match" in taken:
            (writes if method in WRITES else reads).add(name)
        assert ("If-Match" in taken) == (name in writes)
        tagged = {s for s, headers in _headers_given(operation, document).items() if "ETag" in headers}
        if tagged:
            tags[name] = tagged
    versioned = {"get_tool", "get_catalog", "get_definitions", "get_source"}
    assert reads == versioned | {"lint_catalog", "session_rounds"}
    of_tools = {"put_tool", "patch_tool", "delete_tool", "put_tools"}
    assert writes == of_tools | {"put_catalog", "put_source", "delete_source"}
    assert tags == {name: {"200", "304"} for name in reads} | {
        "put_tool": {"200", "201"},
        "patch_tool": {"200"},
        **{name: {"200"} for name in ("put_catalog", "put_source", "put_tools")},
    }


@pytest.mark.parametrize("accept", ["", "application/x-ndjson"])
def test_what_the_document_says_of_answers_is_so(served: Served, accept: str) -> None:
    """Each header and each form of an answer to an operation that the examples can carry out."""
    document = served.http.get("/openapi.json").json()
    values = {"name": "mail__send_email", "catalog": "default", "source": "mail", "session_id": "s"}
    seen = set()
    for path, method, operation in _operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        body = None if content is None else content.get("example") or _example(content["schema"], document)
        for again in range(2 if "Idempotency-Key" in _headers_taken(operation, document) else 1):
            if operation["operationId"] == "create_key":
                continue
            answer = served.http.request(
                method,
                path.format(**values, key_id="none"),
                json=body,
                headers={"Idempotency-Key": operation["operationId"], "Accept": accept or "*/*"},
            )
            status = str(answer.status_code)
            told = operation["responses"].get(status) or operation["responses"][f"{status[0]}XX"]
            kinds = told.get("content", {}) or {"": {}}
            assert answer.headers.get("content-type", "").partition(";")[0] in kinds, (method, path, status)
            known = {"ETag", "Retry-After", "Idempotency-Replayed", "X-Request-Id", "Location"}
            given = {header for header in known if header in answer.headers}
            assert given <= set(told["headers"]), (method, path, status)
            assert ("Idempotency-Replayed" in given) == bool(again), (method, path, status)
            seen |= given
    assert seen == {"ETag", "Idempotency-Replayed", "X-Request-Id", "Location"}


def test_probes_say_what_they_answer(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    for path, schema, says in (("/healthz", "Alive", "alive"), ("/readyz", "Ready", "ready")):
        content = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        assert content["schema"] == {"$ref": f"#/components/schemas/{schema}"}
        assert schemas[schema]["properties"]["status"]["const"] == says
        assert served.http.get(path).json() == {"status": says}
        head = served.http.head(path)
        assert (head.status_code, head.content) == (200, b"")


def _operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method, operation


def _headers_taken(operation: Any, document: Any) -> set[str]:
    parameters = [_pointed(each, document) for each in operation["parameters"]]
    return {each["name"] for each in parameters if each["in"] == "header"}


def _headers_given(operation: Any, document: Any) -> dict[str, set[str]]:
    """The names of the headers of each answer; that they are declared is checked."""
    for response in operation["responses"].values():
        assert all(_pointed(header, document)["schema"] for header in response["headers"].values())
    return {status: set(response["headers"]) for status, response in operation["responses"].items()}


def _pointed(value: Any, document: Any) -> Any:
    """What `value` refers to, or itself."""
    if "$ref" not in value:
        return value
    for part in value["$ref"].removeprefix("#/").split("/"):
        document = document[part]
    return document


def _example(schema: Any, document: Any) -> Any:
    known = _pointed(schema, document)
    if "anyOf" in known:
        return _example(known["anyOf"][0], document)
    return known["examples"][0]


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


def test_every_field_of_the_document_is_described_in_words_of_the_api(served: Served) -> None:
    document = served.http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert len(schemas) > 30
    for name, schema in schemas.items():
        assert schema["description"], name
        for field, told in schema.get("properties", {}).items():
            assert told.get("description"), (name, field)
    words = json.dumps(schemas)
    for word in ("toolsearch.", "Attributes:", "``", " None ", "None.", "None for"):
        assert word not in words, word
    assert "`toolsearch." not in json.dumps(document)


def test_queries_are_documented_as_one_text_or_several(served: Served) -> None:
    schemas = served.http.get("/openapi.json").json()["components"]["schemas"]
    queries = schemas["SearchQuery"]["properties"]["queries"]
    assert [kind["type"] for kind in queries["anyOf"]] == ["string", "array"]
    assert queries["anyOf"][1]["minItems"] == 1
    assert queries["description"].startswith("One to 16 texts, or one text.")
    assert schemas["SearchAnswer"]["properties"]["near"]["description"].startswith("Public names")
