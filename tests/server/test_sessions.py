"""Sessions, and calls of tools."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch.formats import FORMATS, write_tools
from toolsearch.tools import Tool


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_the_list_of_a_session_grows_at_its_end_only(served: Served) -> None:
    """E153, E157."""
    before: list[Any] = []
    for query in ("send_email", "get_weather", "list_events"):
        body = {"arguments": {"queries": [query], "limit": 1}}
        served.http.post("/v1/sessions/s/search", json=body)
        texts = {served.http.get("/v1/sessions/s/tools").text for _ in range(2)}
        assert len(texts) == 1
        tools = json.loads(texts.pop())["tools"]
        assert tools[: len(before)] == before
        assert len(tools) == len(before) + (2 if not before else 1)
        before = tools
    bridged = served.http.get("/v1/sessions/s/tools", params={"delivery": "bridge"}).json()["tools"]
    assert [tool["function"]["name"] for tool in bridged] == ["tool_search", "call_tool"]


def test_sessions_are_forgotten_in_the_end() -> None:
    """E155."""
    with service(max_sessions=3) as served:
        for n in range(5):
            served.http.post(f"/v1/sessions/s{n}/load", json={"names": ["web__search"]})
        kept = [served.http.get(f"/v1/sessions/s{n}").json()["discovered"] for n in range(5)]
        assert kept == [[], [], ["web__search"], ["web__search"], ["web__search"]]


def test_a_bad_call_of_the_search_is_told_to_the_model(served: Served) -> None:
    """E117, E119."""
    for arguments in ({"queries": "mail", "limit": 0}, {"queries": "  "}, {"queries": None}, {"q": 1}, {}):
        result = served.http.post("/v1/sessions/s/search", json={"arguments": arguments}).json()
        assert (result["is_error"], result["discovered"]) == (True, [])
    assert served.http.get("/v1/sessions/s").json()["discovered"] == []


def test_a_tool_that_is_gone_is_no_longer_sent(served: Served) -> None:
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search", "geo__get_weather"]})
    served.http.delete("/v1/tools/web__search")
    assert served.http.get("/v1/sessions/s").json()["discovered"] == ["geo__get_weather"]


def shout(text: str) -> Tool:
    async def call(arguments: dict[str, Any], context: Any) -> str:
        return f"{arguments['what']}{text} for {context.tenant or 'nobody'} in {context.session_id or '-'}"

    return Tool(raw_name="shout", description="Shout something.", call=call)


def test_without_tools_to_call_there_is_no_calling(served: Served) -> None:
    assert served.http.post("/v1/calls", json={"name": "web__search"}).status_code == 404


def test_a_tool_that_was_given_can_be_called() -> None:
    from toolsearch.api.scopes import KeyScope

    tool = shout("!")
    with service((*OFFICE, tool), callable_tools=(tool,)) as served:
        done = served.http.post("/v1/calls", json={"name": "shout", "arguments": {"what": "Hey"}})
        assert done.json() == {"text": "Hey! for nobody in -", "is_error": False, "structured": None}
        failed = served.http.post("/v1/calls", json={"name": "shout", "arguments": {}})
        assert (failed.status_code, failed.json()["is_error"]) == (200, True)
        unknown = served.http.post("/v1/calls", json={"name": "web__search"})
        assert unknown.status_code == 409
        assert "nothing to run the tool 'web__search' with" in unknown.json()["detail"]
        body = {"name": "shout", "arguments": {"what": "Hey"}, "session_id": "s"}
        early = served.http.post("/v1/calls", json=body)
        assert (early.status_code, early.json()["type"]) == (409, "urn:toolsearch:problem:not-callable")
        assert "has not discovered the tool 'shout'" in early.json()["detail"]
        served.http.post("/v1/sessions/s/load", json={"names": ["shout"]})
        assert served.http.post("/v1/calls", json=body).json()["text"] == "Hey! for nobody in s"
        assert served.http.get("/v1/usage").json()["total"]["calls"] == 3
        blind = served.as_key(served.key(KeyScope.CALL, deny=("shout",)))
        assert blind.post("/v1/calls", json={"name": "shout"}).status_code == 404
        seeing = served.as_key(served.key(KeyScope.SEARCH))
        assert seeing.post("/v1/calls", json={"name": "shout"}).status_code == 403


def test_a_tool_to_call_that_the_catalog_lacks_is_named_at_the_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stranger = shout("!")
    with service(OFFICE, callable_tools=(stranger, OFFICE[0])) as served:
        assert served.http.post("/v1/calls", json={"name": "shout"}).status_code == 404
    told = [record.getMessage() for record in caplog.records if "nobody finds" in record.getMessage()]
    assert len(told) == 1
    assert "shout" in told[0]
    assert OFFICE[0].name not in told[0]


def test_a_session_begins_under_any_id_or_one_of_the_service(served: Served) -> None:
    given = served.http.post("/v1/sessions", json={"id": "ticket-1"})
    assert (given.status_code, given.headers["location"]) == (201, "/v1/sessions/ticket-1")
    made = [served.http.post("/v1/sessions").json()["id"] for _ in range(2)]
    assert len({*made}) == 2
    for bad in ("", "a b", "ä", "a" * 129, ".", "..", ".a"):
        assert served.http.post("/v1/sessions", json={"id": bad}).status_code == 422


def test_tools_are_written_in_every_form(served: Served) -> None:
    """As `write_tools` writes them; lists of MCP have public names (tests/server/test_parameters.py)."""
    tools = [tool for tool in OFFICE if tool.name == "web__search"]
    for form in FORMATS.keys() - {"mcp"}:
        body = {"names": ["web__search"], "form": form}
        assert served.http.post("/v1/render", json=body).json()["tools"] == write_tools(tools, form)
    assert served.http.post("/v1/render", json={"names": ["web__search"], "form": "no"}).status_code == 422
    assert served.http.post("/v1/render", json={}).status_code == 400


def test_what_a_session_sends_can_be_written_in_any_form(served: Served) -> None:
    served.http.post("/v1/sessions/s/load", json={"names": ["web__search"]})
    written = served.http.post("/v1/render", json={"session_id": "s", "form": "anthropic"}).json()
    shown = served.http.get("/v1/sessions/s/tools", params={"form": "anthropic"}).json()
    assert written["tools"] == shown["tools"]
    assert [tool["name"] for tool in shown["tools"]] == ["tool_search", "web__search"]
