"""How well past requests support tools: near ones only, by how many sessions agree, and by how recent.

The weights are chosen by replaying dev queries (`python -m benchmarks.usage_replay`): see docs/benchmarks.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toolsearch.checks import check_number, check_whole
from toolsearch.embedders.base import Vectors


@dataclass(frozen=True)
class UsageWeights:
    """How much past requests count.

    Attributes:
        floor: Cosine of a past request with the one at hand from which on it counts.
        reach: Towards how many times the query's best score a supported tool is lifted.
        prior: Sessions that are supposed to speak against each tool, so that one lucky call counts little.
        most_lifted: The most tools that are lifted for one query, so that no tool falls by more places.
        half_life_s: Seconds after which a request counts half.

    Raises:
        ValueError, TypeError: one of them is out of range.
    """

    floor: float = 0.4
    reach: float = 1.05
    prior: float = 1.0
    most_lifted: int = 5
    half_life_s: float = 60 * 24 * 3600.0

    def __post_init__(self) -> None:
        if not 0 < self.floor < 1:
            raise ValueError(f"floor is {self.floor}; it must be between 0 and 1.")
        check_number("reach", self.reach)
        check_number("prior", self.prior)
        check_whole("most_lifted", self.most_lifted)
        check_number("half_life_s", self.half_life_s)


_NEIGHBOURS = 200
_GROWS_BY = 64


class Key(NamedTuple):
    """A request that led to a tool, once for each session; `vector` are the bytes of the request's row."""

    tool: str
    document: bytes
    session: str
    vector: bytes


@dataclass(frozen=True)
class Evidence:
    """What a request says for a tool and against it, 0 to 1, and when that was told."""

    good: float
    bad: float
    at: float


class Past:
    """The requests of one tenant, the oldest first, with their vectors in one array."""

    def __init__(self) -> None:
        self._slots: dict[Key, int] = {}
        self._evidence: dict[Key, Evidence] = {}
        self._by_tool: dict[str, dict[Key, None]] = {}
        self._keys: list[Key | None] = []
        self._free: list[int] = []
        self._vectors: Vectors = np.zeros((0, 0), dtype=np.float32)

    def __len__(self) -> int:
        return len(self._slots)

    def get(self, key: Key) -> Evidence | None:
        return self._evidence.get(key)

    def evidence(self, key: Key) -> Evidence:
        return self._evidence[key]

    def of_tool(self, tool: str) -> tuple[Key, ...]:
        """The requests that led to a tool, the oldest first."""
        return tuple(self._by_tool.get(tool, ()))

    def put(self, key: Key, vector: Vectors, evidence: Evidence) -> None:
        """Keep `evidence`, now the newest."""
        if key in self._slots:
            self.drop([key])
        slot = self._free.pop() if self._free else self._new_slot(len(vector))
        self._slots[key] = slot
        self._evidence[key] = evidence
        self._by_tool.setdefault(key.tool, {})[key] = None
        self._keys[slot] = key
        self._vectors[slot] = vector

    def drop(self, keys: Iterable[Key]) -> None:
        for key in list(keys):
            slot = self._slots.pop(key)
            del self._evidence[key]
            del self._by_tool[key.tool][key]
            if not self._by_tool[key.tool]:
                del self._by_tool[key.tool]
            self._keys[slot] = None
            self._vectors[slot] = 0
            self._free.append(slot)

    def drop_oldest(self) -> None:
        self.drop([next(iter(self._slots))])

    def near(self, vectors: Vectors, floor: float) -> Iterator[tuple[Key, Evidence, float]]:
        """The nearest requests whose best cosine with one of `vectors` is at least `floor`, nearest first."""
        if not len(self._keys):
            return
        cosines = (self._vectors[: len(self._keys)] @ vectors.T).max(axis=1)
        slots = np.flatnonzero(cosines >= floor)
        for slot in slots[np.argsort(-cosines[slots], kind="stable")][:_NEIGHBOURS].tolist():
            key = self._keys[slot]
            if key is not None:
                yield key, self._evidence[key], float(cosines[slot])

    def _new_slot(self, dim: int) -> int:
        slot = len(self._keys)
        if slot >= len(self._vectors):
            grown = np.zeros((slot + max(_GROWS_BY, slot // 2), dim), dtype=np.float32)
            if slot:
                grown[:slot] = self._vectors[:slot]
            self._vectors = grown
        self._keys.append(None)
        return slot


def usage_support(
    past: Past, vectors: Vectors, *, now: float, weights: UsageWeights
) -> dict[tuple[str, bytes], float]:
    """``sqrt(nearest) * (good - bad) / (all + bad + prior)`` of each tool where that is above 0; below 1.

    A past request counts ``(cosine - floor) / (1 - floor)``, half of it after each half-life. `good` and
    `bad` add up the sessions that speak for the tool and against it, `all` those that speak for any tool;
    each counts by its best request. `nearest` is the nearest request that speaks for the tool, without
    regard to age. By public name and digest of the tool's text.

    So a tool is supported as far as sessions with requests like this one agree on it.
    """
    good: dict[tuple[str, bytes], dict[str, float]] = defaultdict(dict)
    bad: dict[tuple[str, bytes], dict[str, float]] = defaultdict(dict)
    everybody: dict[str, float] = {}
    nearest: dict[tuple[str, bytes], float] = {}
    for key, evidence, cosine in past.near(vectors, weights.floor):
        tool = key.tool, key.document
        nearness = (min(cosine, 1.0) - weights.floor) / (1 - weights.floor)
        weight = nearness * 0.5 ** (max(now - evidence.at, 0.0) / weights.half_life_s)
        if evidence.good:
            nearest[tool] = max(nearest.get(tool, 0.0), nearness)
        for sessions, share in (
            (good[tool], evidence.good),
            (everybody, evidence.good),
            (bad[tool], evidence.bad),
        ):
            sessions[key.session] = max(sessions.get(key.session, 0.0), weight * share)
    total = sum(everybody.values())
    supports = {}
    for tool, nearness in nearest.items():
        for_it, against = sum(good[tool].values()), sum(bad[tool].values())
        support = math.sqrt(nearness) * (for_it - against) / (total + against + weights.prior)
        if support > 0:
            supports[tool] = support
    return supports
