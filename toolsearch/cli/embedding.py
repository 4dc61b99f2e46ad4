"""Embedders as commands use them: chosen by id, with vectors kept for later runs, and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from toolsearch.embedders.around import EmbedderAround
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.embedders.load import load_embedder
from toolsearch.exceptions import ToolIndexError
from toolsearch.index.folder import read_manifest


class CountingEmbedder(EmbedderAround):
    """Another embedder; `n_texts` says how many documents it was given so far."""

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(embedder)
        self.n_texts = 0

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.n_texts += len(texts)
        return self._embedder.embed_documents(texts, progress=progress)


@dataclass(frozen=True)
class OpenedEmbedder:
    """`embedder` for use, and `model`, the same beneath its cache."""

    embedder: Embedder
    model: CountingEmbedder

    @property
    def n_embedded(self) -> int:
        """How many documents were not in the cache."""
        return self.model.n_texts


def open_embedder(spec: str, *, cache: bool) -> OpenedEmbedder:
    """The embedder that `spec` names, the default one for an empty `spec`; with `cache` its vectors are kept.

    Raises:
        EmbedderUnavailableError: there is none, or it cannot be loaded or reached.
    """
    model = CountingEmbedder(load_embedder(spec) if spec else load_embedder())
    return OpenedEmbedder(CachedEmbedder(model) if cache else model, model)


def open_embedder_of(index: Path, spec: str, *, cache: bool) -> OpenedEmbedder:
    """The embedder that `spec` names, or else the default one where the index at `index` was built with it.

    Others are never loaded unasked: an index from elsewhere could name an endpoint that then gets the
    queries and the key.

    Raises:
        EmbedderUnavailableError: there is none that `spec` names, or it cannot be loaded.
        ToolIndexError: the index cannot be read, or was built with another embedder than the default.
    """
    if spec:
        return open_embedder(spec, cache=cache)
    return open_default_embedder(read_manifest(index).summary.embedder_id, index, cache=cache)


def open_default_embedder(built_with: str, index: Path | str, *, cache: bool) -> OpenedEmbedder:
    """The default embedder, where the index that `index` names was built with it: its id is `built_with`.

    Raises:
        EmbedderUnavailableError: it cannot be loaded.
        ToolIndexError: the index was built with another one.
    """
    default = open_embedder("", cache=cache)
    if default.embedder.id == built_with:
        return default
    raise ToolIndexError(
        index,
        f"was built with {built_with!r}, not with {default.embedder.id!r}",
        remedy="Name its embedder: --embedder ID. Or build it again: toolsearch index build CATALOG -o DIR",
    )
