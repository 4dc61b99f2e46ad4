"""A filter decides of a tool what a search decides of its row."""

from dataclasses import replace

import pytest

from tests.retrieval.support import OFFICE, search, searcher
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.tools import Tool

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


HIDDEN = (
    *(
        Tool(raw_name=f"acquire_{i}", source="law", description="Prepare the acquisition of a company. " * i)
        for i in range(1, 8)
    ),
    Tool(raw_name="send_email", source="old_mail", description="Send an email message."),
    Tool(raw_name="SendEmail", source="law", description="Send an email to the court."),
    Tool(raw_name="get_wether", source="law", description="Weather of a court date."),
    Tool(raw_name="mail_search", source="law", description="Find emails by text."),
)


@pytest.mark.parametrize(
    "query",
    [
        "send an email",
        "prepare the acquisition",
        "read the weather, then add an event to the calendar of the company",
        "SendEmail",
        "use send_email now",
        "get_wether",
        "mail search",
        "select:send_email,acquire_1,SENDEMAIL,get_wether",
        "nothing of this kind at all",
    ],
)
@pytest.mark.parametrize("filters", [{}, {"sources": {"mail", "calendar"}}, {"deny": ("*search*",), "k": 3}])
def test_what_is_not_within_leaves_no_trace_in_an_answer(query: str, filters: dict[str, object]) -> None:
    within = frozenset(tool.name for tool in OFFICE)
    alone = search(searcher(), query, **filters)
    among = search(searcher([*OFFICE, *HIDDEN]), query, within=within, **filters)
    assert replace(among, timings_ms={}) == replace(alone, timings_ms={})
