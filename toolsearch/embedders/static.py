"""A table of token vectors from its folder: the fastest embedder, and the weakest."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.files import check_file, id_of, read_facts, write_facts
from toolsearch.embedders.language import english_share
from toolsearch.embedders.onnx import MAX_CHARACTERS
from toolsearch.embedders.text import without_surrogates
from toolsearch.exceptions import EmbedderUnavailableError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CONFIG = "static.json"
TABLE = "tokens.int8.npy"
SCALES = "scales.npy"
TOKENIZER = "tokenizer.json"
FORMAT = 1

# Texts that are tokenized together; after each lot, progress is told.
_LOT = 1024


@dataclass(frozen=True)
class StaticConfig:
    """What a folder's ``static.json`` says.

    Attributes:
        name: Begins the embedder's id.
        dim: Length of each vector.
        max_tokens: Texts are cut here.
        table_sha256, scales_sha256, tokenizer_sha256: Of the other files.
    """

    name: str
    dim: int
    max_tokens: int
    table_sha256: str
    scales_sha256: str
    tokenizer_sha256: str
    format: int = FORMAT

    @property
    def id(self) -> str:
        """The name and a digest of all that decides the vectors."""
        return id_of(self.name, self, MAX_CHARACTERS)

    def write(self, folder: Path) -> None:
        """Write ``static.json``."""
        write_facts(self, folder / CONFIG)

    @classmethod
    def read(cls, folder: Path) -> StaticConfig:
        """What `write` left.

        Raises:
            EmbedderUnavailableError: there is no such file, or it is none that this release can read.
        """
        return read_facts(
            cls, folder / CONFIG, encoder="static encoder", reads=FORMAT, remedy="Make it again."
        )


class StaticEmbedder:
    """Embeds with a table that ``toolsearch tune --static`` wrote: the sum of a text's token vectors.

    Words stand for themselves, whatever stands around them. That is much faster than an encoder and finds
    fewer tools: docs/tuning.md says when it is worth it. A text has the same vector whatever it is embedded
    with; one without any known token, such as an empty one, gives a zero row.

    The files are checked by SHA-256 when they are first used, and the id names their content.
    """

    def __init__(self, folder: Path | str) -> None:
        """Reads ``static.json`` and loads nothing yet.

        Raises:
            EmbedderUnavailableError: the folder holds no static encoder.
        """
        self.folder = Path(folder)
        self._config = StaticConfig.read(self.folder)
        self.id = self._config.id
        self.dim = self._config.dim
        self._opening = threading.Lock()

    def __repr__(self) -> str:
        return f"StaticEmbedder({str(self.folder)!r}, id={self.id!r})"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, dim), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: a file is missing or altered.
        """
        with self._opening:
            tokenizer, table = self._loaded
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        if progress is not None:
            progress(0, len(texts))
        for start in range(0, len(texts), _LOT):
            lot = [without_surrogates(text[:MAX_CHARACTERS]) for text in texts[start : start + _LOT]]
            for row, found in enumerate(tokenizer.encode_batch_fast(lot, add_special_tokens=False), start):
                table.take(found.ids, axis=0).sum(axis=0, out=rows[row])
            if progress is not None:
                progress(start + len(lot), len(texts))
        return as_unit_rows(rows, n=len(texts), dim=self.dim, embedder_id=self.id)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, dim), float32; a text has the same vector as a query and as a document."""
        return self.embed_documents(texts)

    def reads(self, text: str) -> float:
        """Share of the text's letters that are Latin, half of that in another language than English."""
        return english_share(text[:MAX_CHARACTERS])

    @cached_property
    def _loaded(self) -> tuple[Tokenizer, Vectors]:
        """The tokenizer, and the vector of each token by its id, as long as the token weighs."""
        import tokenizers

        config = self._config
        for name, sha256 in (
            (TABLE, config.table_sha256),
            (SCALES, config.scales_sha256),
            (TOKENIZER, config.tokenizer_sha256),
        ):
            check_file(
                self.folder / name,
                sha256,
                owner="The static encoder's file",
                expected=f"{CONFIG} names",
                remedy="Make it again, or copy the whole folder.",
            )
        try:
            table = np.load(self.folder / TABLE, allow_pickle=False)
            scales = np.load(self.folder / SCALES, allow_pickle=False)
            tokenizer = tokenizers.Tokenizer.from_file(str(self.folder / TOKENIZER))
        except Exception as exc:
            # The tokenizer raises errors of its own kind.
            raise EmbedderUnavailableError(f"{str(self.folder)!r} cannot be loaded: {exc}") from exc
        n_tokens = tokenizer.get_vocab_size()
        if table.shape != (n_tokens, config.dim) or scales.shape != (n_tokens, 1):
            raise EmbedderUnavailableError(
                f"The table in {str(self.folder)!r} is {table.shape} with {scales.shape} scales, for "
                f"{n_tokens} tokens of {config.dim} dimensions. Make it again."
            )
        tokenizer.no_padding()
        tokenizer.enable_truncation(config.max_tokens)
        return tokenizer, table.astype(np.float32) * scales.astype(np.float32)


def is_static_folder(path: Path | str) -> bool:
    """Whether this folder holds what ``toolsearch tune --static`` writes."""
    return (Path(path) / CONFIG).is_file()
