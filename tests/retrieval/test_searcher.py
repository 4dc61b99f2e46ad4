"""A search finds what is asked for, the same way every time."""

import gc
import math
import threading
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from tests.retrieval.support import OFFICE, search, searcher
from toolsearch.catalog import Catalog
from toolsearch.embedders.base import Vectors
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.exceptions import (
    DimensionMismatchError,
    EmbeddingError,
    IndexMismatchError,
    SearchRequestError,
)
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT, NAME_WEIGHT
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import Tool


def test_the_right_tool_comes_first() -> None:
    assert search(searcher(), "send an email").names[0] == "mail__send_email"


def test_a_score_is_the_weighted_sum_of_its_channels() -> None:
    for hit in search(searcher(), "send email", k=7).hits:
        channels = hit.channels
        whole = channels["dense"] + LEXICAL_WEIGHT * channels["lexical"] + NAME_WEIGHT * channels["name"]
        assert hit.score == pytest.approx(whole)


@pytest.mark.parametrize(
    "query", ["search_graph", "SEARCH_GRAPH", "searchGraph", "kb.search_graph", "search graph"]
)
def test_a_tool_that_is_called_by_its_name_comes_first(query: str) -> None:
    """(E115) Among 300 tools."""
    tools = [
        *(
            Tool(raw_name=f"search_item_{i}", source="kb", description="Search the graph.")
            for i in range(299)
        ),
        Tool(raw_name="search_graph", source="kb", description="Nothing of note."),
    ]
    result = search(searcher(tools), query)
    assert result.names[0] == "kb__search_graph"
    assert result.confidence == 1.0


def test_every_tool_that_a_query_names_is_found() -> None:
    """(E115) Among 300 tools."""
    tools = [Tool(raw_name=f"{letter}_x", description=f"Tool {i}.") for i, letter in enumerate("abcdefghij")]
    tools += [Tool(raw_name=f"{i}_x_more", description="a_x b_x c_x d_x e_x f_x") for i in range(290)]
    assert set(search(searcher(tools), "a_x b_x c_x d_x e_x f_x", k=6).names) == {f"{c}_x" for c in "abcdef"}


def test_a_name_as_it_is_written_comes_before_one_in_other_case() -> None:
    over = searcher(
        [Tool(raw_name="Foo", description="foo foo foo"), Tool(raw_name="foo", description="Bar.")]
    )
    assert search(over, "foo", k=2).names == ("foo", "Foo")
    assert search(over, "select:foo").names == ("foo",)
    assert search(over, "select:FOO").names == ("Foo", "foo")


def test_an_ambiguous_name_lists_all_its_owners() -> None:
    assert set(search(searcher(), "search").names[:2]) == {"files__search", "web__search"}


def test_select_loads_by_name_in_the_order_asked_and_tells_what_is_missing() -> None:
    result = search(searcher(), "select:get_weather,send_emial,search_mail")
    assert result.names == ("geo__get_weather", "mail__search_mail")
    assert result.notices == (
        "No tool is named 'send_emial'. Did you mean 'mail__send_email', 'mail__search_mail'?",
    )
    assert not result.nothing_fits


def test_every_selected_tool_is_loaded() -> None:
    tools = [Tool(raw_name=f"tool_{i}") for i in range(30)]
    names = [f"tool_{i}" for i in range(25)]
    assert list(search(searcher(tools), f"select:{','.join(names)}").names) == names


def test_a_selection_is_never_cut() -> None:
    tools = [Tool(raw_name="list_item"), Tool(raw_name="list_items")]
    padding = ",".join(f"no_such_tool_{i}" for i in range(200))
    result = search(searcher(tools), f"select:{padding},list_items")
    assert result.names == ("list_items",)
    assert result.notices[-1] == "No tool is named like 190 more of the names."


@pytest.mark.parametrize("query", ["select:", "select: , ,"])
def test_a_selection_without_names_is_refused(query: str) -> None:
    with pytest.raises(SearchRequestError, match="lacks a name"):
        search(searcher(), query)


def test_a_selected_tool_that_a_filter_hides_is_as_good_as_missing() -> None:
    result = search(searcher(), "select:send_email", sources={"calendar"})
    assert result.hits == ()
    assert result.notices[0].startswith("No tool is named 'send_email'.")
    assert "mail" not in result.notices[0].removeprefix("No tool is named 'send_email'.")


