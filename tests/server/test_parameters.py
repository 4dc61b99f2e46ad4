"""Query parameters that there are not, and where things are."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service
from toolsearch import __version__
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with service() as served:
        yield served


@pytest.mark.parametrize(
    ("path", "name", "told"),
    [
        ("/v1/tools?limitt=3", "limitt", "Did you mean 'limit'?"),
        ("/v1/tools?zzzzzz=3", "zzzzzz", "There are 'cursor', 'limit', 'source', 'tag', 'text'."),
        ("/v1/sources?limit=3", "limit", "There are none."),
        ("/v1/tools?=3", "", "There are 'cursor', 'limit', 'source', 'tag', 'text'."),
        ("/v1/usage?from=2026-01-01", "from", "There are 'since', 'until'."),
    ],
)
def test_a_parameter_that_there_is_not_is_named_and_so_is_what_was_meant(
    served: Served, path: str, name: str, told: str
) -> None:
    response = served.http.get(path)
    problem = response.json()
    assert (response.status_code, problem["type"]) == (422, "urn:toolsearch:problem:invalid-request")
    assert problem["errors"] == [{"at": f"query.{name}", "problem": f"No such parameter. {told}"}]


def test_no_operation_takes_a_parameter_that_its_document_lacks(served: Served) -> None:
    """And each takes those that it has: a value that is none of theirs is refused by itself."""
    document = served.http.get("/openapi.json").json()
    asked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if not path.startswith("/v1/"):
                continue
            named = {each["name"] for each in operation.get("parameters", ()) if each.get("in") == "query"}
            url = path.replace("{catalog}", "default").replace("{", "").replace("}", "")
            body: Any = {} if "requestBody" in operation else None
            response = served.http.request(
                method, url, params={"qqqq": "x", **dict.fromkeys(named, "1")}, json=body
            )
            unknown = [
                fault["at"]
                for fault in response.json().get("errors", ())
                if fault["problem"].startswith("No such parameter")
            ]
            assert unknown == ["query.qqqq"], (method, path, response.text)
            asked += 1
    assert asked > 30


@pytest.mark.parametrize(
    "path", ["/healthz?x=1", "/readyz?x=1", "/metrics?x=1", "/ui?x=1", "/openapi.json?x=1"]
)
def test_what_is_no_operation_of_the_api_takes_any(served: Served, path: str) -> None:
    assert served.http.get(path, follow_redirects=True).status_code == 200


def test_the_root_says_where_things_are(served: Served) -> None:
    told = served.http.get("/").json()
    assert told == {"service": "toolsearch", "api": "/v1", "document": "/openapi.json", "page": "/ui"}
    for path in (told["document"], told["page"]):
        assert served.http.get(path, follow_redirects=True).status_code == 200
    with service(ui=False) as other:
        key = other.key()
        assert "page" not in other.http.get("/").json()
        assert other.http.get("/v1/tools").status_code == 401
        assert other.as_key(key).get("/").status_code == 200


def test_the_document_has_the_version_of_the_release(served: Served) -> None:
    assert served.http.get("/openapi.json").json()["info"]["version"] == __version__


def test_usage_begins_with_what_there_is_or_was_asked_for() -> None:
    with service() as served:
        meter = served.app.state.service.usage
        today = meter.today()
        assert served.http.get("/v1/usage").json()["total"]["day"] == f"{today}/{today}"
        meter._clock = lambda: 0.0
        meter.called("")
        asked = {"until": today}
        assert served.http.get("/v1/usage", params=asked).json()["total"]["day"] == f"1970-01-01/{today}"
        asked["since"] = "2026-01-01"
        assert served.http.get("/v1/usage", params=asked).json()["total"]["day"] == f"2026-01-01/{today}"


def test_a_list_of_mcp_has_public_names_as_servers_share_theirs() -> None:
    tools = tuple(Tool(raw_name="search", source=name, description=f"Search {name}.") for name in ("a", "b"))
    with service(tools, embedder=HashingEmbedder()) as served:
        whole = served.http.get("/v1/catalogs/default/tools", params={"form": "mcp"}).json()
        assert [tool["name"] for tool in whole["tools"]["tools"]] == ["a__search", "b__search"]
        found = served.http.post("/v1/search", json={"queries": "search", "k": 2, "form": "mcp"}).json()
        assert {tool["name"] for tool in found["tools"]["tools"]} == {"a__search", "b__search"}
        body = {"names": ["b__search", "a__search"], "form": "mcp"}
        rendered = served.http.post("/v1/render", json=body).json()
        assert [tool["name"] for tool in rendered["tools"]["tools"]] == ["b__search", "a__search"]
        served.http.post("/v1/sessions/s/load", json={"names": ["a__search", "b__search"]})
        sent = served.http.get("/v1/sessions/s/tools", params={"form": "mcp"}).json()
        assert [tool["name"] for tool in sent["tools"]["tools"]][-2:] == ["a__search", "b__search"]
