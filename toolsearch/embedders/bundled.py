"""The default embedder: an encoder tuned for tools, offline and without torch."""

from __future__ import annotations

from pathlib import Path

from toolsearch.embedders.tuned import TunedEmbedder

NAME = "toolsearch-minilm"
FOLDER = Path(__file__).parent / "data"
"""Holds the encoder as `toolsearch tune` writes one, and its model card."""

DIM = 384
MAX_TOKENS = 256
"""Longer texts are cut here; [CLS] and [SEP] count."""


class BundledEmbedder(TunedEmbedder):
    """Embeds with all-MiniLM-L6-v2 tuned for requests and tools: mean over tokens, 384 dimensions, English.

    Weights and tokenizer come with this package and are checked by SHA-256 when they are first used. Nothing
    is downloaded. What it was trained on, what that gained and where it is weak is in ``MODEL_CARD.md``
    beside them.

    A text has the same vector, bit for bit, whatever it is embedded with and on however many threads:
    only texts of equal token length share a batch, so none is padded, and each batch runs on one thread.
    Documents and queries are embedded alike.

    Line ends, case, accents, control characters and lone surrogates make no difference to the model.
    A text without any known token, such as an empty one, gives a zero row.
    """

    _OWNER = "The bundled embedder's file"
    _REMEDY = "Reinstall it: pip install --force-reinstall --no-deps toolsearch"

    def __init__(self, *, max_tokens: int = MAX_TOKENS, threads: int | None = None) -> None:
        """Loads nothing yet.

        Args:
            max_tokens: Texts are cut here, from 3 to 512. Fewer embed faster and change the `id`.
            threads: For many texts at once; None takes every processor that this process may use.
        """
        super().__init__(FOLDER, max_tokens=max_tokens, threads=threads)

    def __repr__(self) -> str:
        return f"BundledEmbedder(id={self.id!r}, threads={self.threads})"
