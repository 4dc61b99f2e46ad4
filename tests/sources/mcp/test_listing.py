"""What becomes of a server's list: broken tools, names, filters, changes."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.sources.mcp.support import a_tool, call, raw_names, scripted, servers, text_of, tools, until
from toolsearch import Catalog, CatalogSearcher, SearchRequest, ToolSearchSession, write_tools
from toolsearch.exceptions import McpConfigError
from toolsearch.formats import read_entries
from toolsearch.naming import PUBLIC_NAME
from toolsearch.sources.mcp.servers import McpServers
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool


def found(catalog: Catalog, query: str) -> list[str]:
    searcher = CatalogSearcher(catalog, HashingEmbedder())
    return [hit.name for hit in searcher.search(SearchRequest(queries=(query,), k=1)).hits]


def test_one_broken_tool_leaves_the_others_as_they_are() -> None:
    """E34"""
    broken = [a_tool("worse", inputSchema="oops"), {"name": ""}, "no tool"]
    listed = [a_tool("one"), {"name": "bare", "inputSchema": None}, a_tool("two"), *broken, a_tool("three")]
    with servers(a=scripted(listed)) as source:
        assert raw_names(source) == ["bare", "one", "three", "two"]
        assert text_of(call(source, "a", "three", {"x": 1})) == '{"x": 1}'
        named = [(issue.severity, issue.tool) for issue in source.issues]
        assert ("error", "worse") in named
        assert len(named) >= 3
        assert all("'a'" in issue.path for issue in source.issues)


def test_a_tool_without_arguments_is_an_object_with_properties() -> None:
    """E27, E32, E35"""
    degrees = {"type": "object", "properties": {"deg": {"type": "integer"}}}
    older = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {}}
    listed = [
        {"name": "now", "inputSchema": {"type": "object"}},
        {"name": "rotate_pdf", "description": None, "inputSchema": degrees},
        {"name": "old", "inputSchema": {**older, "required": None}},
    ]
    with servers(a=scripted(listed)) as source:
        assert source.catalog["a__now"].input_schema == {"type": "object", "properties": {}}
        assert text_of(call(source, "a", "now")) == "{}"
        assert found(source.catalog, "rotate a pdf") == ["a__rotate_pdf"]
        for written in write_tools(source.catalog, "anthropic"):
            assert isinstance(written["description"], str)
            assert "$schema" not in written["input_schema"]
            assert (
                written["input_schema"].get("required") is not None
                or "required" not in written["input_schema"]
            )


def test_references_of_a_schema_stay_whole() -> None:
    """E29"""
    schema = {
        "type": "object",
        "properties": {"o": {"$ref": "#/$defs/O", "description": "the order"}},
        "required": ["o"],
        "$defs": {"O": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    }
    with servers(a=scripted([a_tool("buy", inputSchema=schema)])) as source:
        kept = source.catalog["a__buy"].input_schema
        assert kept["properties"]["o"]["description"] == "the order"
        assert kept["$defs"]["O"]["properties"]["id"]["type"] == "integer"


def test_a_tool_is_called_by_the_name_that_its_server_knows() -> None:
    """E37; Spring AI 42"""
    listed = [a_tool("name"), a_tool("events.update")]
    with servers(cal=scripted(listed)) as source:
        (public,) = [tool.name for tool in source.catalog.values() if tool.raw_name == "events.update"]
        assert PUBLIC_NAME.fullmatch(public)
        assert text_of(call(source, "cal", "events.update", {"id": 1})) == '{"id": 1}'


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_one_name_on_two_servers_is_two_tools(order: tuple[str, str]) -> None:
    """E40; Spring AI 41"""
    entries = {name: scripted([a_tool("send_email", f"Send it by {name}."), a_tool("pid")]) for name in order}
    with servers(**entries) as source:
        emails = {tool.source: tool for tool in source.catalog.values() if tool.raw_name == "send_email"}
        assert {tool.name for tool in emails.values()} == {"a__send_email", "b__send_email"}
        assert emails["a"].description == "Send it by a."
        pids = {name: text_of(call(source, name, "pid")) for name in order}
        assert pids["a"] != pids["b"]


def test_long_and_foreign_names_are_told_apart_and_stay() -> None:
    """E43, E45"""
    long = tools("t" * 60 + "_a", "t" * 60 + "_b")
    entries = {
        "s" * 40: scripted(long),
        **{name: scripted(tools("query")) for name in ("café", "cafè", "数据")},
    }
    names = []
    for each in (entries, dict(reversed(entries.items()))):
        with servers(**each) as source:
            names.append(sorted(source.catalog))
    assert names[0] == names[1]
    assert len(names[0]) == 5
    assert all(PUBLIC_NAME.fullmatch(name) and name[0] not in "_-" for name in names[0])


def test_a_server_may_have_another_prefix_or_none() -> None:
    """Its tools are filtered, called and told of as before, and no name depends on another server."""
    named = {
        "short": scripted(tools("name", "run"), settings={"prefix": "gh"}),
        "bare": scripted(tools("name", "gh__run", "tool_search"), settings={"prefix": ""}),
        "third": scripted(tools("name")),
    }
    for entries in (named, dict(reversed(named.items()))):
        with servers(**entries) as source:
            catalog = source.catalog
            assert {"gh__name", "gh__run", "name", "third__name"} <= set(catalog)
            assert len(catalog) == 6
            assert "tool_search" not in catalog
            assert {tool.source for tool in catalog.values()} == set(named)
            for raw_name in ("name", "gh__run", "tool_search"):
                assert call(source, "bare", raw_name).is_error is False
            assert text_of(call(source, "short", "name")) == "name"
            # What is written and read back keeps its names.
            (written,) = [write_tools(catalog.values(), "own")]
            assert set(catalog) == {
                entry.tool.name for entry in read_entries(written) if isinstance(entry.tool, Tool)
            }
    with servers(bare=named["bare"]) as source:
        assert "name" in source.catalog


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        ("", "", "would have no prefix, like those of 'a'"),
        ("gh", "gh", "would begin with 'gh', like those of 'a'"),
        ("b", None, "would begin with 'b', like those of 'a'"),
        ("a__b", None, "prefix is the text 'a__b'"),
        ("a b", None, "prefix is the text 'a b'"),
        (7, None, "prefix is 7"),
    ],
)
def test_two_servers_have_no_prefix_in_common(first: Any, second: Any, told: str) -> None:
    with pytest.raises(McpConfigError, match=re.escape(told)):
        servers(a=scripted(tools("x"), settings={"prefix": first}), b=scripted(settings={"prefix": second}))


def test_no_server_takes_the_name_of_a_built_in_tool() -> None:
    """E47"""
    with servers(tool=scripted(tools("search", "tool_search", "call_tool"))) as source:
        assert not {"tool_search", "call_tool", "describe_tool"} & set(source.catalog)
        session = ToolSearchSession(CatalogSearcher(source.catalog, HashingEmbedder()))
        offered = [tool["function"]["name"] for tool in session.tools()]
        assert offered.count("tool_search") == 1


def test_a_tool_cannot_claim_to_be_of_another_server() -> None:
    listed = [
        a_tool("pay", server="bank", id="bank/pay", variant="x"),
        {"name": "x", "tools": [a_tool("inner")]},
    ]
    with servers(evil=scripted(listed)) as source:
        assert {tool.source for tool in source.catalog.values()} == {"evil"}
        assert sorted(source.catalog) == ["evil__pay", "evil__x"]


def test_filters_hold_together_and_before_anything_is_named() -> None:
    """Spring AI 43"""
    reading = {"readOnlyHint": True}
    listed = [
        a_tool("get_order", "Look an order up.", annotations=reading),
        a_tool("get_secret", "Look an order's secret up.", annotations=reading),
        a_tool("get_mail", "Fetch mail.", annotations=reading),
        a_tool("get_paid", "Take money for an order."),
        a_tool("list_orders", "List every order.", annotations=reading),
    ]
    settings = {"allow": ["get_*"], "deny": ["*secret*"], "descriptions": ["ORDER"], "annotations": reading}
    with servers(a=scripted(listed, settings=settings), b=scripted(listed)) as source:
        kept = [tool.name for tool in source.catalog.values() if tool.source == "a"]
        assert kept == ["a__get_order"]
        assert source.servers["a"].status.n_filtered == 4
        assert source.servers["b"].status.n_tools == 5

    def no_mail(tool: Tool) -> bool:
        return tool.raw_name != "get_mail"

    with servers({"filter": no_mail}, b=scripted(listed)) as source:
        assert "b__get_mail" not in source.catalog


def test_a_changed_list_is_found_by_the_next_search() -> None:
    """E53; Spring AI 44"""
    with servers(a=scripted(tools("change", "alpha"))) as source:
        told: list[Catalog] = []
        is_told = threading.Event()

        def hear(catalog: Catalog) -> None:
            told.append(catalog)
            is_told.set()

        before = source.catalog
        source.on_change(hear)
        call(source, "a", "change", {"tools": tools("change", "beta")})
        assert is_told.wait(20)
        assert before.diff(told[-1]).added == ("a__beta",)
        assert before.diff(told[-1]).removed == ("a__alpha",)
        assert source.catalog is told[-1]
        assert found(source.catalog, "beta") == ["a__beta"]
        gone = before["a__alpha"].call_sync({})
        assert gone.is_error
        assert text_of(gone) == "Unknown tool: alpha"


def test_an_older_list_does_not_replace_a_newer_one() -> None:
    """E55"""
    with servers(a=scripted(tools("old"), hold_first_list=tools("new"))) as source:
        until(lambda: raw_names(source) == ["new"])
        source.open()
        assert raw_names(source) == ["new"]


def test_tools_are_listed_anew_from_time_to_time(tmp_path: Path) -> None:
    with servers(a=scripted(tools("one"), settings={"relist_s": 0.05}, grow=True)) as source:
        until(lambda: len(source.catalog) > 2)


@pytest.mark.parametrize("levels", [90, 110, 240, 500, 5_000])
def test_a_schema_without_end_hides_no_other_tool(levels: int) -> None:
    with servers(a=scripted(tools("add"), deep=[levels])) as source:
        assert raw_names(source) == ["add"]
        (issue,) = source.issues
        assert (issue.tool, issue.severity) == (f"deep{levels}", "error")
        assert "nested deeper than 64 levels" in issue.reason


def test_large_schemas_hide_no_tool() -> None:
    """E60"""
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": "long " * 8_000}}}
    with servers(a=scripted(generate=80, schema=schema)) as source:
        assert len(source.catalog) == 80
        assert found(source.catalog, "select:a__t79") == ["a__t79"]


def test_a_lazy_server_is_searched_before_it_runs_and_rests_when_idle(tmp_path: Path) -> None:
    entry = scripted(tools("pid"), settings={"idle_s": 0.2})
    options = {"saved": tmp_path}
    with servers(options, a=entry) as source:
        until(lambda: source.servers["a"].status.state == "idle")
        first = text_of(call(source, "a", "pid"))
    with servers(options, a=entry) as source:
        assert source.servers["a"].status.state == "idle"
        assert found(source.catalog, "pid") == ["a__pid"]
        second = text_of(call(source, "a", "pid"))
        assert second != first
        until(lambda: source.servers["a"].status.state == "idle")
        assert text_of(call(source, "a", "pid")) != second


def test_what_is_saved_counts_only_for_what_it_was_taken_from(tmp_path: Path) -> None:
    with servers({"saved": tmp_path}, a=scripted(tools("one"))) as source:
        assert raw_names(source) == ["one"]
    with servers({"saved": tmp_path}, a=scripted(tools("two"))) as source:
        assert raw_names(source) == ["two"]


def test_what_is_let_in_is_decided_with_what_was_there_before() -> None:
    seen: list[tuple[str, list[str], list[str]]] = []

    def admit(server: str, older: Any, newer: Any) -> list[Tool]:
        before, after = (sorted(tool.raw_name for tool in tools) for tools in (older, newer))
        seen.append((server, before, after))
        return [tool for tool in newer if tool.raw_name != "held"]

    with servers({"admit": admit}, a=scripted(tools("change", "held"))) as source:
        assert raw_names(source) == ["change"]
        call(source, "a", "change", {"tools": tools("change", "new")})
        until(lambda: raw_names(source) == ["change", "new"])
    assert seen == [("a", [], ["change", "held"]), ("a", ["change"], ["change", "new"])]


def test_two_servers_of_one_name_are_refused() -> None:
    one = {"mcpServers": {"a": scripted(tools("one"))}}
    with pytest.raises(McpConfigError, match=r"'a'.*two servers of this name"):
        McpServers.from_config(one, one)
