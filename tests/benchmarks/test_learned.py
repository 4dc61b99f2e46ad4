"""Learned fusion: what is learned is what separates, and each set is left out of its own training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.embedding import RememberingEmbedder
from benchmarks.learned import FEATURES, Asked, asked_of, fit_listwise, learned
from benchmarks.scored import score_set
from tests.benchmarks.test_ablations import DATASET
from toolsearch.evaluation.datasets import BenchQuery
from toolsearch.testing import HashingEmbedder

IDS = ("a", "b", "c", "d")


def asked(seed: int, *, by: int, n: int = 40) -> list[Asked]:
    """Queries whose relevant tool is the one with the most of feature `by`."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(n):
        features = rng.normal(size=(len(IDS), len(FEATURES)))
        relevant = features[:, by] == features[:, by].max()
        gold = IDS[int(relevant.argmax())]
        found.append(Asked(BenchQuery(f"q{number}", "?", (gold,)), IDS, features, relevant))
    return found


def test_the_feature_that_decides_gets_the_weight() -> None:
    weights = fit_listwise([asked(0, by=3), asked(1, by=3)], range(len(FEATURES)))
    others = np.delete(weights, 3)
    assert weights[3] > 5 * np.abs(others).max()


def test_a_set_is_measured_by_what_the_others_taught() -> None:
    """Where the others teach a feature that says nothing of this set, it is ranked by chance."""
    table = learned({"one": asked(0, by=3), "two": asked(1, by=3), "odd": asked(2, by=4, n=200)})
    rows = {row[0]: row for row in table["rows"]}
    fooled = learned({"one": asked(0, by=3), "two": asked(1, by=3)})
    right = {row[0]: row for row in fooled["rows"]}
    assert right["logistic, all"][2] > 0.8
    assert rows["logistic, all"][2] < right["logistic, all"][2] - 0.1


def test_candidates_hold_the_best_of_both_channels_with_their_scores(tmp_path: Path) -> None:
    embedder = RememberingEmbedder(HashingEmbedder(), tmp_path / "vectors.sqlite")
    scored = score_set(DATASET, embedder)
    for number, each in enumerate(asked_of(DATASET, embedder)):
        places = [scored.ids.index(tool_id) for tool_id in each.ids]
        assert each.features[:, 0].tolist() == scored.cosines[number][places].tolist()
        assert each.features[:, 1].tolist() == scored.bm25[number][places].tolist()
        assert scored.ids[int(scored.cosines[number].argmax())] in each.ids
        assert [
            tool_id for tool_id, is_gold in zip(each.ids, each.relevant, strict=True) if is_gold
        ] == sorted(each.query.gold)
