"""A static encoder sums what its table says of each token, and only genuine files are read."""

import hashlib
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from toolsearch.embedders.base import Embedder
from toolsearch.embedders.load import load_embedder
from toolsearch.embedders.static import (
    CONFIG,
    SCALES,
    TABLE,
    TOKENIZER,
    StaticConfig,
    StaticEmbedder,
    is_static_folder,
)
from toolsearch.embedders.tuned import TunedEmbedder
from toolsearch.exceptions import EmbedderUnavailableError

WORDS = ("[UNK]", "send", "mail", "rain")
VALUES = np.array([[0, 0], [127, 0], [0, 127], [-60, 80]], dtype=np.int8)
WEIGHTS = np.array([[0.0], [1.0], [2.0], [0.5]], dtype=np.float32)


def write_folder(folder: Path, *, values: np.ndarray = VALUES, max_tokens: int = 8) -> Path:
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / TOKENIZER))
    np.save(folder / TABLE, values)
    np.save(folder / SCALES, WEIGHTS)
    table, scales, tokens = (
        hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (TABLE, SCALES, TOKENIZER)
    )
    StaticConfig("words", values.shape[1], max_tokens, table, scales, tokens).write(folder)
    return folder


def test_a_vector_is_the_weighed_sum_of_its_tokens(tmp_path: Path) -> None:
    """By hand: (127, 0) + 2 * (0, 127), and half of (-60, 80), which is -0.6 to 0.8."""
    embedder = StaticEmbedder(write_folder(tmp_path))
    assert isinstance(embedder, Embedder)
    rows = embedder.embed_documents(["send mail", "rain", "send send", "send unheard"])
    expected = np.array([[1 / 5**0.5, 2 / 5**0.5], [-0.6, 0.8], [1, 0], [1, 0]])
    np.testing.assert_allclose(rows, expected, rtol=0, atol=1e-6)
    assert rows.dtype == np.float32
    assert (embedder.embed_queries(["send mail"]) == rows[:1]).all()


def test_a_text_has_one_vector_whatever_it_is_embedded_with(tmp_path: Path) -> None:
    embedder = StaticEmbedder(write_folder(tmp_path))
    texts = [" ".join(WORDS[1 + i % (n + 1) % 3] for i in range(n)) for n in range(1, 9)]
    together = embedder.embed_documents(texts * 200)
    for row, text in enumerate(texts):
        assert (embedder.embed_queries([text])[0] == together[row]).all()


def test_texts_without_known_tokens_give_zero_rows_and_long_ones_are_cut(tmp_path: Path) -> None:
    embedder = StaticEmbedder(write_folder(tmp_path, max_tokens=2))
    rows = embedder.embed_documents(["", "unheard", "\ud800", "send send mail mail"])
    assert rows.tolist() == [[0, 0], [0, 0], [0, 0], [1, 0]]
    assert embedder.embed_documents([]).shape == (0, 2)


def test_progress_reaches_the_number_of_texts(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    embedder = StaticEmbedder(write_folder(tmp_path))
    embedder.embed_documents(["rain"] * 1500, progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 1500), (1024, 1500), (1500, 1500)]


def test_the_id_names_the_content_and_a_folder_is_loaded_by_its_path(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder, values in ((one, VALUES), (other, VALUES[:, ::-1].copy())):
        folder.mkdir()
        write_folder(folder, values=values)
    loaded = load_embedder(str(one))
    assert isinstance(loaded, StaticEmbedder)
    assert loaded.id == StaticEmbedder(one).id
    assert loaded.id.startswith("words@")
    assert loaded.id != StaticEmbedder(other).id
    assert is_static_folder(one)
    assert not is_static_folder(tmp_path)


@pytest.mark.parametrize("name", [TABLE, SCALES, TOKENIZER])
def test_an_altered_file_is_refused(name: str, tmp_path: Path) -> None:
    write_folder(tmp_path)
    content = bytearray((tmp_path / name).read_bytes())
    content[-1] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EmbedderUnavailableError, match=r"SHA-256 differs\)\. Make it again"):
        StaticEmbedder(tmp_path).embed_queries(["rain"])


def test_a_table_of_another_size_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path, values=VALUES[:3])
    with pytest.raises(EmbedderUnavailableError, match=r"for 4 tokens of 2 dimensions"):
        StaticEmbedder(tmp_path).embed_queries(["rain"])


@pytest.mark.parametrize("content", ["", "[]", '{"name": "x"}'])
def test_a_folder_that_describes_none_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(content)
    with pytest.raises(EmbedderUnavailableError, match="describes no static encoder"):
        load_embedder(str(tmp_path))


def test_another_format_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path)
    record = asdict(StaticConfig.read(tmp_path))
    StaticConfig(**{**record, "format": 2}).write(tmp_path)
    with pytest.raises(EmbedderUnavailableError, match="format 2, and this release reads 1"):
        StaticEmbedder(tmp_path)


def test_it_reads_what_a_tuned_encoder_reads(tmp_path: Path) -> None:
    embedder = StaticEmbedder(write_folder(tmp_path))
    bundled = load_embedder()
    assert isinstance(bundled, TunedEmbedder)
    for text in ("send the mail", "天気予報", "wie wird das Wetter morgen in der Stadt"):
        assert embedder.reads(text) == bundled.reads(text)
