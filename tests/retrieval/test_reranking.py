"""A reranker puts the best tools of a search into another order, and nothing else."""

import numpy as np
import pytest

from tests.retrieval.support import search, searcher
from toolsearch.document import render_document
from toolsearch.exceptions import RerankerError
from toolsearch.rerankers.base import Reranker, as_log_odds
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.fusion import ODDS_WEIGHT
from toolsearch.retrieval.reranking import RERANKED
from toolsearch.testing import WordReranker
from toolsearch.tools import Tool

MANY = [Tool(raw_name=f"make_{i:02}", description=f"Make a thing of kind {i}.") for i in range(40)]


class Backwards:
    """Says that what was worst is best."""

    id = "backwards"

    def scores(self, query: str, documents: tuple[str, ...]) -> np.ndarray:
        return np.arange(len(documents)) - len(documents) / 2


def test_the_order_is_that_of_the_score_and_the_log_odds() -> None:
    plain = search(searcher(MANY), "make a thing", k=RERANKED)
    again = search(searcher(MANY, reranker=Backwards()), "make a thing", k=RERANKED)
    odds = dict(zip(plain.names, np.arange(RERANKED) - RERANKED / 2, strict=True))
    expected = {hit.name: hit.score + ODDS_WEIGHT * odds[hit.name] for hit in plain.hits}
    assert again.names == tuple(sorted(expected, key=lambda name: (-expected[name], name)))
    for hit in again.hits:
        assert hit.score == pytest.approx(expected[hit.name])
        assert hit.channels["rerank"] == odds[hit.name]


def test_it_reads_the_best_twenty_tools_as_they_are_indexed() -> None:
    reranker = WordReranker()
    search(searcher(MANY, reranker=reranker), "make a thing of kind 7")
    ((query, documents),) = reranker.calls
    assert query == "make a thing of kind 7"
    best = search(searcher(MANY), "make a thing of kind 7", k=RERANKED).hits
    assert documents == tuple(render_document(hit.tool) for hit in best)


def test_scores_descend_beyond_the_tools_that_were_read() -> None:
    hits = search(searcher(MANY, reranker=Backwards()), "make a thing", k=40).hits
    assert len(hits) == 40
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_tool_that_is_called_by_its_name_stays_first() -> None:
    assert search(searcher(reranker=Backwards()), "mail__send_email", k=5).names[0] == "mail__send_email"


def test_how_many_fit_and_how_surely_does_not_change() -> None:
    for query in ("send an email", "what should I cook tonight"):
        plain, again = search(searcher(), query), search(searcher(reranker=Backwards()), query)
        assert len(again.hits) == len(plain.hits)
        assert (again.nothing_fits, again.confidence) == (plain.nothing_fits, plain.confidence)


def test_each_query_of_a_request_is_ranked_by_itself_and_a_selection_by_none() -> None:
    reranker = WordReranker()
    queries = ("send an email", "find a file", "select:mail__send_email")
    searcher(reranker=reranker).search(SearchRequest(queries=queries))
    assert [query for query, _ in reranker.calls] == list(queries[:2])


def test_a_reranker_that_fails_is_left_out_with_a_notice() -> None:
    reranker = WordReranker(failures=[RerankerError("out of memory")])
    plain, again = search(searcher(), "send an email"), search(searcher(reranker=reranker), "send an email")
    assert again.names == plain.names
    assert not again.degraded
    assert "Not ranked again, as the reranker failed: RerankerError: out of memory" in again.notices


def test_a_failure_of_a_reranker_is_raised_where_that_is_asked_for() -> None:
    reranker = WordReranker(failures=[RerankerError("out of memory")])
    with pytest.raises(RerankerError, match="out of memory"):
        search(searcher(reranker=reranker, on_embedder_failure="raise"), "send an email")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [([0.0], r"shape \(1,\) for 2 documents"), ([0.0, np.nan], "not finite"), ([[1.0], [2.0]], "shape")],
)
def test_what_is_no_score_is_refused(answer: object, reason: str) -> None:
    with pytest.raises(RerankerError, match=f"'acme'.*{reason}"):
        as_log_odds(answer, n=2, reranker_id="acme")


def test_the_test_double_counts_words() -> None:
    scores = WordReranker().scores("send an email", ["send email: Send it.", "list files"])
    np.testing.assert_allclose(scores, np.log([2.5 / 1.5, 0.5 / 3.5]))
    assert isinstance(WordReranker(), Reranker)
