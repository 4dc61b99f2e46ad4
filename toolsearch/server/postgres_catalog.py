"""`PostgresCatalog`: definitions and vectors in PostgreSQL, of which each process makes the same index."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

from psycopg import sql

from toolsearch.catalog import Catalog, tool_from_record
from toolsearch.document import DOCUMENT_VERSION
from toolsearch.embedders.base import Embedder, Vectors
from toolsearch.exceptions import (
    CatalogChangedError,
    DatabaseError,
    IndexFormatError,
    IndexMismatchError,
)
from toolsearch.index.store import tool_line
from toolsearch.index.tool_index import ToolIndex
from toolsearch.postgres.database import Connection, PostgresDatabase
from toolsearch.postgres.vectors import MAX_DIM, MAX_INDEXED_DIM, from_binary, to_binary
from toolsearch.server.catalog_head import CatalogHead, read_head
from toolsearch.server.catalog_store import StoredIndex, no_catalog, probed
from toolsearch.server.stored_vectors import StoredVectors
from toolsearch.tools import Tool

_WRITERS = 0x63617461
"""Of `pg_advisory_lock`: shared by who replaces the catalog, held alone by who could not for long."""

_REPLACE_S = 600.0
_PRUNED_EACH = 100
_INDEX = "tools_by_vector"
_ROWS: LiteralString = "SELECT definition::text, vector_send(vector) FROM tools"


@dataclass(frozen=True)
class _Reading:
    """Tools, their vectors, and names of tools that are no more, as they were at one moment."""

    head: CatalogHead
    tools: list[Tool]
    vectors: list[Vectors]
    removed: list[str] = field(default_factory=list)


class PostgresCatalog:
    """A `CatalogStore` in a database, whose tables `schema.upgrade_schema` makes.

    Each change is one transaction, which counts only on top of the version that it was made of.
    """

    is_durable = True

    def __init__(self, database: PostgresDatabase, *, first: ToolIndex | Path | None = None) -> None:
        """Keep the catalog in `database`, which stays the caller's to close.

        Args:
            first: What fills it at the first `load`, where nothing has before; also the folder of an index.
        """
        self._database = database
        self._first = first
        self._is_alone = False

    def head(self) -> CatalogHead | None:
        """What is kept; None while the catalog was never filled.

        Raises:
            DatabaseUnreachableError: the database does not answer.
        """
        return self._database.transact(read_head)

    def fill(self, index: ToolIndex, *, replace: bool = False) -> bool:
        """Whether `index` is what is kept now: where nothing was, or with `replace` in place of what was.

        Raises:
            DatabaseError: the database does not answer, or cannot hold vectors of this length.
        """

        dim = index.vectors.dim
        if dim > MAX_DIM:
            raise DatabaseError(
                str(self._database.url),
                f"holds vectors of up to {MAX_DIM} dimensions, and those of the index have {dim}",
                remedy="Build the index with another embedder.",
            )

        def fill(connection: Connection) -> bool:
            # Another process may fill it just now, which takes its time.
            connection.execute("SELECT set_config('lock_timeout', '0', true)")
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_WRITERS,))
            older = read_head(connection)
            if older is not None and not replace:
                return False
            version = 1 if older is None else older.version + 1
            connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(sql.Identifier(_INDEX)))
            # Who knows an older version reads everything again.
            connection.execute("DELETE FROM removed_tools")
            connection.execute("DELETE FROM tools")
            connection.execute("DELETE FROM catalog")
            connection.execute(
                "INSERT INTO catalog (version, pruned, fingerprint, embedder_id, dim, document_version, "
                "calibration) VALUES (%s, %s, %s, %s, %s, %s, %s)",
                (
                    version,
                    version,
                    index.columns.fingerprint,
                    index.embedder_id,
                    dim,
                    DOCUMENT_VERSION,
                    json.dumps(index.calibration),
                ),
            )
            _copy(connection, index, index.columns.names, version)
            if dim <= MAX_INDEXED_DIM:
                connection.execute(
                    # Rows of before are in the table until it is vacuumed, and may be of another length.
                    sql.SQL(
                        "CREATE INDEX {} ON tools USING hnsw ((vector::halfvec({dim})) halfvec_ip_ops) "
                        "WHERE vector_dims(vector) = {dim}"
                    ).format(sql.Identifier(_INDEX), dim=sql.Literal(dim))
                )
            return True

        return self._database.transact(fill, statement_s=_REPLACE_S)

    def load(self, embedder: Embedder) -> StoredIndex:
        if self._first is not None and self.head() is None:
            first = self._first
            index = first if isinstance(first, ToolIndex) else ToolIndex.load(first)
            index.check_embedder(embedder)
            self.fill(index)

        # The index is made when the transaction has ended: PostgreSQL ends those that idle for long.
        read = self._read(embedder, after=None)
        index = ToolIndex.build(Catalog(read.tools), StoredVectors(embedder, read.tools, read.vectors))
        index = index.with_calibration(read.head.calibration)
        return StoredIndex(probed(index, embedder), read.head.version)

    def newest(self, known: StoredIndex, embedder: Embedder) -> StoredIndex:
        rows = self._database.read("SELECT version FROM catalog")
        if rows and rows[0][0] == known.version:
            return known
        read = self._read(embedder, after=known.version)
        if not read.head.pruned <= known.version <= read.head.version:
            return self.load(embedder)
        index = known.index
        gone = [name for name in read.removed if index.row_of(name) is not None]
        if gone:
            index = index.without(*gone)
        if read.tools:
            vectors = StoredVectors(embedder, read.tools, read.vectors)
            index = index.with_tools(read.tools, vectors, replace=True)
        if index.columns.fingerprint != read.head.fingerprint:
            # It is another database behind the same address, such as an older copy: versions say nothing.
            return self.load(embedder)
        return StoredIndex(index.with_calibration(read.head.calibration), read.head.version)

    def replace(self, known: StoredIndex, newer: ToolIndex, embedder: Embedder) -> StoredIndex:
        del embedder
        changed, gone = _differences(known.index, newer)

        def replace(connection: Connection) -> int:
            if not self._is_alone:
                connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_WRITERS,))
            row = connection.execute(
                "UPDATE catalog SET version = version + 1, fingerprint = %s, calibration = %s "
                "WHERE version = %s AND embedder_id = %s RETURNING version",
                (newer.columns.fingerprint, json.dumps(newer.calibration), known.version, newer.embedder_id),
            ).fetchone()
            if row is None:
                raise CatalogChangedError
            version = int(row[0])
            connection.execute("DELETE FROM tools WHERE name = ANY(%s)", ([*changed, *gone],))
            connection.execute("DELETE FROM removed_tools WHERE name = ANY(%s)", (changed,))
            connection.execute(
                "INSERT INTO removed_tools (name, version) SELECT unnest(%s::text[]), %s "
                "ON CONFLICT (name) DO UPDATE SET version = excluded.version, at = excluded.at",
                (gone, version),
            )
            _copy(connection, newer, changed, version)
            if version % _PRUNED_EACH == 0:
                _prune(connection)
            return version

        return StoredIndex(newer, self._database.transact(replace, statement_s=_REPLACE_S))

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._database.locked(_WRITERS):
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    def _read(self, embedder: Embedder, *, after: int | None) -> _Reading:
        """What is kept at one moment: the tools that changed after a version, or all of them for None."""

        def read(connection: Connection) -> _Reading:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            head = self._checked(read_head(connection), embedder)
            if after is None:
                return _Reading(head, *_rows(connection, ""))
            removed = connection.execute("SELECT name FROM removed_tools WHERE version > %s", (after,))
            names = [name for (name,) in removed]
            return _Reading(head, *_rows(connection, " WHERE version > %s", after), names)

        return self._database.transact(read, statement_s=_REPLACE_S)

    def _checked(self, head: CatalogHead | None, embedder: Embedder) -> CatalogHead:
        """`head`, of a catalog that this process can search.

        Raises:
            DatabaseError: there is none.
            IndexFormatError, IndexMismatchError: it cannot.
        """
        url = str(self._database.url)
        if head is None:
            raise no_catalog(url)
        if head.document_version != DOCUMENT_VERSION:
            raise IndexFormatError(
                url,
                f"was built from tool texts of version {head.document_version}; "
                f"this release searches version {DOCUMENT_VERSION}",
                remedy=f"Fill it again: toolsearch db load INDEX --replace --database {url}",
            )
        if (embedder.id, embedder.dim) != (head.embedder_id, head.dim):
            raise IndexMismatchError(
                url,
                built_with=head.embedder_id,
                built_dim=head.dim,
                loaded_with=embedder.id,
                loaded_dim=embedder.dim,
                remedy=f"Serve it with {head.embedder_id!r} (--embedder), or fill it again: "
                f"toolsearch db load INDEX --replace --database {url}",
            )
        return head


def _rows(connection: Connection, where: LiteralString, *values: int) -> tuple[list[Tool], list[Vectors]]:
    """The tools of the rows and their vectors, one each."""
    tools, vectors = [], []
    # A cursor of the server, so that no more than some rows are held as bytes.
    with connection.cursor(name="tools", binary=True) as cursor:
        cursor.itersize = 1000
        for definition, vector in cursor.execute(_ROWS + where, values):
            tools.append(tool_from_record(json.loads(definition)))
            vectors.append(from_binary(vector))
    return tools, vectors


def _differences(older: ToolIndex, newer: ToolIndex) -> tuple[list[str], list[str]]:
    """Names of the tools of `newer` that `older` lacks or has otherwise, and of those that it has no more."""
    known = dict(zip(older.columns.names, older.columns.line_digests, strict=True))
    lines = zip(newer.columns.names, newer.columns.line_digests, strict=True)
    changed = [name for name, digest in lines if known.get(name) != digest]
    return changed, [name for name in older.columns.names if newer.row_of(name) is None]


def _copy(connection: Connection, index: ToolIndex, names: Sequence[str], version: int) -> None:
    """Add the rows of these tools."""
    command = "COPY tools (name, version, definition, vector) FROM STDIN (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(command) as copy:
        # What is sent for a vector is what its type reads, and not a dump of bytes.
        copy.set_types(["text", "int8", "text", "bytea"])
        for name in names:
            row = index.columns.row_of[name]
            line = tool_line(index.tool(row)).decode()
            copy.write_row((name, version, line, to_binary(index.vectors.vector(row))))


def _prune(connection: Connection) -> None:
    """Forget removals of before yesterday: who knows an older version reads everything again."""
    connection.execute(
        "WITH gone AS (DELETE FROM removed_tools WHERE at < now() - interval '1 day' RETURNING version) "
        "UPDATE catalog SET pruned = newest FROM (SELECT max(version) AS newest FROM gone) AS last "
        "WHERE newest > pruned"
    )
