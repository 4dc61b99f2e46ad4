"""A filter decides of a tool what a search decides of its row."""

import pytest

from tests.retrieval.support import OFFICE, search, searcher
from toolsearch.retrieval.permission import ToolFilter

RULES = [
    {},
    {"sources": {"mail", "geo"}},
    {"sources": set()},
    {"tags": {"mail", "time"}},
    {"allow": ("mail__*", "files/search", "get_weather")},
    {"allow": ()},
    {"deny": ("search",)},
    {"allow": ("mail/*",), "deny": ("*send*",)},
    {"read_only": True},
    {"sources": {"mail"}, "tags": {"mail"}, "read_only": True},
]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_filter_permits_what_a_search_with_its_rules_can_find(rules: dict[str, object]) -> None:
    found = search(searcher(), "search", k=len(OFFICE), near=0, **rules).names
    permitted = [tool.name for tool in OFFICE if ToolFilter.model_validate(rules).permits(tool)]
    # A fixed k gives every tool that some channel puts forward; the dense one puts forward all of them.
    assert sorted(found) == sorted(permitted)


@pytest.mark.parametrize("query", ["send an email", "select:mail__send_email", "mail__send_emial"])
def test_a_search_finds_and_mentions_only_names_within(query: str) -> None:
    result = search(searcher(), query, within=frozenset({"geo__get_weather"}), k=7)
    told = {*result.names, *result.near}
    assert told <= {"geo__get_weather"}
    assert not any("mail__send_email" in notice.replace(repr(query[7:]), "") for notice in result.notices)
