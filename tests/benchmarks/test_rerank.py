"""The table of reranking and the data of its training: each figure against a slow, obvious oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from benchmarks.ablations import main
from benchmarks.embedding import RememberingEmbedder
from benchmarks.rerank import fit_logistic
from benchmarks.reranked import rerank_set
from benchmarks.reranker_data import CANDIDATES, Ranked, groups, noised, told_source
from benchmarks.scored import score_set
from tests.benchmarks.office import office
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.retrieval.reranking import RERANKED
from toolsearch.testing import WordReranker
from toolsearch.tools import Tool
from toolsearch.tuning.pairs import dataset_source

DATASET = office(
    "make", "drop", "find", "move", "sort", "hide", duplicates=[("desk.drop_parcel", "desk.hide_parcel")]
)


def test_the_best_tools_are_those_of_the_fused_score_with_and_without_what_serves(
    embedder: RememberingEmbedder,
) -> None:
    made, scored = rerank_set(DATASET, embedder, WordReranker()), score_set(DATASET, embedder)
    fused = scored.fused(LEXICAL_WEIGHT, 0.0)
    groups_of = dict(DATASET.group_of)
    for i, query in enumerate(made.queries):
        order = np.argsort(-fused[i], kind="stable")
        assert made.present.rows[i].tolist() == order[:RERANKED].tolist()
        served = {groups_of.get(gold, gold) for gold in query.gold}
        left = [row for row in order if groups_of.get(scored.ids[row], scored.ids[row]) not in served]
        assert made.absent.rows[i].tolist() == left[:RERANKED]
    assert made.kept.tolist() == [True, True]


def test_rankings_are_by_the_fused_score_and_the_weighed_odds(embedder: RememberingEmbedder) -> None:
    made = rerank_set(DATASET, embedder, WordReranker())
    for weight in (0.0, 0.5):
        for i, ids in enumerate(made.rankings(weight)):
            scores = made.present.fused[i] + weight * made.present.odds[i]
            best = sorted(range(RERANKED), key=lambda place: -scores[place])[:10]
            assert ids == [made.ids[made.present.rows[i][place]] for place in best]
    first = [ids[0] for ids in made.rankings(0.0, alone=True)]
    heads = zip(made.present.rows, made.present.odds, strict=True)
    assert first == [made.ids[rows[odds.argmax()]] for rows, odds in heads]


def test_the_logistic_tells_present_tools_from_absent_ones(embedder: RememberingEmbedder) -> None:
    made = rerank_set(DATASET, embedder, WordReranker())
    best = fit_logistic([made])
    assert best(made.present).min() > best(made.absent).max()


def test_a_group_is_a_query_with_what_serves_it_and_what_does_not() -> None:
    source = dataset_source(DATASET)
    hard = tuple(range(12))
    examples = [
        replace(each, hard=tuple(row for row in hard if row not in each.positives))
        for each in source.examples
    ]
    ranked = [Ranked(source.with_examples(examples), 1.0)]
    by_query = {example.query.split()[0]: example for example in examples}
    drawn = list(islice(groups(ranked, seed=0), 60))
    assert drawn == list(islice(groups(ranked, seed=0), 60))
    for group in drawn:
        assert len(group.documents) == len(group.relevant) == CANDIDATES
        asked = next((each for word, each in by_query.items() if word in group.query.split()), None)
        serving = {text for text, serves in zip(group.documents, group.relevant, strict=True) if serves}
        if asked is not None:
            assert serving <= {source.documents[row] for row in asked.positives}
    absent = [group for group in drawn if not any(group.relevant)]
    assert 5 < len(absent) < 30


def test_a_tool_is_asked_for_by_its_first_sentence_which_is_then_left_out() -> None:
    tools = [
        Tool(raw_name="a", description="Gets the weather of a city. Needs a key."),
        Tool(raw_name="b", description="Says nothing more than this"),
        Tool(raw_name="c", description="Short. Then more."),
    ]
    source = told_source("sky", tools, 0)
    assert [example.query for example in source.examples] == ["get the weather of a city"]
    assert source.documents == ("a: Needs a key.",)


def test_noise_drops_words_and_keeps_their_order() -> None:
    import random

    text = "please find me the cheapest flight from Lisbon to Oslo"
    drawn = random.Random(0)
    texts = {noised(text, drawn) for _ in range(50)}
    assert text in texts
    assert len(texts) > 3
    words = text.split()
    for each in texts:
        rest = iter(words)
        assert all(word in rest for word in each.split())
    assert noised("send an email", drawn) == "send an email"


def test_the_table_of_reranking_needs_a_reranker(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--table", "rerank"])
    assert "needs --reranker" in capsys.readouterr().err
