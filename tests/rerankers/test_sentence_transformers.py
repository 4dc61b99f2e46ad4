"""Cross-encoders of sentence-transformers, from a folder: log odds as the model gives them."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.rerankers.tiny import build_tiny_cross_encoder
from toolsearch.exceptions import RerankerError
from toolsearch.rerankers.base import Reranker
from toolsearch.rerankers.sentence_transformers import CrossEncoderReranker

pytestmark = pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="needs the extra 'sentence-transformers'"
)

QUERY = "send a letter"
DOCUMENTS = ("post send mail: Send a letter.", "bank pay invoice: Pay money for an invoice.", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cross")
    build_tiny_cross_encoder(folder)
    return folder


def test_scores_are_the_outputs_of_the_model(folder: Path) -> None:
    from sentence_transformers import CrossEncoder
    from torch import nn

    expected = CrossEncoder(str(folder), max_length=32, device="cpu").predict(
        [(QUERY, document) for document in DOCUMENTS], activation_fn=nn.Identity(), show_progress_bar=False
    )
    reranker = CrossEncoderReranker(folder, max_tokens=32, device="cpu")
    np.testing.assert_allclose(reranker.scores(QUERY, DOCUMENTS), expected, atol=1e-5)
    assert reranker.scores(QUERY, []).shape == (0,)
    assert isinstance(reranker, Reranker)


def test_any_text_is_scored(folder: Path) -> None:
    reranker = CrossEncoderReranker(folder, max_tokens=32, device="cpu")
    assert np.isfinite(reranker.scores("\ud800", ["\udfff", "send " * 9999])).all()


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RerankerError, match="cannot be loaded"):
        CrossEncoderReranker(tmp_path, device="cpu").scores(QUERY, DOCUMENTS)


def test_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(RerankerError, match=r"toolsearch\[sentence-transformers\]"):
        CrossEncoderReranker(folder).scores(QUERY, DOCUMENTS)
