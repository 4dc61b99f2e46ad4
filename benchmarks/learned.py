"""Whether a model that learned from requests fuses better than two weights, on sets that neither saw.

    python -m benchmarks.learned --encoders DIR [--data DIR]

The cosines of each set are those of an encoder that was trained without it (`benchmarks.left_out train`), the
model is trained on all other sets. Writes benchmarks/results/tables/learned.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.ablations import TABLES_FOLDER
from benchmarks.data import BENCH_PREFIX, DEFAULT_DATA, load_named
from benchmarks.embedding import RememberingEmbedder, make_embedder
from benchmarks.encoder_card import UNSEEN
from benchmarks.left_out import FOLDS
from benchmarks.machine import describe_machine
from benchmarks.peers.comparison import sampled
from benchmarks.results import write_json
from benchmarks.scored import DEPTH, Scores, score_set
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.evaluation.report import measured_versions
from toolsearch.exceptions import ToolSearchError
from toolsearch.index.text import tokenize
from toolsearch.retrieval.fusion import LEXICAL_WEIGHT
from toolsearch.tools import JsonObject

QUERIES_PER_SET = 300
CANDIDATES = 60
SEED = 0

FEATURES = (
    "cosine",
    "BM25",
    "share of the query's rarity that the tool holds",
    "share of the name that is in the query",
    "share of the query that is in the name",
    "server's share of the fifteen best",
    "1 / (3 + rank) by cosine",
    "1 / (3 + rank) by BM25",
    "cosine times the log of the query's length",
    "BM25 times the log of the query's length",
    "cosine less the best",
)

Score = Callable[["Asked"], Scores]


@dataclass(frozen=True)
class Asked:
    """A query with its candidates, the best of both channels: `features` (m, FEATURES), `relevant` (m,)."""

    query: BenchQuery
    ids: tuple[str, ...]
    features: Scores
    relevant: NDArray[np.bool_]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write the table; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learned", description="Learn the fusion.")
    parser.add_argument("--encoders", type=Path, required=True, metavar="DIR", help="those of left_out train")
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, metavar="DIR")
    parser.add_argument("--results", type=Path, default=TABLES_FOLDER, metavar="DIR")
    options = parser.parse_args(arguments)
    try:
        asked = _asked_of_all(options.encoders, options.data)
    except ToolSearchError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    write_json(learned(asked), options.results / "learned.json")
    return 0


def learned(asked: Mapping[str, Sequence[Asked]]) -> JsonObject:
    """The table: each way to score, trained without the set that it is measured on."""
    both, content = (0, 1), (0, 1, 2, 3, 4)
    everything = tuple(range(len(FEATURES)))
    ways: dict[str, Callable[[str], Score]] = {
        "cosine alone": lambda _: _weighed((0,), np.array([1.0])),
        f"cosine + {LEXICAL_WEIGHT} BM25, the default": lambda _: _weighed(
            both, np.array([1.0, LEXICAL_WEIGHT])
        ),
        "logistic, cosine and BM25": lambda name: _weighed(both, fit_listwise(_others(asked, name), both)),
        "logistic, with shares of words": lambda name: _weighed(
            content, fit_listwise(_others(asked, name), content)
        ),
        "logistic, all": lambda name: _weighed(everything, fit_listwise(_others(asked, name), everything)),
        "boosted trees, all": lambda name: fit_trees(_others(asked, name)),
    }
    figures = {way: {name: _figures(asked[name], made(name)) for name in asked} for way, made in ways.items()}
    default = next(way for way in figures if way.endswith("the default"))
    rows = []
    for way, by_set in figures.items():
        ndcg, first = np.mean(list(by_set.values()), axis=0)
        worst = min(by_set[name][0] - figures[default][name][0] for name in asked)
        rows.append([way, round(float(ndcg), 4), round(float(first), 4), f"{100 * worst:+.1f}"])
    return {
        "title": "Learned fusion",
        "text": (
            f"{len(asked)} sets, at most {QUERIES_PER_SET} queries of each. A set's cosines are those of an "
            "encoder that was trained without it, and the model that fuses them was trained on the other "
            f"sets. Features: {'; '.join(FEATURES)}. Models that see more fit the sets that they learn from, "
            "and do no better on others, so the search keeps its two weights. The last column is NDCG@10 "
            "less the default's where that is worst."
        ),
        "command": "python -m benchmarks.learned --encoders DIR",
        "machine": describe_machine(),
        "versions": measured_versions(),
        "columns": ["score", "NDCG@10", "recall@1 of any", "worst set"],
        "rows": rows,
    }


def asked_of(dataset: Dataset, embedder: RememberingEmbedder) -> list[Asked]:
    """The queries of a data set with the candidates of both channels."""
    dataset = sampled(dataset, QUERIES_PER_SET)
    scored = score_set(dataset, embedder)
    tools = list(dataset.catalog.values())
    names = [set(tokenize(tool.raw_name)) for tool in tools]
    servers = np.array([tool.source for tool in tools])
    found = []
    for query, cosines, bm25, ceiling in zip(
        scored.queries, scored.cosines, scored.bm25, scored.ceilings, strict=True
    ):
        rows = np.union1d(_best(cosines), _best(bm25))
        words = set(tokenize(query.text))
        shared = np.array([len(names[row] & words) for row in rows])
        sizes = np.array([max(len(names[row]), 1) for row in rows])
        top = servers[rows][np.argsort(-(cosines + LEXICAL_WEIGHT * bm25)[rows], kind="stable")[:15]]
        long = np.log1p(len(words))
        features = np.column_stack(
            [
                cosines[rows],
                bm25[rows],
                bm25[rows] / (ceiling or 1.0),
                shared / sizes,
                shared / max(len(words), 1),
                [np.mean(top == server) if server else 0.0 for server in servers[rows]],
                1 / (3 + _ranks(cosines[rows])),
                1 / (3 + _ranks(bm25[rows])),
                cosines[rows] * long,
                bm25[rows] * long,
                cosines[rows] - cosines[rows].max(),
            ]
        )
        ids, served = tuple(scored.ids[row] for row in rows), query.served_by
        found.append(Asked(query, ids, features, np.array([i in served for i in ids])))
    return found


def fit_listwise(sets: Sequence[Sequence[Asked]], columns: Sequence[int], *, penalty: float = 1e-3) -> Scores:
    """Weights (columns,) that make the softmax over a query's candidates choose what is relevant.

    Each set counts the same. Source: Cao et al., ICML 2007 (ListNet), with a squared penalty on the weights
    of features that are scaled to unit variance.
    """
    asked = [(each, 1 / len(queries)) for queries in sets for each in queries if each.relevant.any()]
    features = np.concatenate([each.features[:, columns] for each, _ in asked])
    scale = features.std(axis=0) + 1e-9
    features = (features - features.mean(axis=0)) / scale
    sizes = [len(each.ids) for each, _ in asked]
    starts = np.cumsum([0, *sizes[:-1]])
    owner = np.repeat(np.arange(len(asked)), sizes)
    wanted = np.concatenate([each.relevant / each.relevant.sum() for each, _ in asked])
    weight = np.array([share for _, share in asked])[owner] / len(sets)

    def loss(weights: Scores) -> tuple[float, Scores]:
        scores = features @ weights
        scores -= np.maximum.reduceat(scores, starts)[owner]
        exponentials = np.exp(scores)
        totals = np.add.reduceat(exponentials, starts)[owner]
        value = -(weight * wanted * (scores - np.log(totals))).sum() + penalty * weights @ weights
        slope = -features.T @ (weight * (wanted - exponentials / totals)) + 2 * penalty * weights
        return float(value), slope

    found = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    weights: Scores = found.x / scale
    return weights


def fit_trees(sets: Sequence[Sequence[Asked]]) -> Score:
    """Boosted trees on all features, query by query; a tie goes by cosine."""
    asked = [(each, 1 / len(queries)) for queries in sets for each in queries if each.relevant.any()]
    model = HistGradientBoostingClassifier(
        max_depth=3, max_iter=120, min_samples_leaf=50, l2_regularization=1.0, random_state=SEED
    )
    model.fit(
        np.concatenate([each.features for each, _ in asked]),
        np.concatenate([each.relevant for each, _ in asked]),
        sample_weight=np.concatenate([np.full(len(each.ids), share) for each, share in asked]) * 1000,
    )
    return lambda each: np.asarray(model.decision_function(each.features) + 1e-6 * each.features[:, 0])


def _weighed(columns: Sequence[int], weights: Scores) -> Score:
    return lambda each: np.asarray(each.features[:, columns] @ weights)


def _figures(asked: Sequence[Asked], score: Score) -> tuple[float, float]:
    """Mean NDCG@10, and how often the first is relevant."""
    ndcg, first = [], []
    for each in asked:
        order = np.argsort(-score(each), kind="stable")
        ranked = [each.ids[place] for place in order[:DEPTH]]
        ndcg.append(metrics.ndcg_at_k(ranked, each.query.gold, DEPTH, alternatives=each.query.alternatives))
        first.append(float(each.relevant[order[0]]))
    return float(np.mean(ndcg)), float(np.mean(first))


def _others(asked: Mapping[str, Sequence[Asked]], name: str) -> list[Sequence[Asked]]:
    return [queries for other, queries in asked.items() if other != name]


def _asked_of_all(encoders: Path, data: Path) -> dict[str, list[Asked]]:
    """Each set by an encoder that never saw it."""
    asked: dict[str, list[Asked]] = {}
    for number, fold in enumerate(FOLDS, start=1):
        embedder = RememberingEmbedder(TunedEmbedder(encoders / f"fold{number}"))
        asked |= {name: asked_of(load_named(BENCH_PREFIX + name, data), embedder) for name in fold}
    bundled = make_embedder("bundled")
    return asked | {name: asked_of(load_named(name, data), bundled) for name in UNSEEN}


def _best(scores: Scores) -> NDArray[np.intp]:
    order = np.argsort(-scores, kind="stable")[:CANDIDATES]
    return order[scores[order] > 0]


def _ranks(scores: Scores) -> Scores:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return ranks


if __name__ == "__main__":
    sys.exit(main())
