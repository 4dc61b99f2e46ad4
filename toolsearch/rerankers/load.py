"""Rerankers by a short text, as the command line takes them."""

from __future__ import annotations

from pathlib import Path

from toolsearch.exceptions import RerankerError
from toolsearch.rerankers.base import Reranker


def load_reranker(spec: str) -> Reranker:
    """The reranker that `spec` names; its model is loaded when it is first used.

    - ``st:NAME``, ``st:NAME@COMMIT``, ``st:FOLDER``: a cross-encoder of sentence-transformers from the hub,
      at a commit, or from a folder.

    Raises:
        RerankerError: `spec` is none of these.
    """
    if spec.startswith("st:") and len(spec) > len("st:"):
        from toolsearch.rerankers.sentence_transformers import CrossEncoderReranker

        model = spec.removeprefix("st:")
        name, at, commit = model.rpartition("@")
        if at and name and not Path(model).is_dir():
            return CrossEncoderReranker(name, revision=commit)
        return CrossEncoderReranker(model)
    raise RerankerError(
        f"Unknown reranker {spec!r}. Known are 'st:NAME', 'st:NAME@COMMIT' and 'st:FOLDER' (a cross-encoder "
        "of sentence-transformers)."
    )