@pytest.mark.parametrize("queries", [(), ("x",) * 17])
def test_a_request_has_one_to_sixteen_queries(queries: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        SearchRequest(queries=queries)


@pytest.mark.parametrize("k", [0, -1])
def test_a_limit_below_one_is_refused(k: int) -> None:
    """(E117) Never all but one, as a negative slice would give."""
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        SearchRequest(queries=("mail",), k=k)
    with pytest.raises(ValueError, match="greater than or equal to 1"):
        SearchRequest(queries=("mail",), max_k=k)


@pytest.mark.parametrize("query", ["", "   ", "\n", "?!", "🍕"])
def test_a_query_without_words_finds_nothing_but_advice(query: str) -> None:
    """(E119)"""
    with pytest.raises(SearchRequestError, match="Say in a few words what the tool should do"):
        search(searcher(), query)


def test_of_several_queries_those_without_words_are_left_out_with_a_notice() -> None:
    result = search(searcher(), "send email", "?!")
    assert result.names[0] == "mail__send_email"
    assert "'?!' has no word" in result.notices[0]


def test_more_hits_than_tools_gives_every_tool_once() -> None:
    """(E133)"""
    result = search(searcher(OFFICE[:3]), "email", k=10)
    assert sorted(result.names) == ["calendar__create_event", "mail__search_mail", "mail__send_email"]
    assert all(math.isfinite(hit.score) for hit in result.hits)


def test_an_empty_catalog_has_nothing_that_fits() -> None:
    result = search(searcher(()), "email")
    assert result.nothing_fits
    assert result.hits == ()


def test_tools_that_say_the_same_come_in_the_order_of_their_names() -> None:
    """(E129)"""
    tools = [Tool(raw_name="pqrstu"[i], description="Do it.") for i in range(6)]
    ranked = {search(searcher(order), "do it", k=6).names for order in (tools, tools[::-1]) for _ in range(5)}
    assert len(ranked) == 1
    three = search(searcher(tools), "do it", k=3).names
    assert three == next(iter(ranked))[:3]


def test_hits_are_those_of_scoring_every_tool() -> None:
    """The candidates of the channels lose nothing: an oracle scores all rows with numpy."""
    rng = np.random.default_rng(7)
    vocabulary = "send mail file event search list user city order build page alert".split()  # noqa: SIM905
    tools = [
        Tool(raw_name=f"t{i:04}", description=" ".join(rng.choice(vocabulary, size=8))) for i in range(600)
    ]
    embedder = HashingEmbedder()
    over = searcher(tools, embedder=embedder)
    index = over.index
    matrix = np.array([index.vectors.vector(row) for row in range(len(index))])
    for query in ("send a mail to the user", "search the build page", "list city events"):
        lexical = index.lexicon.scores(query).raw
        expected = matrix @ embedder.embed_queries([query])[0] + LEXICAL_WEIGHT * lexical
        best = np.lexsort((np.arange(600), -np.round(expected, 5)))[:10]
        hits = search(over, query, k=10).hits
        assert [round(hit.score, 4) for hit in hits] == [round(float(expected[row]), 4) for row in best]


def test_as_many_hits_are_given_as_are_asked_for() -> None:
    tools = [Tool(raw_name=f"t{i:03}", description=f"Send mail number {i}.") for i in range(450)]
    over = searcher(tools)
    assert len(search(over, "send mail", k=400).hits) == 400
    excluded = frozenset(f"t{i:03}" for i in range(200))
    assert len(search(over, "send mail", k=250, exclude=excluded).hits) == 250


def test_without_a_fixed_k_only_what_stands_out_is_returned() -> None:
    result = search(searcher(), "current weather of a city")
    assert result.names[0] == "geo__get_weather"
    assert len(result.hits) == 3
    assert result.near


def test_excluded_tools_are_left_out_and_the_next_take_their_place() -> None:
    over = searcher()
    first = search(over, "email", k=2).names
    again = search(over, "email", k=2, exclude={first[0], "no_such_tool"}).names
    assert again[0] == first[1]
    assert first[0] not in again


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"sources": {"mail"}}, {"mail__send_email", "mail__search_mail"}),
        ({"sources": {"nowhere"}}, set()),
        ({"tags": {"mail", "time"}}, {"mail__send_email", "calendar__create_event"}),
        ({"allow": ("mail/*", "list_*")}, {"mail__send_email", "mail__search_mail", "calendar__list_events"}),
        ({"allow": ()}, set()),
        ({"allow": ("*",), "deny": ("*search*", "geo__*", "calendar/*")}, {"mail__send_email"}),
        ({"sources": {"mail"}, "read_only": True}, {"mail__search_mail"}),
    ],
)
def test_filters_apply_before_ranking(filters: dict[str, object], expected: set[str]) -> None:
    result = search(searcher(), "send email search", k=10, **filters)
    assert set(result.names) == expected
    assert not set(result.near) - expected


