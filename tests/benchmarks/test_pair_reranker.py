"""The reranker that was tried: it computes what was trained, keeps what it has read, checks its files."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.pair_reranker import WEIGHTS, PairReranker, RerankerConfig
from toolsearch.exceptions import RerankerError
from toolsearch.rerankers.base import Reranker

QUERY = "what is the weather in my city"
DOCUMENTS = (
    "sky get forecast: Get the weather. Parameters: city",
    "post send mail: Send a letter. Parameters: draft",
    "bank pay invoice: Pay money for an invoice.",
    "get",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, np.ndarray]:
    """The folders of a reranker and of its encoder, and the scores that its model gives in torch."""
    import torch

    from benchmarks.pair_graph import export_reranker
    from benchmarks.pair_model import PairModel, encode, score_pairs
    from tests.tuning.tiny import build_tiny_model
    from toolsearch.tuning.encoder import load_encoder
    from toolsearch.tuning.export import export_encoder

    base, encoder_folder, folder = (tmp_path_factory.mktemp(name) for name in ("base", "encoder", "pairs"))
    build_tiny_model(base)
    export_encoder(load_encoder(base, precision="fp32", device="cpu"), encoder_folder, name="tiny")
    encoder = load_encoder(encoder_folder, precision="fp32", device="cpu")
    torch.manual_seed(3)
    pairs = PairModel(encoder.model, 1)
    with torch.no_grad():
        for weight in (pairs.part, pairs.head.weight):
            weight.normal_()
    export_reranker(pairs, encoder, folder, name="tiny", query_tokens=6, document_tokens=8)
    asked = encode(encoder.model, [encoder.tokenize(QUERY, 6)], 1) * len(DOCUMENTS)
    told = encode(encoder.model, [encoder.tokenize(text, 8) for text in DOCUMENTS], 1)
    return folder, encoder_folder, score_pairs(pairs, asked, told).detach().numpy()


@pytest.fixture
def reranker(made: tuple[Path, Path, np.ndarray]) -> PairReranker:
    return PairReranker(made[0], encoder=made[1])


def test_scores_are_those_of_the_model_that_was_trained(
    reranker: PairReranker, made: tuple[Path, Path, np.ndarray]
) -> None:
    scores = reranker.scores(QUERY, DOCUMENTS)
    np.testing.assert_allclose(scores, made[2], atol=0.3)
    assert np.argsort(scores).tolist() == np.argsort(made[2]).tolist()
    assert isinstance(reranker, Reranker)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pair_has_one_score_whatever_it_is_scored_with(
    made: tuple[Path, Path, np.ndarray], threads: int
) -> None:
    reranker = PairReranker(made[0], encoder=made[1], threads=threads)
    alone = [reranker.scores(QUERY, [document])[0] for document in DOCUMENTS]
    for _ in range(2):
        np.testing.assert_allclose(reranker.scores(QUERY, DOCUMENTS), alone, atol=1e-4)
    np.testing.assert_allclose(reranker.scores(QUERY, DOCUMENTS[::-1]), alone[::-1], atol=1e-4)


@pytest.mark.parametrize("kept", [0, 2])
def test_how_many_documents_are_kept_changes_no_score(
    reranker: PairReranker, made: tuple[Path, Path, np.ndarray], kept: int
) -> None:
    forgetful = PairReranker(made[0], encoder=made[1], kept=kept)
    for _ in range(2):
        np.testing.assert_allclose(
            forgetful.scores(QUERY, DOCUMENTS), reranker.scores(QUERY, DOCUMENTS), atol=1e-4
        )


def test_threads_that_score_at_once_get_the_same(reranker: PairReranker) -> None:
    expected = reranker.scores(QUERY, DOCUMENTS)
    found: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: found.append(reranker.scores(QUERY, DOCUMENTS))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for scores in found:
        np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_no_documents_have_no_scores_and_any_text_has_one(reranker: PairReranker) -> None:
    assert reranker.scores(QUERY, []).shape == (0,)
    for text in ("", "\ud800", "qqq", "get " * 9999):
        assert np.isfinite(reranker.scores(text, [text])).all()


def test_the_id_names_the_content(made: tuple[Path, Path, np.ndarray], tmp_path: Path) -> None:
    config = RerankerConfig.read(made[0])
    replace(config, document_tokens=9).write(tmp_path)
    assert PairReranker(made[0], encoder=made[1]).id.startswith("tiny@")
    assert PairReranker(made[0], encoder=made[1]).id != PairReranker(tmp_path, encoder=made[1]).id


def test_the_encoder_must_be_the_one_that_it_was_trained_on(made: tuple[Path, Path, np.ndarray]) -> None:
    with pytest.raises(RerankerError, match=r"is not the file that reranker\.json names"):
        PairReranker(made[0]).warm_up()


def test_an_altered_file_is_refused(made: tuple[Path, Path, np.ndarray], tmp_path: Path) -> None:
    RerankerConfig.read(made[0]).write(tmp_path)
    (tmp_path / WEIGHTS).write_bytes((made[0] / WEIGHTS).read_bytes()[:-1] + b"x")
    with pytest.raises(RerankerError, match="its SHA-256 differs"):
        PairReranker(tmp_path, encoder=made[1]).scores(QUERY, DOCUMENTS)


def test_a_folder_without_a_reranker_or_of_another_format_is_refused(
    made: tuple[Path, Path, np.ndarray], tmp_path: Path
) -> None:
    with pytest.raises(RerankerError, match="describes no reranker"):
        PairReranker(tmp_path)
    replace(RerankerConfig.read(made[0]), format=9).write(tmp_path)
    with pytest.raises(RerankerError, match=r"format 9.*Train it again"):
        PairReranker(tmp_path)


@pytest.mark.parametrize("wrong", [{"kept": -1}, {"threads": 0}])
def test_numbers_out_of_range_are_refused(made: tuple[Path, Path, np.ndarray], wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="not at least"):
        PairReranker(made[0], **wrong)  # type: ignore[arg-type]
