from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.index.names import NameIndex, NameMatch, selected_names
from toolsearch.naming import public_name


def index_of(*tools: str) -> NameIndex:
    """An index over tools written as ``raw`` or ``source|raw``."""
    pairs = [tool.rsplit("|", 1) if "|" in tool else ["", tool] for tool in tools]
    sources, raw = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return NameIndex.build(raw, sources, [public_name(s, r) for s, r in zip(sources, raw, strict=True)])


def rows(matches: list[NameMatch]) -> list[int]:
    return [match.row for match in matches]


SERVERS = index_of(
    "github|create_issue",
    "gitlab|create_issue",
    "linear-mcp-server|createIssue",
    "github|search",
    "weather|get_forecast",
    "whoami",
)


@pytest.mark.parametrize(
    "query",
    [
        "github__create_issue",
        "github.create_issue",
        "github/create_issue",
        "github:create_issue",
        "mcp__github__create_issue",
        "  `github.create_issue` ",
        "github.create_issue()",
    ],
)
def test_a_qualified_name_is_exact_for_its_owner_alone(query: str) -> None:
    assert SERVERS.resolve(query)[0] == NameMatch(0, "exact", 1.0, query.strip(" `()"))
    assert [match.kind for match in SERVERS.resolve(query)].count("exact") == 1


def test_a_name_in_other_case_is_nearly_exact() -> None:
    assert SERVERS.resolve("GitHub.Create_Issue")[0] == NameMatch(0, "case", 0.98, "GitHub.Create_Issue")


@pytest.mark.parametrize(("query", "kind"), [("create_issue", "exact"), ("CREATE_ISSUE", "case")])
def test_an_ambiguous_name_lists_all_owners_and_other_spellings_behind(query: str, kind: str) -> None:
    found = SERVERS.resolve(query)
    assert [(match.row, match.kind) for match in found] == [(0, kind), (1, kind), (2, "style")]
    assert found[0].confidence == found[1].confidence > found[2].confidence


@pytest.mark.parametrize(
    "query",
    [
        "get forecast",
        "getForecast",
        "get-forecast",
        "GetForecast",
        "weather get forecast",
        "weatherGetForecast",
    ],
)
def test_any_style_of_the_same_words_is_found(query: str) -> None:
    assert [(match.row, match.kind) for match in SERVERS.resolve(query)] == [(4, "style")]


def test_generic_words_of_a_source_need_not_be_named() -> None:
    assert rows(SERVERS.resolve("linear_create_issue")) == [2]
    assert rows(index_of("stripe|stripe_refund_charge").resolve("refund_charge")) == [0]


def test_the_last_words_of_a_name_find_it() -> None:
    names = index_of("acme_create_issue", "acme_recreate_issue", "beta_create_issue", "create_issue_link")
    assert [(match.row, match.kind) for match in names.resolve("create_issue")] == [
        (0, "suffix"),
        (2, "suffix"),
    ]
    assert names.resolve("issue") == []


@pytest.mark.parametrize(
    "query",
    [
        "get_forcast",
        "get_forecasts",
        "get_forecsat",
        "get_foracast",
        "gte_forecast",
        "ggt_forecast",
        "get_forecas",
    ],
)
def test_one_slip_is_forgiven(query: str) -> None:
    assert [(match.row, match.kind) for match in SERVERS.resolve(query)] == [(4, "typo")]


def test_a_slip_is_not_forgiven_twice_nor_in_short_names_nor_in_digits() -> None:
    names = index_of("get_forecast", "list", "read_v1")
    assert names.resolve("get_forcasd") == []
    assert names.resolve("lisp") == []
    assert names.resolve("read_v2") == []


def test_every_single_edit_finds_a_name_of_five_letters_or_more() -> None:
    name = "list_repos"
    names = index_of(name)
    letters = name.replace("_", "")
    edits = {letters[:i] + letters[i + 1 :] for i in range(len(letters))}
    edits |= {letters[:i] + "x" + letters[i + 1 :] for i in range(len(letters))}
    edits |= {letters[:i] + "x" + letters[i:] for i in range(len(letters) + 1)}
    edits |= {letters[:i] + letters[i + 1] + letters[i] + letters[i + 2 :] for i in range(len(letters) - 1)}
    assert {edit for edit in edits if rows(names.resolve(edit)) != [0]} == set()