def test_a_filter_that_no_tool_can_pass_is_told() -> None:
    result = search(searcher(), "send email", sources={"mial"}, tags={"tme", "no such thing"})
    assert result.notices == (
        "No tool has the source 'mial'. Did you mean 'mail'?",
        "No tool has the tag 'no such thing'.",
        "No tool has the tag 'tme'. Did you mean 'time'?",
    )


def test_a_text_stands_for_a_request_with_one_query() -> None:
    over = searcher()
    assert over.search("send email").names == search(over, "send email").names


def test_tokens_are_counted_among_the_tools_that_could_have_been_sent() -> None:
    over = searcher()
    tokens = dict(zip(over.index.columns.names, over.index.columns.tokens.tolist(), strict=True))
    result = search(over, "email", k=2)
    assert result.returned_tokens == sum(tokens[name] for name in result.names)
    assert result.spared_tokens == sum(tokens.values()) - result.returned_tokens
    filtered = search(over, "email", k=1, sources={"mail"})
    assert filtered.returned_tokens + filtered.spared_tokens == sum(  # type: ignore[operator]
        tokens[name] for name in ("mail__send_email", "mail__search_mail")
    )


def test_several_queries_are_served_in_turn() -> None:
    result = search(searcher(), "send email", "weather of a city", "search files", max_k=3)
    assert set(result.names) == {"mail__send_email", "geo__get_weather", "files__search"}
    assert [hit.query for hit in result.hits] == [0, 1, 2]


def test_a_hit_names_its_query_by_its_place_in_the_request() -> None:
    result = search(searcher(), "", "send email", "send email", "weather of a city", k=2)
    assert [hit.query for hit in result.hits] == [1, 3]


def test_a_request_that_nothing_serves_is_told_so() -> None:
    result = search(searcher(embedder=BundledEmbedder()), "Why do cats purr?")
    assert result.nothing_fits
    assert result.hits == ()
    assert result.near
    assert result.confidence is not None
    assert result.confidence < 0.5


def test_with_a_fixed_k_the_hits_are_given_whether_they_fit_or_not() -> None:
    result = search(searcher(embedder=BundledEmbedder()), "Why do cats purr?", k=2)
    assert result.nothing_fits
    assert len(result.hits) == 2


def test_nothing_fits_can_be_switched_off() -> None:
    over = searcher(embedder=BundledEmbedder(), nothing_fits_below=0)
    assert not search(over, "Why do cats purr?").nothing_fits


def test_how_sure_a_search_is_depends_on_the_tools_that_it_may_find() -> None:
    over = searcher(embedder=BundledEmbedder())
    everything = search(over, "mail something", k=1)
    filtered = search(over, "mail something", k=1, sources={"geo"})
    assert everything.confidence is not None
    assert filtered.confidence is not None
    assert filtered.confidence < everything.confidence


@pytest.mark.parametrize(
    "error", [ConnectionError("refused"), TimeoutError("slow"), ValueError("odd"), KeyError("data")]
)
def test_words_alone_answer_while_the_encoder_fails_and_both_once_it_recovers(error: Exception) -> None:
    """(E128)"""
    embedder = FlakyEmbedder(HashingEmbedder())
    over = searcher(embedder=embedder)
    embedder.failures.append(error)
    degraded = search(over, "send an email to Ann")
    assert degraded.degraded
    assert degraded.names[0] == "mail__send_email"
    assert type(error).__name__ in degraded.notices[0]
    assert degraded.confidence is None
    recovered = search(over, "send an email to Ann")
    assert not recovered.degraded
    assert recovered.hits[0].channels["dense"] > 0


def test_an_encoder_that_fails_while_a_filter_is_calibrated_degrades_too() -> None:
    """(E128)"""
    embedder = FlakyEmbedder(HashingEmbedder())
    over = searcher(embedder=embedder)
    search(over, "an email to Ann")
    embedder.failures += [None, ConnectionError("refused")]
    result = search(over, "an email to Ann", sources={"mail"})
    assert result.degraded
    assert result.confidence is None
    assert result.names[0].startswith("mail__")


def test_a_failing_encoder_raises_where_that_is_asked_for() -> None:
    embedder = FlakyEmbedder(HashingEmbedder())
    over = searcher(embedder=embedder, on_embedder_failure="raise")
    embedder.failures.append(EmbeddingError("down"))
    with pytest.raises(EmbeddingError, match="down"):
        search(over, "send email")


