"""What a key may not know of, it does not change either, by a tool of the same public name or otherwise."""

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, service
from toolsearch.api.scopes import KeyScope
from toolsearch.retrieval.base import SearchRequest
from toolsearch.server.changes import change
from toolsearch.server.visible import Visible
from toolsearch.tools import JsonObject, Tool, ToolContext

TOOLS = (
    Tool(raw_name="send", source="mail", description="Send an email message."),
    Tool(raw_name="audit", source="law", description="Read the audit trail of all mail."),
    Tool(raw_name="erase", source="disk", description="Erase a volume."),
)
# A definition may say what its public name begins with.
MAIL = ({"sources": ("mail",)}, "law__audit", {"name": "audit", "server": "mail", "prefix": "law"})
FILES = ({"allow": ("files/*",)}, "disk__erase", {"name": "erase", "server": "files", "prefix": "disk"})
CASES = pytest.mark.parametrize(("rule", "name", "body"), [MAIL, FILES], ids=["sources", "globs"])


@pytest.fixture
def served() -> Iterator[Served]:
    with service(TOOLS, callable_tools=(_runs("audit", "law"),)) as served:
        yield served


def _runs(name: str, source: str) -> Tool:
    async def run(arguments: JsonObject, context: ToolContext) -> str:
        del arguments, context
        return "it ran"

    return Tool(raw_name=name, source=source, call=run)


def _told(response: Any, name: str) -> tuple[int, str]:
    problem = response.json()
    return response.status_code, str(problem["detail"]).replace(name, "NAME")


@CASES
def test_a_hidden_tool_is_not_overwritten_by_a_permitted_one_of_its_name(
    served: Served, rule: Any, name: str, body: Any
) -> None:
    whole, part = served.as_key(served.key(*KeyScope)), served.as_key(served.key(KeyScope.MANAGE, **rule))
    before = whole.get(f"/v1/tools/{name}").json()
    other = {"name": "z", "server": "other"}
    refused = _told(part.put("/v1/tools/other__z", json=other), "other__z")
    assert refused == (403, "This key may not change the tool 'NAME'.")
    assert _told(part.put(f"/v1/tools/{name}", json=body), name) == refused
    assert _told(part.post("/v1/tools/bulk", json=[body]), name) == refused
    assert _told(part.put(f"/v1/sources/{body['server']}", json=[body]), name) == refused
    assert _told(part.put("/v1/catalogs/default/tools", json=[body]), name) == refused
    lines = part.post("/v1/tools/bulk", json=[body], headers={"Accept": "application/x-ndjson"}).text
    assert "403" in lines.splitlines()[-1]
    assert part.patch(f"/v1/tools/{name}", json={"title": "x"}).status_code == 404
    assert part.delete(f"/v1/tools/{name}").status_code == 404
    assert whole.get(f"/v1/tools/{name}").json() == before
    assert whole.get("/v1/tools").json()["total"] == len(TOOLS)


@CASES
def test_no_condition_tells_what_a_hidden_tool_holds(served: Served, rule: Any, name: str, body: Any) -> None:
    whole, part = served.as_key(served.key(*KeyScope)), served.as_key(served.key(KeyScope.MANAGE, **rule))
    version = whole.get(f"/v1/tools/{name}").headers["etag"]
    told = {
        _told(part.put(f"/v1/tools/{name}", json=body, headers=headers), name)
        for headers in ({}, {"If-Match": version}, {"If-Match": '"x"'}, {"If-None-Match": "*"})
    }
    assert told == {(403, "This key may not change the tool 'NAME'.")}


def test_a_name_that_is_free_can_be_put_and_put_again(served: Served) -> None:
    part = served.as_key(served.key(KeyScope.MANAGE, sources=("mail",)))
    body = {"name": "find", "server": "mail"}
    assert part.put("/v1/tools/mail__find", json=body).status_code == 201
    assert part.put("/v1/tools/mail__find", json={**body, "title": "Find"}).status_code == 200
    report = part.post("/v1/tools/bulk", json=[body, {"name": "send", "server": "mail"}]).json()
    assert (report["added"], report["changed"]) == (0, 2)


def test_a_refused_write_is_refused_again_under_its_idempotency_key_and_to_its_own_key_alone(
    served: Served,
) -> None:
    rule, name, body = MAIL
    part = served.as_key(served.key(KeyScope.MANAGE, tenant="acme", **rule))
    whole = served.as_key(served.key(KeyScope.MANAGE, tenant="acme"))
    put: Any = {"url": f"/v1/tools/{name}", "json": body, "headers": {"Idempotency-Key": "k"}}
    first, second = part.put(**put), part.put(**put)
    assert (first.status_code, second.status_code) == (403, 403)
    assert second.headers["idempotency-replayed"] == "true"
    replaced = whole.put(**put)
    assert (replaced.status_code, "idempotency-replayed" in replaced.headers) == (200, False)


