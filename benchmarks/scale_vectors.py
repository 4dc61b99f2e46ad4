"""Vectors for a million tools: those of the real ones, and for their copies noisy ones.

Embedding a million texts takes hours. So the real tools are embedded, and some hundred of their copies, which
shows how far the vector of a copy is from that of its original, and in which directions. Every copy then gets
the vector of its original, moved as far as one of the measured copies, in a random mix of their directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale_catalog import copy_of
from toolsearch.document import render_document
from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.tools import JsonObject, Tool

SAMPLE = 600
_SEED = 0


@dataclass(frozen=True)
class Noise:
    """How copies differ from their originals.

    Attributes:
        cosines: (s,) of the measured copies with their originals.
        directions: (s, dim) in which these copies lie, beyond their originals.
    """

    cosines: NDArray[np.float32]
    directions: Vectors

    @classmethod
    def measured(cls, real: Sequence[Tool], embedder: Embedder, *, sample: int = SAMPLE) -> Noise:
        """That of `sample` copies of the first real tools, each with another number."""
        originals = embedder.embed_documents([render_document(tool) for tool in real[:sample]])
        copies = embedder.embed_documents(
            [render_document(copy_of(tool, 1 + i % 23)) for i, tool in enumerate(real[:sample])]
        )
        cosines = np.einsum("ij,ij->i", originals, copies)
        return cls(cosines, copies - cosines[:, None] * originals)

    def moved(self, original: Vectors, seeds: Sequence[Sequence[int]]) -> Vectors:
        """Unit rows (m, dim) that are to the rows of `original` as copies are; the same for equal seeds."""
        generators = [np.random.default_rng(seed) for seed in seeds]
        cosines = np.array([generator.choice(self.cosines) for generator in generators], dtype=np.float32)
        mixes = np.stack(
            [generator.standard_normal(len(self.directions), dtype=np.float32) for generator in generators]
        )
        away = mixes @ self.directions
        away -= np.einsum("ij,ij->i", away, original)[:, None] * original
        away /= np.linalg.norm(away, axis=1, keepdims=True)
        cosines = np.clip(cosines, -1, 1)[:, None]
        rows: Vectors = cosines * original + np.sqrt(1 - cosines**2) * away
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def to_json(self) -> JsonObject:
        """What a reader should know of it."""
        low, middle, high = np.percentile(self.cosines, [10, 50, 90])
        return {
            "sample": len(self.cosines),
            "cosine_p10": round(float(low), 3),
            "cosine_p50": round(float(middle), 3),
            "cosine_p90": round(float(high), 3),
        }


class CopiesEmbedder(EmbedderAround):
    """The vectors of `tools`, as `scale_tools` gives them; of any other text what `inner` says."""

    def __init__(self, inner: Embedder, tools: Sequence[Tool], n_real: int, cache: Path) -> None:
        super().__init__(inner)
        cached = CachedEmbedder(inner, cache)
        real = tools[:n_real]
        self.noise = Noise.measured(real, cached, sample=min(SAMPLE, len(real)))
        self._real = cached.embed_documents([render_document(tool) for tool in real])
        # Texts are told apart by their hash, which takes a tenth of their memory.
        self._place_of = {hash(render_document(tool)): place for place, tool in enumerate(tools)}

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        del progress
        places = np.array([self._place_of[hash(text)] for text in texts], dtype=np.int64)
        originals, numbers = places % len(self._real), places // len(self._real)
        rows = self._real[originals]
        copied = np.flatnonzero((numbers > 0) & rows.any(axis=1))
        if len(copied):
            seeds = [(_SEED, int(place)) for place in places[copied]]
            rows[copied] = self.noise.moved(rows[copied], seeds)
        return rows