def test_an_answer_that_is_not_a_number_is_a_failure_of_the_encoder() -> None:
    """(E193)"""
    embedder = FlakyEmbedder(HashingEmbedder(), rows={"send email": [math.nan] * 256})
    result = search(searcher(embedder=embedder), "send email")
    assert result.degraded
    assert all(math.isfinite(hit.score) for hit in result.hits)


def test_vectors_of_another_length_are_an_error_not_a_degraded_answer() -> None:
    """(E135)"""
    over = searcher()
    over.embedder = FlakyEmbedder(HashingEmbedder(), rows={"mail": [1.0] * 768})
    with pytest.raises(DimensionMismatchError, match="768"):
        search(over, "mail")


def test_an_index_of_another_embedder_is_refused() -> None:
    """(E135)"""
    index = ToolIndex.build(Catalog(OFFICE), HashingEmbedder(64))
    with pytest.raises(IndexMismatchError, match=r"64 dimensions.*128"):
        ToolSearcher(index, HashingEmbedder(128))


def test_a_zero_query_is_answered_by_words() -> None:
    """(E145)"""
    embedder = FlakyEmbedder(HashingEmbedder(), rows={"email": [0.0] * 256})
    result = search(searcher(embedder=embedder), "email", k=3)
    assert result.names[0].startswith("mail__")
    assert all(math.isfinite(hit.score) and hit.channels["dense"] == 0 for hit in result.hits)


def test_a_long_query_is_searched_by_its_beginning() -> None:
    """(E126)"""
    tools = [*OFFICE, Tool(raw_name="translate", description="Translate a document into another language.")]
    result = search(searcher(tools, embedder=BundledEmbedder()), "translate a document. " + "x" * 50_000, k=3)
    assert "translate" in result.names
    assert result.notices[0].startswith("The query has 50,022 characters")


@pytest.mark.parametrize("query", ["法令", "法令を調べて"])
def test_a_japanese_word_finds_its_tool_among_english_ones(query: str) -> None:
    """(E120)"""
    english = [
        Tool(raw_name=f"tool_{i}", description=f"Do useful thing number {i} with files.") for i in range(50)
    ]
    tools = [*english, Tool(raw_name="law", description="日本の法令を検索します")]
    assert search(searcher(tools, embedder=BundledEmbedder()), query).names[0] == "law"


@pytest.mark.parametrize(
    "query", ["[unclosed email", "(?P<x email", "* email", "email a{2,1}", "(a+)+$ email"]
)
def test_a_query_is_never_read_as_a_pattern(query: str) -> None:
    """(E123, E124) A search has no patterns: what they are made of is nothing to it, however it nests."""
    slow = Tool(raw_name="slow", description="a" * 40 + "b")
    assert search(searcher([*OFFICE, slow]), query).names[0].startswith("mail__")


@pytest.mark.parametrize("query", ["*", "(?", "[", "^.*$"])
def test_a_pattern_without_a_word_is_refused_with_advice(query: str) -> None:
    """(E123)"""
    with pytest.raises(SearchRequestError, match="Say in a few words"):
        search(searcher(), query)


def test_a_tool_without_a_description_is_found_by_its_name() -> None:
    """(E35)"""
    tools = [*OFFICE, Tool(raw_name="rotate_pdf")]
    assert search(searcher(tools, embedder=BundledEmbedder()), "rotate a pdf").names[0] == "rotate_pdf"


@pytest.mark.parametrize("query", ["Wie wird das Wetter in der Stadt?", "東京の天気は"])
def test_a_query_that_the_encoder_cannot_read_never_ends_in_nothing_fits(query: str) -> None:
    result = search(searcher(embedder=BundledEmbedder()), query)
    assert not result.nothing_fits
    assert result.confidence is None
    assert "Asking in English finds more" in result.notices[0]


def test_repeating_ones_words_does_not_pay() -> None:
    stuffed = Tool(
        raw_name="lottery", source="spam", description="send email " * 300 + "Draw a lottery ticket."
    )
    result = search(searcher([*OFFICE, stuffed], embedder=BundledEmbedder()), "send an email to Ann")
    assert result.names[0] == "mail__send_email"


def test_a_new_index_takes_effect_without_a_new_searcher() -> None:
    over = searcher()
    assert "new_tool" not in search(over, "brand new", k=10).names
    over.index = build_index(
        Catalog([*OFFICE, Tool(raw_name="new_tool", description="Brand new.")]), over_embedder(over)
    )
    assert search(over, "brand new", k=1).names == ("new_tool",)


def over_embedder(over: ToolSearcher) -> HashingEmbedder:
    assert isinstance(over.embedder, HashingEmbedder)
    return over.embedder


