"""Whatever stands around an embedder passes on all that it does not change, the scale of cosines included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.embedding import DocumentsRemembered, RememberingEmbedder
from toolsearch.cli.embedding import CountingEmbedder
from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, cosine_scale
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.embedders.joined import JoinedEmbedder
from toolsearch.server.embedded_once import EmbedderOnce
from toolsearch.testing import FlakyEmbedder, HashingEmbedder

AROUND: dict[str, Callable[[Embedder, Path], Embedder]] = {
    "nothing changed": lambda inner, _: EmbedderAround(inner),
    "cached": CachedEmbedder,
    "counting": lambda inner, _: CountingEmbedder(inner),
    "once": lambda inner, _: EmbedderOnce(inner),
    "flaky": lambda inner, _: FlakyEmbedder(inner),
    "remembering": RememberingEmbedder,
    "documents remembered": DocumentsRemembered,
}


@pytest.mark.parametrize("kind", AROUND)
def test_what_stands_around_an_embedder_answers_as_it_does(kind: str, tmp_path: Path) -> None:
    inner = JoinedEmbedder(HashingEmbedder(), HashingEmbedder(dim=64))
    around = AROUND[kind](inner, tmp_path / "vectors.sqlite")
    assert (around.id, around.dim) == (inner.id, inner.dim)
    assert cosine_scale(around) == cosine_scale(inner) != 1
    assert around.reads("查询天气") == inner.reads("查询天气")
    texts = ["send a letter", "pay", ""]
    np.testing.assert_array_equal(around.embed_documents(texts), inner.embed_documents(texts))
    np.testing.assert_array_equal(around.embed_queries(texts), inner.embed_queries(texts))
