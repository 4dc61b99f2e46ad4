"""Requests answered in a row, each with what those before it have taught, and then teaching itself."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.comparison import sampled
from benchmarks.results import SEED
from toolsearch.embedders.base import Embedder, Vectors
from toolsearch.evaluation import metrics
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.fusion import NAME_WEIGHT, Channels
from toolsearch.retrieval.learned import learned_of
from toolsearch.retrieval.query import clean_query, searched_steps
from toolsearch.retrieval.ranking import rank, wordings
from toolsearch.retrieval.teaching import can_compare
from toolsearch.retrieval.usage import LearnedUsage, UsageEvent
from toolsearch.retrieval.usage_score import UsageWeights

FOUND = 10
"""A tool can be called, and so be learned, only where it was among so many hits."""

NEAR_DUPLICATE = 0.95
"""Cosine with an earlier request from which on a request is taken for the same one."""

MINUTES_APART = 10
K = 10
KINDS = ("with a history", "without one", "repeated")


@dataclass(frozen=True)
class Arm:
    """A way to replay.

    Attributes:
        silent: Share of the tools that nobody ever tells anything of.
        wrong: Share of what is told that names another hit than a relevant one.
    """

    name: str
    weights: UsageWeights = field(default_factory=UsageWeights)
    silent: float = 0.5
    wrong: float = 0.0


@dataclass(frozen=True)
class Request:
    """A request with its vector and what the other channels say of it; `vector` None where it is unread."""

    query: BenchQuery
    vector: Vectors | None
    channels: Channels


@dataclass(frozen=True)
class Replayed:
    """The requests of a set in the order in which they are replayed."""

    name: str
    index: ToolIndex
    dataset: Dataset
    requests: tuple[Request, ...]
    idle: Vectors

    @property
    def ids(self) -> Sequence[str]:
        return [self.dataset.id_of[name] for name in self.index.columns.names]


@dataclass(frozen=True)
class Change:
    """What learning changed for one request, in NDCG@10, recall@1, recall@5 and completeness@10."""

    kind: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    def of(self, measure: int) -> float:
        return self.after[measure] - self.before[measure]


def prepared(whole: Dataset, embedder: Embedder, *, at_most: int) -> Replayed:
    """A set in a seeded order, which stands in for time: no set says when its requests were made."""
    dataset = sampled(whole, at_most)
    index = ToolIndex.build(dataset.catalog, embedder)
    order = sorted(dataset.queries, key=lambda query: _drawn("order", query.id))
    requests = tuple(_request(index, query, embedder) for query in order)
    idle = embedder.embed_queries([clean_query(query.text)[0] for query in whole.queries if not query.gold])
    return Replayed(whole.name, index, dataset, requests, idle)


def replay(one: Replayed, arm: Arm) -> tuple[list[Change], LearnedUsage]:
    """What learning changed for each request that some tool serves, and what was learned in the end."""
    now = [0.0]
    usage = LearnedUsage(weights=arm.weights, clock=lambda: now[0])
    rng = random.Random(SEED)  # noqa: S311 - it only has to be the same each time
    ids, row_of = one.ids, {tool_id: row for row, tool_id in enumerate(one.ids)}
    silent = {row for row, tool_id in enumerate(ids) if _drawn("silent", tool_id) < arm.silent}
    digests = one.index.columns.document_digests
    told: set[int] = set()
    past = np.zeros((len(one.requests), one.index.vectors.dim), dtype=np.float32)
    changes = []
    for number, request in enumerate(one.requests):
        now[0] += MINUTES_APART * 60
        gold = {row_of[tool_id] for tool_id in request.query.gold}
        served = {row_of[tool_id] for tool_id in request.query.served_by if tool_id in row_of}
        before = best_rows(request.channels)
        after = before
        if request.vector is not None:
            after = best_rows(with_usage(request, one.index, usage))
            repeated = number > 0 and float((past[:number] @ request.vector).max()) >= NEAR_DUPLICATE
            kind = KINDS[2] if repeated else KINDS[0] if gold & told else KINDS[1]
            past[number] = request.vector
            changes.append(Change(kind, _figures(before, request, ids), _figures(after, request, ids)))
        for row in sorted(gold):
            if request.vector is None or row not in after[:FOUND]:
                continue
            taught = row
            others = [hit for hit in after[:FOUND] if hit not in served]
            if rng.random() < arm.wrong and others:
                taught = rng.choice(others)
            if taught in silent:
                continue
            name = one.index.columns.names[taught]
            session = f"session {number}"
            usage.learn(
                UsageEvent(name, digests[taught], "succeeded", request.vector, session_id=session, at=now[0])
            )
            if taught == row:
                told.add(row)
    return changes, usage


def _request(index: ToolIndex, query: BenchQuery, embedder: Embedder) -> Request:
    text, steps = clean_query(query.text)[0], searched_steps(query.text)
    texts = list(dict.fromkeys((text, *steps)))
    vectors = dict(zip(texts, embedder.embed_queries(texts), strict=True))
    worded = wordings(index, texts, vectors, embedder, None)
    found = rank(index, worded[text], None, steps=[worded[step] for step in steps])
    vector = vectors[text] if can_compare(embedder, text) else None
    by_row = found.channels.taken(np.argsort(found.rows, kind="stable"))
    return Request(query, vector, by_row)


def with_usage(request: Request, index: ToolIndex, usage: LearnedUsage) -> Channels:
    """The channels with what past requests add; rows that no other channel puts forward have its least."""
    assert request.vector is not None
    learned = learned_of(usage, index, request.vector[None, :], tenant="", allowed=None)
    if learned is None:
        return request.channels
    new = np.setdiff1d(learned.rows, request.channels.rows)
    return learned.lifted(_joined(request, index, new) if len(new) else request.channels)


def _joined(request: Request, index: ToolIndex, new: NDArray[np.int64]) -> Channels:
    channels = request.channels
    assert request.vector is not None
    lexical = index.lexicon.weigh(clean_query(request.query.text)[0]).of(new).astype(np.float64)
    dense = index.vectors.similarity(request.vector, new).astype(np.float64)
    rows = np.concatenate([channels.rows, new])
    order = np.argsort(rows, kind="stable")
    lift = None if channels.lift is None else np.concatenate([channels.lift, np.zeros(len(new))])[order]
    return Channels(
        rows[order],
        np.concatenate([channels.dense, dense])[order],
        np.concatenate([channels.lexical, lexical])[order],
        np.concatenate([channels.name, np.zeros(len(new))])[order],
        channels.reads,
        lift,
    )


def best_rows(channels: Channels) -> list[int]:
    """The best rows as a search ranks them."""
    scores = channels.learned() + NAME_WEIGHT * channels.name
    best: list[int] = channels.rows[np.argsort(-scores, kind="stable")[: max(K, FOUND)]].tolist()
    return best


def _figures(rows: Sequence[int], request: Request, ids: Sequence[str]) -> tuple[float, ...]:
    ranked, query = [ids[row] for row in rows], request.query
    other = query.alternatives
    return (
        metrics.ndcg_at_k(ranked, query.gold, K, alternatives=other),
        metrics.recall_at_k(ranked, query.gold, 1, alternatives=other),
        metrics.recall_at_k(ranked, query.gold, 5, alternatives=other),
        metrics.completeness_at_k(ranked, query.gold, K, alternatives=other),
    )


def _drawn(what: str, key: str) -> float:
    """A number from 0 to 1 that follows from `key` and the seed."""
    digest = sha256(f"{SEED} {what} {key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