@pytest.mark.parametrize("rows", ["few", "many"])
def test_requests_together_are_answered_as_each_alone(rows: str) -> None:
    tools = (
        OFFICE if rows == "few" else [*OFFICE, *(Tool(raw_name=f"make_{i}", source="x") for i in range(300))]
    )
    over = searcher(tools)
    requests: list[SearchRequest | str] = [
        *(SearchRequest(queries=(f"send an email to {name}",)) for name in ("Ann", "Bob", "Eve", "Ada")),
        *(SearchRequest(queries=("calendar events", "the weather"), k=k) for k in (1, 3, 5)),
        SearchRequest(queries=("send an email about the weather, then add an event to the calendar",)),
        SearchRequest(queries=("search",), sources=frozenset({"files"}), near=2),
        SearchRequest(
            queries=("search",), sources=frozenset({"files"}), exclude=frozenset({"files__search"})
        ),
        SearchRequest(queries=("select:mail__send_email,nothing",)),
        SearchRequest(queries=("?!", "mail")),
        SearchRequest(queries=("mail",), tags=frozenset({"unknown"})),
        "a plain text",
        "mail",
    ]
    alone = [over.search(request) for request in requests]
    for one, other in zip(over.search_many(requests), alone, strict=True):
        assert isinstance(one, SearchResult)
        assert replace(one, timings_ms={}) == replace(other, timings_ms={})


def test_a_request_that_is_refused_has_its_error_in_its_place() -> None:
    over = searcher()
    first, refused, last = over.search_many(["send email", "?!", "weather"])
    assert isinstance(refused, SearchRequestError)
    assert isinstance(first, SearchResult)
    assert isinstance(last, SearchResult)
    assert [first.names[0], last.names[0]] == ["mail__send_email", "geo__get_weather"]
    assert over.search_many([]) == []


def test_a_text_that_the_encoder_fails_on_costs_only_its_own_request() -> None:
    class Picky(HashingEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            if any("weather" in text for text in texts):
                raise EmbeddingError("no weather")
            return super().embed_queries(texts)

    over = searcher(embedder=Picky())
    first, poor = over.search_many(["send email", "the weather and send email"])
    assert isinstance(first, SearchResult)
    assert isinstance(poor, SearchResult)
    assert (first.degraded, poor.degraded) == (False, True)
    assert not any(hit.channels["dense"] for hit in poor.hits)
    over.on_embedder_failure = "raise"
    first, failed = over.search_many(["send email", "the weather"])
    assert isinstance(first, SearchResult)
    assert isinstance(failed, EmbeddingError)


def test_an_index_that_was_replaced_is_freed_without_the_garbage_collector(tmp_path: Path) -> None:
    """A service has the collector leave alone what it has loaded."""
    over, fresh = searcher(), HashingEmbedder()
    over.index.save(tmp_path / "index")
    gc.collect()
    gc.disable()
    try:
        over.index = ToolIndex.load(tmp_path / "index", fresh)
        assert over.search("send email").hits
        parts = [weakref.ref(part) for part in (over.index, over.index.tools, over.index.name_index.keys)]
        over.index = build_index(Catalog(OFFICE[:2]), fresh)
        assert [part() for part in parts] == [None] * 3
    finally:
        gc.enable()


def test_requests_together_share_their_time() -> None:
    results = searcher().search_many([f"send email {i}" for i in range(10)])
    times = [result.timings_ms for result in results if isinstance(result, SearchResult)]
    assert len({ms["embed"] for ms in times}) == 1
    assert all(sum(ms.values()) - ms["total"] <= ms["total"] for ms in times)


def test_searches_from_many_threads_agree() -> None:
    over = searcher()
    expected = search(over, "email search", k=5).names
    found: list[tuple[str, ...]] = []
    threads = [
        threading.Thread(target=lambda: found.append(search(over, "email search", k=5).names))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_words_alone_need_no_embedder() -> None:
    index = ToolIndex.build(Catalog(OFFICE), HashingEmbedder())
    over = ToolSearcher(index, None, channels=("lexical", "name"))
    assert search(over, "send email").names[0] == "mail__send_email"
    with pytest.raises(ValueError, match="dense channel needs the embedder"):
        ToolSearcher(index, None)


def test_a_stored_calibration_answers_like_a_fresh_one() -> None:
    stored = searcher()
    fresh = ToolSearcher(replace(stored.index, calibration=None), over_embedder(stored))
    assert stored.calibration() == fresh.calibration()
    assert search(stored, "email").confidence == search(fresh, "email").confidence


@pytest.mark.parametrize("below", [-0.1, 1.1])
def test_the_threshold_is_a_share(below: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        searcher(nothing_fits_below=below)
