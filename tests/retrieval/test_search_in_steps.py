"""A request for several things finds the tools of each."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.retrieval.support import OFFICE, search, searcher
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT, NAME_WEIGHT, Channels
from toolsearch.retrieval.lift import STEP_SHARE, lifted
from toolsearch.testing import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import Tool

MAIL, EVENT, WEATHER = "send an email message", "add an event to a calendar", "current weather of a city"
TWO = f"{MAIL}\n{WEATHER}"

WISHES = (
    "send a message to Ann",
    "find files by name",
    "add an event to the calendar",
    "search the web for news",
    "list the events of today",
    "the weather of the city",
)
requests = st.lists(st.sampled_from(WISHES), min_size=2, max_size=6, unique=True)
LOUD = tuple(
    Tool(raw_name=f"mail_{i}", source="bulk", description=f"Send an email message to list {i}.")
    for i in range(30)
)


def test_every_step_has_its_tools_though_one_is_louder() -> None:
    text = "Send an email message to list 1, list 2, list 3 and list 4. Is it cold in the city?"
    over = searcher([*OFFICE, *LOUD])
    assert "geo__get_weather" not in search(over, text, k=5, steps=False).names
    assert "geo__get_weather" in search(over, text, k=5).names


@settings(max_examples=25, deadline=None)
@given(requests, st.integers(1, 8))
def test_the_best_hit_of_each_step_is_found_where_there_are_places_for_all(wishes: list[str], k: int) -> None:
    over = searcher([*OFFICE, *LOUD])
    best = {search(over, wish, k=1).names[0] for wish in wishes}
    if k >= len(wishes):
        assert best <= set(search(over, "\n".join(wishes), k=k).names)


def test_that_holds_for_the_steps_of_all_queries_of_a_request() -> None:
    over = searcher([*OFFICE, *LOUD])
    queries = [f"{WISHES[0]}\n{WISHES[2]}", f"{WISHES[1]}\n{WISHES[5]}", WISHES[3]]
    best = {search(over, wish, k=1).names[0] for i, wish in enumerate(WISHES) if i != 4}
    assert best <= set(search(over, *queries, k=5).names)


@settings(max_examples=25, deadline=None)
@given(requests, st.randoms())
def test_the_order_of_the_steps_is_nothing_to_the_hits(wishes: list[str], random: object) -> None:
    """With an embedder for which the order of words is nothing."""
    over = searcher([*OFFICE, *LOUD])
    shuffled = list(wishes)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert search(over, "\n".join(shuffled), k=8).names == search(over, "\n".join(wishes), k=8).names


@pytest.mark.parametrize("query", [MAIL, "I am at home. Can you send an email?", "select:send_email"])
def test_a_request_of_one_step_is_searched_as_ever(query: str) -> None:
    embedder = HashingEmbedder()
    over = searcher(embedder=embedder)
    plain = search(over, query, steps=False)
    calls = len(embedder.query_calls)
    result = search(over, query)
    assert (result.hits, result.near, result.steps) == (plain.hits, plain.near, {})
    assert embedder.query_calls[calls:] == ([] if query.startswith("select") else [(query,)])


def test_a_request_and_its_steps_are_embedded_in_one_call() -> None:
    embedder = HashingEmbedder()
    over = searcher(embedder=embedder)
    before = len(embedder.query_calls)
    search(over, TWO)
    assert embedder.query_calls[before:] == [(f"{MAIL} {WEATHER}", MAIL, WEATHER)]


def test_scores_are_those_of_the_request_lifted_by_its_steps() -> None:
    """An oracle scores all tools by numpy, for the request and for each step."""
    embedder = HashingEmbedder()
    over = searcher([*OFFICE, *LOUD], embedder=embedder)
    index = over.index
    matrix = np.array([index.vectors.vector(row) for row in range(len(index))])

    def content(text: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        scores: np.ndarray[tuple[int], np.dtype[np.float64]]
        scores = matrix @ embedder.embed_queries([text])[0] + LEXICAL_WEIGHT * index.lexicon.scores(text).raw
        return scores

    whole, parts = content(f"{MAIL} {WEATHER}"), [content(MAIL), content(WEATHER)]
    stretched = np.max([part * whole.max() / part.max() for part in parts], axis=0)
    expected = whole + np.maximum(0, 0.5 * (stretched - whole))
    result = search(over, TWO, k=10)
    for hit in result.hits:
        row = index.row_of(hit.name)
        assert hit.score - NAME_WEIGHT * hit.channels["name"] == pytest.approx(expected[row], abs=1e-5)
        assert hit.channels["steps"] == pytest.approx(expected[row] - whole[row], abs=1e-5)


def test_a_hit_tells_which_step_it_serves() -> None:
    result = search(searcher(), f"{MAIL}\n{EVENT}\n{WEATHER}", k=5)
    assert result.steps == {0: (MAIL, EVENT, WEATHER)}
    served = {hit.name: hit.step for hit in result.hits}
    assert served["mail__send_email"] == 0
    assert served["calendar__create_event"] == 1
    assert served["geo__get_weather"] == 2


def test_a_step_that_is_a_name_finds_its_tool_first() -> None:
    over = searcher([*OFFICE, Tool(raw_name="rotate_pdf_pages", description="Nothing of note.")])
    result = search(over, "rotate pdf pages\nand something about the weather of a city", k=3)
    assert result.names[0] == "rotate_pdf_pages"
    assert result.hits[0].step == 0


def test_steps_never_change_how_sure_a_search_is() -> None:
    over = searcher(embedder=BundledEmbedder())
    for text in (f"{MAIL}. {WEATHER}.", "Why do cats purr? And what is the meaning of life?"):
        with_steps, without = search(over, text), search(over, text, steps=False)
        assert with_steps.confidence == without.confidence
        assert with_steps.nothing_fits == without.nothing_fits


def test_a_tool_that_is_known_already_takes_no_place_of_its_step() -> None:
    over = searcher([*OFFICE, *LOUD])
    first = search(over, WEATHER, k=1).names[0]
    second = search(over, WEATHER, k=1, exclude={first}).names[0]
    assert second in search(over, TWO, k=2, exclude={first}).names


def test_a_step_that_no_tool_is_like_takes_no_place() -> None:
    """The hashing embedder gives no vector to a text without letters and digits that it knows."""
    over = searcher(embedder=FlakyEmbedder(HashingEmbedder(), rows={"qqq xxx zzz": [0.0] * 256}))
    result = search(over, f"{MAIL}\nqqq xxx zzz", k=1)
    assert result.steps == {0: (MAIL, "qqq xxx zzz")}
    assert result.names == ("mail__send_email",)


def test_filters_hold_for_steps_too() -> None:
    hits = search(searcher(), TWO, sources={"calendar"}, k=5).names
    assert set(hits) == {"calendar__create_event", "calendar__list_events"}


def test_words_alone_are_searched_in_steps_too() -> None:
    embedder = FlakyEmbedder(HashingEmbedder())
    over = searcher([*OFFICE, *LOUD], embedder=embedder)
    embedder.failures.append(ConnectionError("refused"))
    result = search(over, TWO, k=2)
    assert result.degraded
    assert "geo__get_weather" in result.names


def test_the_lines_of_a_request_count_though_white_space_is_folded() -> None:
    assert search(searcher(), f"  {MAIL}  \n\n {WEATHER}\t").steps == {0: (MAIL, WEATHER)}


def test_the_same_wish_twice_is_one_step() -> None:
    assert search(searcher(), f"{MAIL}\n{MAIL}").steps == {}


def test_no_tool_is_lifted_beyond_the_best_of_the_whole_request() -> None:
    rng = np.random.default_rng(3)
    rows = np.arange(40)

    def channels() -> Channels:
        return Channels(rows, rng.uniform(-0.2, 0.8, 40), rng.uniform(0, 9, 40), np.zeros(40))

    whole = channels()
    lifted_channels, steps = lifted(whole, [channels() for _ in range(4)])
    assert lifted_channels.lift is not None
    assert (lifted_channels.lift >= 0).all()
    assert lifted_channels.content().max() == pytest.approx(whole.content().max())
    leaders = [int(np.argmax(own)) for own in steps.alone]
    half = whole.content() + STEP_SHARE * (whole.content().max() - whole.content())
    assert (lifted_channels.content()[leaders] >= half[leaders] - 1e-12).all()


def test_a_step_that_is_like_nothing_lifts_nothing() -> None:
    rows, zeros = np.arange(3), np.zeros(3)
    whole = Channels(rows, np.array([0.5, 0.2, 0.1]), zeros, zeros)
    lifted_channels, steps = lifted(whole, [Channels(rows, zeros, zeros, zeros)] * 2)
    assert lifted_channels.content().tolist() == whole.content().tolist()
    assert steps.alone.tolist() == [[0.0] * 3] * 2


def test_all_orders_of_three_steps_serve_the_same_tools() -> None:
    over = searcher([*OFFICE, *LOUD])
    found = {
        frozenset(search(over, "\n".join(order), k=3).names) for order in permutations((MAIL, EVENT, WEATHER))
    }
    assert len(found) == 1
