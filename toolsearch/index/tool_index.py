"""`ToolIndex`: a catalog that can be searched, in memory and on disk."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from toolsearch.catalog import Catalog
from toolsearch.document import DOCUMENT_VERSION, render_document
from toolsearch.embedders.base import Embedder, Progress
from toolsearch.exceptions import (
    DuplicateToolError,
    IndexFormatError,
    IndexMismatchError,
    UnknownToolError,
)
from toolsearch.given import Tools
from toolsearch.index.columns import Rows, ToolColumns, short_digest
from toolsearch.index.embedding import embed_in_chunks
from toolsearch.index.folder import Verify, load_folder, save_folder
from toolsearch.index.lexical import LexicalIndex
from toolsearch.index.manifest import IndexSummary, Manifest
from toolsearch.index.names import NameIndex
from toolsearch.index.part import IndexPart, IndexParts
from toolsearch.index.snapshot import Snapshot
from toolsearch.index.store import OverlaidTools, tool_line
from toolsearch.index.vectors import BuildKind, VectorIndex
from toolsearch.tools import JsonObject, Tool


@dataclass(frozen=True, eq=False, kw_only=True)
class ToolIndex:
    """The tools of a catalog in name order, and what finds them: vectors, lexicon and names, row by row.

    Immutable, and safe to search from several threads: a change makes a new index that shares what stayed.

    Attributes:
        tools: By public name; row i is the i-th. Those of an index on disk are decoded when asked for,
            and have no `call`.
        columns: What can be known of the tools without decoding them.
        embedder_id: Of the embedder that made the vectors.
        calibration: What `with_calibration` was given; it belongs to these very tools.
        path: Where the index was loaded from.
    """

    tools: Mapping[str, Tool]
    columns: ToolColumns
    vectors: VectorIndex
    lexicon: LexicalIndex
    name_index: NameIndex
    embedder_id: str
    calibration: JsonObject | None = None
    path: Path | None = None
    _parts: IndexParts = field(default_factory=IndexParts, init=False, repr=False)

    @classmethod
    def build(
        cls,
        catalog: Tools,
        embedder: Embedder,
        *,
        kind: BuildKind = "auto",
        progress: Progress | None = None,
    ) -> ToolIndex:
        """An index of all tools of `catalog`; `kind` is explained at `VectorIndex.build`.

        Raises:
            TypeError, DefinitionError: as `Catalog`, for what is no tool.
            ValueError: an unknown kind.
            EmbeddingError: the embedder failed, or answered something that is no embedding.
        """
        catalog = Catalog.of(catalog)
        tools = list(catalog.values())
        documents = [render_document(tool) for tool in tools]
        columns = ToolColumns.of(tools, documents)
        return cls(
            tools=catalog,
            columns=columns,
            vectors=VectorIndex.build(embed_in_chunks(documents, embedder, progress=progress), kind=kind),
            lexicon=LexicalIndex.build(tools),
            name_index=_name_index(columns),
            embedder_id=embedder.id,
        )

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        return f"ToolIndex({len(self)} tools, {self.embedder_id!r}, {self.vectors.kind})"

    @cached_property
    def catalog(self) -> Catalog:
        """The tools as a catalog; nothing is decoded for it."""
        if isinstance(self.tools, Catalog):
            return self.tools
        sources = tuple(self.columns.source_rows)
        return Catalog.over(self.tools, fingerprint=self.columns.fingerprint, sources=sources)

    @property
    def summary(self) -> IndexSummary:
        """What the manifest says of this index."""
        return IndexSummary(
            n_tools=len(self),
            catalog_fingerprint=self.columns.fingerprint,
            document_version=DOCUMENT_VERSION,
            embedder_id=self.embedder_id,
            dim=self.vectors.dim,
            vectors=self.vectors.kind,
            recall_at_10=self.vectors.recall_at_10,
        )

    def tool(self, row: int) -> Tool:
        """The tool of a row."""
        return self.tools[self.columns.names[row]]

    @cached_property
    def whole(self) -> IndexPart:
        """All tools as a part."""
        return IndexPart(self.lexicon, self.name_index)

    def part(self, names: frozenset[str]) -> IndexPart:
        """The tools of these public names; names that the index does not have are passed over."""

        def make() -> IndexPart:
            rows = np.zeros(len(self), dtype=bool)
            rows[[row for name in names if (row := self.row_of(name)) is not None]] = True
            return self.whole.among(rows)

        return self._parts.get(names, make)

    def row_of(self, name: str) -> int | None:
        """The row of a public name; None where there is no such tool."""
        return self.columns.row_of.get(name)

    def check_embedder(self, embedder: Embedder) -> None:
        """Refuse an embedder whose vectors cannot be compared with those of this index.

        Raises:
            IndexMismatchError: names both embedders and their dimensions.
        """
        _check_embedder(self.path or "(in memory)", self.embedder_id, self.vectors.dim, embedder)

    def with_calibration(self, calibration: JsonObject | None) -> ToolIndex:
        """This index with what was measured of its scores: saved with it, and dropped by any change."""
        return dataclasses.replace(self, calibration=calibration)

    def update(self, catalog: Tools, embedder: Embedder, *, progress: Progress | None = None) -> ToolIndex:
        """An index of all tools of `catalog`, for which only documents that this one lacks are embedded.

        It equals an index that is built anew, of the same kind as this one.

        Raises:
            IndexMismatchError: this index was built by another embedder.
            EmbeddingError: the embedder failed, or answered something that is no embedding.
        """
        self.check_embedder(embedder)
        catalog = Catalog.of(catalog)
        source_rows, changed = self._compared(catalog.values())
        return self._derived(source_rows, changed, catalog, embedder, progress)

    def with_tools(
        self,
        tools: Tools,
        embedder: Embedder,
        *,
        replace: bool = False,
        progress: Progress | None = None,
    ) -> ToolIndex:
        """This index and `tools`; with `replace` they take the place of their namesakes.

        Raises:
            DuplicateToolError: a name is already in the index and `replace` is false.
            ReservedNameError, IndexMismatchError, EmbeddingError: as for `Catalog` and `update`.
        """
        self.check_embedder(embedder)
        newer = Catalog(tools, replace=replace)
        known = tuple(name for name in newer if name in self.columns.row_of)
        if known and not replace:
            raise DuplicateToolError(known)
        rows_of_newer, changed = self._compared(newer.values())
        row_of = self.columns.row_of | dict(zip(newer, rows_of_newer.tolist(), strict=True))
        names = sorted(row_of)
        source_rows = np.array([row_of[name] for name in names], dtype=np.int64)
        return self._derived(
            source_rows, changed, OverlaidTools(names, self.tools, newer), embedder, progress
        )

    def without(self, *names: str) -> ToolIndex:
        """This index less the tools of these names.

        Raises:
            UnknownToolError: for the first name that it does not have.
        """
        self._require(names)
        gone = set(names)
        return self._only(row for name, row in self.columns.row_of.items() if name not in gone)

    def restricted(
        self, *, sources: Collection[str] | None = None, names: Collection[str] | None = None
    ) -> ToolIndex:
        """An index of only the tools of these sources and of these names, where either is given.

        For a process that has only some of the sources: tools of the others are then neither found, listed
        nor saved. A source without tools in the index is no error.

        Raises:
            UnknownToolError: for the first of `names` that the index does not have.
        """
        self._require(names or ())
        kept_sources = set(self.columns.sources if sources is None else sources)
        kept_names = set(self.columns.names if names is None else names)
        rows = zip(self.columns.names, self.columns.sources, strict=True)
        return self._only(
            row for row, (name, source) in enumerate(rows) if source in kept_sources and name in kept_names
        )

    def save(self, path: Path | str) -> Manifest:
        """Write the index into the folder `path`, at once or not at all; the same index as the same bytes.

        Raises:
            ToolIndexError: `path` holds something else than an index; it is left as it is.
            IndexLockedError: another writer is busy with it.
            OSError: it could not be written; what was there is still whole.
        """
        snapshot = Snapshot(
            self.tools, self.columns, self.vectors, self.lexicon, self.name_index, self.calibration
        )
        return save_folder(Path(path), self.summary, snapshot.write)

    @classmethod
    def load(
        cls,
        path: Path | str,
        embedder: Embedder | None = None,
        *,
        verify: Verify = "full",
        mmap: bool = True,
    ) -> ToolIndex:
        """The index in the folder `path`, checked before any of it is used.

        Args:
            embedder: The one for the searches to come; None leaves that check to `check_embedder`.
            verify: ``full`` compares size and SHA-256 of every file, ``size`` only the sizes.
            mmap: Leave the vectors in the file, mapped into memory and shared with other processes.

        Raises:
            IndexNotFoundError: there is no index at `path`.
            IndexDamagedError: a file is missing, or is not what was written.
            IndexFormatError: it is of another format version, or its documents are.
            IndexMismatchError: it was built by another embedder; names both and their dimensions.
        """
        home = Path(path)

        def read(manifest: Manifest, folder: Path) -> ToolIndex:
            summary = manifest.summary
            _check_document_version(home, summary)
            if embedder is not None:
                _check_embedder(home, summary.embedder_id, summary.dim, embedder)
            snapshot = Snapshot.read(home, folder, manifest, mmap=mmap)
            return cls(
                tools=snapshot.tools,
                columns=snapshot.columns,
                vectors=snapshot.vectors,
                lexicon=snapshot.lexicon,
                name_index=snapshot.name_index,
                embedder_id=summary.embedder_id,
                calibration=snapshot.calibration,
                path=home,
            )

        return load_folder(home, read, verify=verify)

    @staticmethod
    def verify(path: Path | str) -> Manifest:
        """The manifest of the index in the folder `path`, after a look at every byte, tool and vector of it.

        Raises:
            IndexNotFoundError, IndexDamagedError, IndexFormatError: as `load`.
        """
        home = Path(path)

        def read(manifest: Manifest, folder: Path) -> Manifest:
            _check_document_version(home, manifest.summary)
            Snapshot.read(home, folder, manifest).check(home)
            return manifest

        return load_folder(home, read)

    def _compared(self, tools: Iterable[Tool]) -> tuple[Rows, list[Tool]]:
        """The row that holds each of `tools` as it is, -1 for none; and the tools that are new or changed."""
        digests = self.columns.line_digests
        rows, changed = [], []
        for tool in tools:
            row = self.columns.row_of.get(tool.name, -1)
            if row < 0 or digests[row] != short_digest(tool_line(tool)):
                row = -1
                changed.append(tool)
            rows.append(row)
        return np.array(rows, dtype=np.int64), changed

    def _derived(
        self,
        source_rows: Rows,
        changed: Sequence[Tool],
        tools: Mapping[str, Tool],
        embedder: Embedder,
        progress: Progress | None,
    ) -> ToolIndex:
        """The index of `tools`: row i is the old row ``source_rows[i]``, or the next of `changed` for -1."""
        documents = [render_document(tool) for tool in changed]
        columns = ToolColumns.of(changed, documents)
        # A tool that has a new name or schema may well have an old text.
        vector_of = {digest: row for row, digest in enumerate(self.columns.document_digests)}
        rows_of_changed = [vector_of.get(digest, -1) for digest in columns.document_digests]
        vector_rows = source_rows.copy()
        vector_rows[source_rows < 0] = rows_of_changed
        unknown = [document for document, row in zip(documents, rows_of_changed, strict=True) if row < 0]
        vectors = embed_in_chunks(unknown, embedder, progress=progress)
        columns = self.columns.updated(source_rows, columns)
        return ToolIndex(
            tools=tools,
            columns=columns,
            vectors=self.vectors.updated(vector_rows, vectors),
            lexicon=self.lexicon.updated(source_rows, changed),
            name_index=_name_index(columns),
            embedder_id=self.embedder_id,
        )

    def _only(self, rows: Iterable[int]) -> ToolIndex:
        kept = np.fromiter(rows, dtype=np.int64)
        columns = self.columns.updated(kept, ToolColumns.of((), ()))
        return ToolIndex(
            tools=OverlaidTools(columns.names, self.tools, {}),
            columns=columns,
            vectors=self.vectors.updated(kept, np.empty((0, self.vectors.dim), dtype=np.float32)),
            lexicon=self.lexicon.updated(kept, ()),
            name_index=_name_index(columns),
            embedder_id=self.embedder_id,
        )

    def _require(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.columns.row_of:
                raise UnknownToolError(name)


def _name_index(columns: ToolColumns) -> NameIndex:
    return NameIndex.build(columns.raw_names, columns.sources, columns.names)


def _check_document_version(path: Path, summary: IndexSummary) -> None:
    if summary.document_version != DOCUMENT_VERSION:
        raise IndexFormatError(
            path,
            f"was built from tool texts of version {summary.document_version}; "
            f"this release searches version {DOCUMENT_VERSION}",
        )


def _check_embedder(path: Path | str, built_with: str, built_dim: int, embedder: Embedder) -> None:
    if (embedder.id, embedder.dim) != (built_with, built_dim):
        raise IndexMismatchError(
            path,
            built_with=built_with,
            built_dim=built_dim,
            loaded_with=embedder.id,
            loaded_dim=embedder.dim,
        )