def test_a_tool_of_another_source_does_not_run_under_a_name_that_a_key_has_put() -> None:
    """Of the tools that can be run the catalog lacks one; its name is put as that of a permitted tool."""
    hidden = _runs("erase", "disk")
    with service(TOOLS[:1], callable_tools=(hidden,)) as served:
        part = served.as_key(served.key(KeyScope.MANAGE, KeyScope.CALL, allow=("files/*",)))
        assert part.put("/v1/tools/disk__erase", json=FILES[2]).status_code == 201
        call = part.post("/v1/calls", json={"name": "disk__erase", "arguments": {}})
        assert (call.status_code, "it ran" in call.text) == (409, False)
        whole = served.as_key(served.key(KeyScope.CALL))
        assert (
            whole.post("/v1/calls", json={"name": "disk__erase", "arguments": {}}).json()["text"] == "it ran"
        )


def test_nothing_else_takes_a_hidden_name_either(served: Served) -> None:
    """Feedback, sessions, pins, lint and calls: answered like a name that does not exist."""
    part = served.as_key(served.key(KeyScope.SEARCH, KeyScope.CALL, sources=("mail",)))
    asked: list[tuple[str, str, Any]] = [
        ("POST", "/v1/feedback", {"tool": "NAME", "outcome": "called"}),
        ("POST", "/v1/sessions/s/load", {"names": ["NAME"]}),
        ("POST", "/v1/render", {"names": ["NAME"]}),
        ("POST", "/v1/calls", {"name": "NAME", "arguments": {}}),
    ]
    for method, path, body in asked:
        told = set()
        for name in ("law__audit", "law__absnt"):
            filled = {key: [name] if value == ["NAME"] else value for key, value in body.items()}
            filled = {key: name if value == "NAME" else value for key, value in filled.items()}
            told.add(_told(part.request(method, path, json=filled), name))
        assert len(told) == 1, told
        assert told.pop()[0] == 404
    for path in ("/v1/usage/pins", "/v1/catalogs/default/lint", "/v1/sessions/s/rounds", "/v1/feedback"):
        assert "audit" not in part.get(path).text
    assert part.get("/v1/catalogs/default/lint", params={"tool": "law__audit"}).json()["total"] == 0


def test_scores_tell_nothing_of_hidden_tools() -> None:
    """Neither how many of them hold a word, nor how long they are, nor that one has a name."""
    answers = []
    for n_hidden in (0, 1, 20):
        hidden = (
            Tool(
                raw_name=f"plan_{i}", source="law", description="Plan the acquisition. " + "Long words. " * i
            )
            for i in range(n_hidden)
        )
        namesake = (Tool(raw_name="SEND", source="law"),) if n_hidden else ()
        own = Tool(raw_name="probe", source="mail", description="An acquisition.")
        with service((*TOOLS, own, *hidden, *namesake)) as served:
            client = served.as_key(served.key(KeyScope.SEARCH, sources=("mail",)))
            queries = ("acquisition", "SEND", "send a message about it", "select:SEND")
            searches = [{"queries": query, "explain": True} for query in queries]
            items = client.post("/v1/search/batch", json={"searches": searches}).json()["items"]
            for item in items:
                item["answer"].pop("took_ms")
                item["answer"].pop("timings_ms")
            answers.append(items)
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][0]["answer"]["hits"][0]["channels"]["lexical"] > 0


@pytest.mark.parametrize("path", ["/v1/search", "/v1/search/batch"])
def test_a_search_tells_nothing_of_what_is_put_while_it_begins(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool that the key may not know of takes the name of one that it may know of."""
    seen = Tool(raw_name="erase", source="disk", description="Erase a disk.")
    hidden = Tool(raw_name="erase", source="files", prefix="disk", description="s3cr3t: erase a disk.")
    assert seen.name == hidden.name
    with service((TOOLS[0], seen)) as served:
        part = served.as_key(served.key(sources=("disk",)))
        narrowed = Visible.narrowed

        def put_then(self: Visible, request: SearchRequest) -> tuple[SearchRequest, list[str]]:
            answer = narrowed(self, request)
            served.app.state.service.catalog.change(change((hidden,)))
            return answer

        monkeypatch.setattr(Visible, "narrowed", put_then)
        search = {"queries": "erase a disk"}
        answer = part.post(path, json=search if path == "/v1/search" else {"searches": [search]})
        assert answer.status_code == 200
        assert "Erase a disk." in answer.text
        assert "s3cr3t" not in answer.text
