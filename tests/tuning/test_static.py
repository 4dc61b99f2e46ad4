"""A distilled table holds each token as the encoder embeds it alone, and the same again the next time."""

from pathlib import Path

import numpy as np
import pytest

from toolsearch.embedders.static import CONFIG, SCALES, TABLE
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.exceptions import TuningError
from toolsearch.tuning.encoder import load_encoder
from toolsearch.tuning.export import export_encoder
from toolsearch.tuning.static import SMOOTHING, distill, main_components, token_vectors, token_weights

TEXTS = ["get the weather", "send a letter", "pay money for my order"]


@pytest.fixture(scope="module")
def encoder(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> TunedEmbedder:
    folder = tmp_path_factory.mktemp("exported")
    export_encoder(
        load_encoder(tiny_model, precision="fp32", device="cpu"), folder, name="tiny", check_texts=TEXTS
    )
    return TunedEmbedder(folder, threads=1)


def test_a_token_is_the_middle_of_the_encoder_s_output(encoder: TunedEmbedder) -> None:
    """Oracle: the model over this one word."""
    vectors = token_vectors(encoder.model)
    for word in ("weather", "mail"):
        ids = encoder.model.tokenize(word)
        (hidden,) = encoder.model.hidden(np.array([ids], dtype=np.int64))
        np.testing.assert_allclose(vectors[ids[1]], hidden[1], atol=1e-4)


def test_all_components_keep_every_distance() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 6)) + 3
    projected = main_components(rows, 6)
    np.testing.assert_allclose(projected.mean(axis=0), 0, atol=1e-9)
    for i, j in ((0, 1), (3, 7), (11, 19)):
        assert np.linalg.norm(projected[i] - projected[j]) == pytest.approx(np.linalg.norm(rows[i] - rows[j]))
    spread = (projected**2).sum(axis=0)
    assert (np.diff(spread) <= 0).all()
    np.testing.assert_array_equal(main_components(rows, 2), projected[:, :2])


def test_frequent_tokens_weigh_less(encoder: TunedEmbedder) -> None:
    """The later in the vocabulary the more, and a word of the documents less than before."""
    model = encoder.model
    by_rank = token_weights(model, [])
    assert (np.diff(by_rank) > 0).all()
    assert (by_rank < 1).all()
    rain = model.tokenizer.token_to_id("rain")
    counted = token_weights(model, ["rain rain rain"] * 100_000)
    assert counted[rain] < by_rank[rain] / 2
    assert SMOOTHING * (1 / counted[rain] - 1) == pytest.approx(0.75, abs=0.01)


def test_a_table_is_a_quarter_of_a_float_near_what_it_was_made_of(
    encoder: TunedEmbedder, tmp_path: Path
) -> None:
    """Oracle: the weighed sum of unrounded vectors."""
    static = distill(encoder, tmp_path, name="acme", documents=TEXTS, dim=16)
    assert static.dim == 16
    assert static.id.startswith("acme@")
    assert np.load(tmp_path / TABLE).dtype == np.int8
    model = encoder.model
    exact = main_components(token_vectors(model), 16) * token_weights(model, TEXTS)[:, None]
    for text, row in zip(TEXTS, static.embed_documents(TEXTS), strict=True):
        expected = exact[model.tokenize(text)[1:-1]].sum(axis=0)
        assert row @ expected / np.linalg.norm(expected) > 0.999
    assert not static.embed_queries(["[UNK] [CLS] 雨"]).any()


def test_the_same_encoder_gives_the_same_files(encoder: TunedEmbedder, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        distill(encoder, tmp_path / folder, name="acme", dim=8)
    for name in (CONFIG, TABLE, SCALES):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


@pytest.mark.parametrize("dim", [0, 33])
def test_a_dimension_that_the_encoder_lacks_is_refused(
    encoder: TunedEmbedder, tmp_path: Path, dim: int
) -> None:
    with pytest.raises(TuningError, match=f"dim is {dim}; it must be from 1 to 32"):
        distill(encoder, tmp_path, name="acme", dim=dim)
