"""Any cross-encoder of the sentence-transformers library, by name or from a folder."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolsearch.embedders.text import without_surrogates
from toolsearch.exceptions import RerankerError
from toolsearch.rerankers.base import LogOdds, as_log_odds

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

_MAX_CHARACTERS = 16_384


class CrossEncoderReranker:
    """Scores with a cross-encoder that sentence-transformers can load and that has one output.

    Its output is taken as log odds, which is what models trained with binary cross-entropy give. A folder
    is read as it is and nothing is downloaded. A name is looked up on the Hugging Face hub and kept in its
    cache.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        device: str | None = None,
        max_tokens: int = 256,
        local_files_only: bool = False,
    ) -> None:
        """Loads nothing yet.

        Args:
            name_or_path: A folder, or a name such as ``"cross-encoder/ms-marco-MiniLM-L6-v2"``.
            revision: A branch, tag or commit of a named model.
            device: Such as ``"cpu"`` or ``"cuda"``; None takes the best one.
            max_tokens: Where a query and a document together are cut.
            local_files_only: A named model must be in the cache already.
        """
        self._name = str(name_or_path)
        self._revision = revision
        self._device = device
        self._max_tokens = max_tokens
        self._local_files_only = local_files_only or Path(name_or_path).is_dir()
        # Also held while the model runs: tokenizers of transformers keep their padding as state.
        self._lock = threading.Lock()
        at = f"@{revision}" if revision else ""
        self.id = f"cross-encoder:{self._name}{at}/{max_tokens}"

    def __repr__(self) -> str:
        return f"CrossEncoderReranker({self._name!r})"

    def scores(self, query: str, documents: Sequence[str]) -> LogOdds:
        """Log odds (n,) that each document serves the query, in the order of `documents`.

        Raises:
            RerankerError: the library, or the model, is missing or cannot be loaded, has not one output, or
                failed.
        """
        if not documents:
            return np.zeros(0)
        asked = without_surrogates(query[:_MAX_CHARACTERS])
        pairs = [(asked, without_surrogates(document[:_MAX_CHARACTERS])) for document in documents]
        with self._lock:
            model = self._model
            try:
                values: Any = model.predict(
                    pairs, activation_fn=_identity(), show_progress_bar=False, convert_to_numpy=True
                )
            except Exception as exc:
                raise RerankerError(f"The reranker {self._name!r} failed: {exc}") from exc
        return as_log_odds(values, n=len(documents), reranker_id=self.id)

    @cached_property
    def _model(self) -> CrossEncoder:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as exc:
            raise RerankerError(
                f"A cross-encoder needs the package {exc.name!r}. "
                "Install it: pip install 'toolsearch[sentence-transformers]'"
            ) from exc
        try:
            found: CrossEncoder = CrossEncoder(
                self._name,
                revision=self._revision,
                device=self._device,
                max_length=self._max_tokens,
                local_files_only=self._local_files_only,
            )
        except Exception as exc:
            raise RerankerError(f"The reranker {self._name!r} cannot be loaded: {exc}") from exc
        return found


def _identity() -> Any:
    from torch import nn

    return nn.Identity()
