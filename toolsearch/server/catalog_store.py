"""`CatalogStore`: where the catalog of the service is kept, and what a change of it has to get past."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import CatalogChangedError, DatabaseError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.searcher import ToolSearcher

PROBE = "find something"
"""A search that any index has an answer to."""


@dataclass(frozen=True, eq=False)
class StoredIndex:
    """An index as it is kept; a later `version` of the same catalog is larger."""

    index: ToolIndex
    version: int = 0


class CatalogStore(Protocol):
    """Keeps one catalog. Safe to use from several threads; it may block on I/O."""

    is_durable: bool
    """Whether what is replaced outlives the process."""

    def load(self, embedder: Embedder) -> StoredIndex:
        """The index as it is kept, read anew, once it has answered a search.

        Raises:
            ToolSearchError, OSError: it cannot be used.
        """

    def newest(self, known: StoredIndex, embedder: Embedder) -> StoredIndex:
        """The index as it is kept now, made of `known` where that is possible; `known` if that is the one.

        Raises:
            ToolSearchError, OSError: as `load`.
        """

    def replace(self, known: StoredIndex, newer: ToolIndex, embedder: Embedder) -> StoredIndex:
        """Keep `newer`, all of it or nothing, in place of `known`.

        Raises:
            CatalogChangedError: `known` is no longer what is kept; then nothing is changed.
            ToolSearchError, OSError: it cannot be kept.
        """

    def alone(self) -> AbstractContextManager[object]:
        """Keeps all others from replacing anything within."""


class IndexInMemory:
    """An index whose changes are lost with the process."""

    is_durable = False

    def __init__(self, index: ToolIndex) -> None:
        self._stored = StoredIndex(index)

    def load(self, embedder: Embedder) -> StoredIndex:
        probed(self._stored.index, embedder)
        return self._stored

    def newest(self, known: StoredIndex, embedder: Embedder) -> StoredIndex:
        del known, embedder
        return self._stored

    def replace(self, known: StoredIndex, newer: ToolIndex, embedder: Embedder) -> StoredIndex:
        del embedder
        self._stored = StoredIndex(newer, known.version + 1)
        return self._stored

    def alone(self) -> AbstractContextManager[object]:
        return nullcontext()


class IndexFolder:
    """The folder of an index, which one process writes.

    Changes go into it with `save`, else they are lost. Versions count what was loaded and replaced here.
    """

    def __init__(self, path: Path, *, save: bool) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._latest: StoredIndex | None = None
        self.is_durable = save

    def load(self, embedder: Embedder) -> StoredIndex:
        with self._lock:
            return self._kept(probed(ToolIndex.load(self._path, embedder), embedder))

    def newest(self, known: StoredIndex, embedder: Embedder) -> StoredIndex:
        del embedder
        return self._latest or known

    def replace(self, known: StoredIndex, newer: ToolIndex, embedder: Embedder) -> StoredIndex:
        with self._lock:
            if self._latest is not known:
                raise CatalogChangedError
            if not self.is_durable:
                return self._kept(newer)
            newer.save(self._path)
            return self._kept(ToolIndex.load(self._path, embedder, verify="size"))

    def alone(self) -> AbstractContextManager[object]:
        return nullcontext()

    def _kept(self, index: ToolIndex) -> StoredIndex:
        version = 0 if self._latest is None else self._latest.version + 1
        self._latest = StoredIndex(index, version)
        return self._latest


def probed(index: ToolIndex, embedder: Embedder) -> ToolIndex:
    """`index`, which has answered a search.

    Raises:
        IndexMismatchError: it was built by another embedder.
        Exception: it does not answer.
    """
    ToolSearcher(index, embedder).search(PROBE)
    return index


def no_catalog(database: str) -> DatabaseError:
    """Says that a database has no catalog yet."""
    remedy = f"Fill it: toolsearch db load INDEX --database {database}"
    return DatabaseError(database, "has no catalog yet", remedy=remedy)
