"""A router that is given usage learns from what its runs find and call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.clock import Clock
from tests.telemetry.support import call, said
from toolsearch import Catalog, CatalogSearcher, LearnedUsage, ToolFailed, ToolRouter, tool
from toolsearch.session.trail import SearchTrail
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

SEARCH = "the friday ritual"


@tool
def close_books(month: str) -> str:
    """Close the accounts of a month."""
    return f"closed {month}"


@tool
def post_photo(album: str) -> str:
    """Put a photo into an album."""
    raise ToolFailed(f"{album} is full")


@tool
def ritual_of_friday(day: str) -> str:
    """The ritual of each friday."""
    return day


TOOLS = (close_books, post_photo, ritual_of_friday)


def script(name: str, *queries: str, **arguments: Any) -> tuple[Any, ...]:
    return (
        said("", call("tool_search", "s", queries=list(queries or [SEARCH]))),
        said("", call(name, "c", **arguments)),
        said("Done."),
    )


def router(usage: LearnedUsage, *replies: Any, **options: Any) -> ToolRouter:
    model = ScriptedChatModel(replies, id="scripted")
    return ToolRouter(model, TOOLS, embedder=HashingEmbedder(), usage=usage, limit=3, observers=(), **options)


def lifted(usage: LearnedUsage, text: str, tenant: str = "") -> set[str]:
    rows = HashingEmbedder().embed_queries([text])
    return {name for name, _ in usage.supports(rows, tenant)}


def test_a_tool_that_was_found_and_called_is_learned_for_its_tenant() -> None:
    usage = LearnedUsage(clock=Clock())
    over = router(usage, *script("close_books", month="May"))
    over.run_sync("Do it.", session_id="s1", tenant="acme")
    assert lifted(usage, SEARCH, "acme") == {"close_books"}
    assert lifted(usage, SEARCH) == set()


def test_a_failed_call_lifts_nothing() -> None:
    usage = LearnedUsage(clock=Clock())
    router(usage, *script("post_photo", album="May")).run_sync("Do it.")
    assert len(usage) == 1
    assert lifted(usage, SEARCH) == set()


def test_a_call_that_was_refused_teaches_nothing() -> None:
    usage = LearnedUsage(clock=Clock())
    router(usage, *script("close_books", wrong="May")).run_sync("Do it.")
    assert len(usage) == 0


def test_each_tool_is_learned_for_the_query_that_found_it() -> None:
    usage = LearnedUsage(clock=Clock())
    queries = ("close the accounts of a month", "a photo into an album")
    router(usage, *script("close_books", *queries, month="May")).run_sync("Do it.")
    assert lifted(usage, queries[0]) == {"close_books"}
    assert lifted(usage, queries[1]) == set()


def test_what_an_earlier_run_of_the_session_found_is_learned_when_it_is_called() -> None:
    usage = LearnedUsage(clock=Clock())
    first, then, done = script("close_books", month="May")
    over = router(usage, first, done, then, done)
    over.run_sync("Look.", session_id="s1")
    assert len(usage) == 0
    over.run_sync("Do it.", session_id="s1")
    assert lifted(usage, SEARCH) == {"close_books"}


def test_later_runs_find_what_earlier_ones_used() -> None:
    usage = LearnedUsage(clock=Clock())
    found = []
    for i in range(8):
        over = router(usage, *script("close_books", month="May"))
        receipt = over.run_sync("Do it.", session_id=f"s{i}").metadata["receipt"]
        found.append(receipt.searches[0].loaded)
    assert found[0][0] == "ritual_of_friday"
    assert found[0].index("close_books") >= found[-1].index("close_books")
    assert len(usage) == 8


def test_the_bridge_and_streams_teach_the_same() -> None:
    usage = LearnedUsage(clock=Clock())
    search, _, done = script("close_books")
    wrapped = tool_call("call_tool", {"name": "close_books", "arguments": {"month": "May"}})
    through = (search, said("", wrapped), done)

    async def collect() -> None:
        over = router(usage, *through, delivery="bridge")
        async for _ in over.stream("Do it.", session_id="s1"):
            pass

    asyncio.run(collect())
    assert lifted(usage, SEARCH) == {"close_books"}


def test_a_searcher_that_learns_teaches_itself_in_a_router() -> None:
    usage = LearnedUsage(clock=Clock())
    searcher = CatalogSearcher(TOOLS, HashingEmbedder(), usage=usage)
    model = ScriptedChatModel(script("close_books", month="May"))
    ToolRouter(model, searcher=searcher, catalog=Catalog(TOOLS), limit=3).run_sync("Do it.")
    assert lifted(usage, SEARCH) == {"close_books"}
    with pytest.raises(ValueError, match="Give usage to the searcher"):
        ToolRouter(model, TOOLS, searcher=searcher, usage=usage)
    with pytest.raises(TypeError, match="LearnedUsage"):
        ToolRouter(model, TOOLS, usage="yes")  # type: ignore[arg-type]


def test_a_trail_is_bounded_and_kept_by_tenant() -> None:
    trail = SearchTrail(max_sessions=2)
    trail.found("s", "a", {"x": "find x"})
    trail.found("s", "b", {"x": "another"})
    trail.found("", "a", {"x": "no session"})
    assert (trail.query("s", "a", "x"), trail.query("s", "b", "x")) == ("find x", "another")
    assert (trail.query("s", "c", "x"), trail.query("s", "a", "y"), trail.query("", "a", "x")) == ("", "", "")
    trail.found("t", "b", {str(i): "q" for i in range(300)})
    assert (trail.query("s", "a", "x"), trail.query("t", "b", "0")) == ("", "")
    trail.forget("b", "s")
    assert (trail.query("s", "b", "x"), trail.query("t", "b", "299")) == ("", "q")
    trail.forget("b")
    assert trail.query("t", "b", "299") == ""
    with pytest.raises(ValueError, match="max_sessions"):
        SearchTrail(max_sessions=0)