def test_names_inside_a_longer_query_are_all_found() -> None:
    """(E115)"""
    names = index_of(*(f"{letter}_{end}" for end in ("x", "y") for letter in "abcdef"), "search_graph")
    found = names.resolve("a_x b_x c_x d_x e_x f_x")
    assert [(match.row, match.confidence) for match in found] == [(row, 1.0) for row in range(6)]
    assert rows(names.resolve("use Search_Graph to look around")) == [12]
    assert rows(names.resolve("first call `a_y`, then 'search_graph'.")) == [6, 12]


@pytest.mark.parametrize(
    "query",
    [
        "search for flights",
        "search the github issues for me, whoami is not meant",
        "see https://example.com/search/get_forecast",
        "mail get_forecast@example.com",
        "create an issue",
        "at 10:30 on 2024-01-02, e.g. tomorrow",
    ],
)
def test_ordinary_words_are_no_names(query: str) -> None:
    assert SERVERS.resolve(query) == []


def test_an_ordinary_word_counts_in_backticks_and_several_in_quotes() -> None:
    assert rows(SERVERS.resolve("call `search` now")) == [3]
    assert rows(SERVERS.resolve('call "get forecast" now')) == [4]
    assert SERVERS.resolve('look for "search" in there') == []


def test_last_words_inside_a_longer_query_must_begin_with_a_verb() -> None:
    names = index_of("acme_create_issue", "get_user_id")
    assert rows(names.resolve("call create_issue for user_id 7")) == [0]
    assert rows(names.resolve("user_id")) == [1]


def test_a_typo_inside_a_longer_query_is_forgiven_in_identifiers_alone() -> None:
    assert rows(SERVERS.resolve("now call get_forcast please")) == [4]
    assert SERVERS.resolve("now get forcast please") == []


def test_the_whole_query_may_be_one_ordinary_word() -> None:
    assert SERVERS.resolve("search") == [NameMatch(3, "exact", 1.0, "search")]
    assert SERVERS.resolve("who am I?") == [NameMatch(5, "style", 0.95, "who am I")]


def test_select_gives_these_names_in_the_order_asked_and_reports_the_others() -> None:
    names = selected_names("select: whoami, nope ,create_issue,whoami")
    assert names == ("whoami", "nope", "create_issue")
    selection = SERVERS.select(names)
    assert [match.row for match in selection.matches] == [5, 0, 1]
    assert selection.missing == ("nope",)
    assert rows(SERVERS.resolve("select:whoami,nope,create_issue")) == [5, 0, 1]
    assert selected_names("selected: a") is None


@pytest.mark.parametrize(
    "query", ["", "  ", "?!", "`", "\ud800", "select:", "\0", "x" * 10_000, "_" * 10_000]
)
def test_a_query_without_names_finds_nothing(query: str) -> None:
    assert SERVERS.resolve(query) == []


@given(st.text(st.characters(), max_size=60))
def test_any_text_is_resolved(query: str) -> None:
    SERVERS.resolve(query)
    SERVERS.near(query)
    SERVERS.select([query])


@pytest.mark.parametrize("query", ["use ٣_٤ and ²_³", "`\u0301_\u0301` a\u200b_b", "_a_ b. .c -d-e- f:g"])
def test_odd_identifiers_are_resolved(query: str) -> None:
    assert SERVERS.resolve(query) == []


def test_names_in_other_scripts_are_found() -> None:
    names = index_of("法令検索", "Wörterbuch_öffnen")
    assert rows(names.resolve("法令検索")) == [0]
    assert rows(names.resolve("worterbuch offnen")) == [1]


def test_near_names_come_best_first_with_ties_by_row() -> None:
    names = index_of("b|read_file", "a|read_file", "read_files", "write_file", "zoom_meeting")
    assert names.near("read_fil", limit=3) == [0, 1, 2]
    assert names.near("qqqq") == []


def test_an_empty_index_knows_no_name() -> None:
    names = index_of()
    assert len(names) == 0
    assert names.resolve("search") == []
    assert names.near("search") == []


def test_a_public_name_comes_before_the_same_raw_name() -> None:
    """Two tools of one source that share a raw name, or a local tool and one of a server."""
    index = NameIndex.build(
        ["add", "add", "add"], ["", "", "math"], ["add_0123456789abcdef", "add", "math__add"]
    )
    assert index.resolve("add")[0].row == 1
    assert {match.row for match in index.resolve("add")} == {0, 1, 2}
    assert [match.row for match in index.select(["add"]).matches] == [1]
