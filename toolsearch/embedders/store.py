"""A file of vectors by (embedder id, text), shared by any number of processes."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolsearch.embedders.base import Vectors
from toolsearch.exceptions import EmbeddingCacheError

CACHE_DIR_VARIABLE = "TOOLSEARCH_CACHE_DIR"

_FILE = "embeddings.sqlite"
_APPLICATION_ID = 0x74736563
_FORMAT = 1
_STORED = np.dtype("<f4")
_CHECKSUM_BYTES = 8
_BUSY_TIMEOUT_S = 60.0
_DAY_S = 86_400
# A row that is read is marked as used at most so often, to keep reads from writing.
_MARK_EVERY_DAYS = 7


def default_cache_path() -> Path:
    """Where vectors are kept unless told otherwise: ``embeddings.sqlite`` in the user's cache folder.

    That is ``$TOOLSEARCH_CACHE_DIR`` where set, else ``toolsearch`` under the platform's own:
    ``$XDG_CACHE_HOME`` or ``~/.cache``, on macOS ``~/Library/Caches``, on Windows ``%LOCALAPPDATA%``.

    Raises:
        EmbeddingCacheError: that folder is in a home folder that the system does not know.
    """
    try:
        return _cache_folder() / _FILE
    except RuntimeError as exc:
        wanted = Path(os.environ.get(CACHE_DIR_VARIABLE) or "~") / _FILE
        raise EmbeddingCacheError(wanted, "is in no known home folder", remedy=_TRY_ELSEWHERE) from exc


class VectorStore:
    """Vectors in one SQLite file. Safe to share between threads and processes; opened anew by each call.

    A vector whose checksum does not fit its bytes, its text and its embedder reads as one that is not
    there. A file that is damaged as a whole is an error.
    """

    def __init__(self, path: Path | str, *, clock: Callable[[], float] = time.time) -> None:
        """Opens nothing yet; the file and its folder are made when first needed.

        Args:
            path: The file.
            clock: Seconds since 1970, by which `prune` knows how long a vector was not used.
        """
        self.path = Path(path)
        self._clock = clock

    def get(self, embedder_id: str, texts: Iterable[str], *, dim: int) -> dict[str, Vectors]:
        """The vectors (dim,) of those texts that the file has for this embedder.

        Raises:
            EmbeddingCacheError: the file cannot be used.
        """
        text_by_key = {_text_key(text): text for text in texts}
        if not text_by_key:
            return {}
        length = dim * _STORED.itemsize
        today = self._today()
        texts_found, contents, unmarked = [], [], []
        with self._connected() as connection:
            embedder = _embedder_key(connection, embedder_id)
            with _transaction(connection, "DEFERRED"):
                for key in sorted(text_by_key):
                    row = connection.execute(_SELECT, (embedder, key)).fetchone()
                    if row is None:
                        continue
                    content, checksum, used_day = row
                    if len(content) == length and checksum == _checksum(embedder_id, key, content):
                        texts_found.append(text_by_key[key])
                        contents.append(content)
                        if used_day <= today - _MARK_EVERY_DAYS:
                            unmarked.append((today, embedder, key))
            if unmarked:
                with _transaction(connection, "IMMEDIATE"):
                    connection.executemany(_MARK, unmarked)
        matrix = np.frombuffer(b"".join(contents), dtype=_STORED).astype(np.float32).reshape(-1, dim)
        return dict(zip(texts_found, matrix, strict=True))

    def put(self, embedder_id: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep these vectors of texts, all or none; they replace what was there.

        Raises:
            EmbeddingCacheError: the file cannot be used.
        """
        if not vectors:
            return
        today = self._today()
        with self._connected() as connection, _transaction(connection, "IMMEDIATE"):
            connection.execute("INSERT OR IGNORE INTO embedders (name) VALUES (?)", (embedder_id,))
            embedder = _embedder_key(connection, embedder_id)
            for text, vector in vectors.items():
                key, content = _text_key(text), vector.astype(_STORED).tobytes()
                checksum = _checksum(embedder_id, key, content)
                connection.execute(_REPLACE, (embedder, key, content, checksum, today))

    def counts(self) -> dict[str, int]:
        """Vectors by embedder id, sorted by id."""
        with self._connected() as connection:
            return dict(
                connection.execute(
                    "SELECT name, count(text_sha256) FROM embedders LEFT JOIN vectors "
                    "ON vectors.embedder = embedders.id GROUP BY name ORDER BY name"
                )
            )

    def prune(self, *, keep_ids: Collection[str] | None = None, unused_days: int | None = None) -> int:
        """How many vectors were removed; the file shrinks by their size.

        Args:
            keep_ids: Vectors of all other embedders go.
            unused_days: Vectors that nobody asked for in so many days go. Use is noted by the week.
        """
        with self._connected() as connection:
            with _transaction(connection, "IMMEDIATE"):
                before = connection.total_changes
                if keep_ids is not None:
                    for number, name in connection.execute("SELECT id, name FROM embedders").fetchall():
                        if name not in keep_ids:
                            connection.execute("DELETE FROM vectors WHERE embedder = ?", (number,))
                if unused_days is not None:
                    oldest = self._today() - max(unused_days, _MARK_EVERY_DAYS)
                    connection.execute("DELETE FROM vectors WHERE used_day < ?", (oldest,))
                removed = connection.total_changes - before
                connection.execute("DELETE FROM embedders WHERE id NOT IN (SELECT embedder FROM vectors)")
            connection.executescript("PRAGMA incremental_vacuum")
        return removed

    def _today(self) -> int:
        return int(self._clock() // _DAY_S)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            try:
                self._prepare(connection)
                yield connection
            finally:
                connection.close()
        except OSError as exc:
            raise self._error(f"cannot be used ({exc.strerror})", _TRY_ELSEWHERE) from exc
        except sqlite3.OperationalError as exc:
            raise self._error(f"cannot be used ({exc})", _TRY_ELSEWHERE) from exc
        except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError) as exc:
            # Damaged bytes may also give a column another type, or a message that is no Unicode.
            raise self._error(f"is damaged ({exc})", _DELETE) from exc

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables of a new file; refuse a file of another kind or format."""
        if _header(connection) == (_APPLICATION_ID, _FORMAT):
            return
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        with _transaction(connection, "IMMEDIATE"):
            # Another process may have made them since.
            application, version = _header(connection)
            if (application, version) == (_APPLICATION_ID, _FORMAT):
                return
            if application == _APPLICATION_ID:
                raise self._error(f"has format {version}, and this release reads {_FORMAT}", _DELETE)
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise self._error("is a database of something else", _TRY_ELSEWHERE)
            connection.execute("CREATE TABLE embedders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
            connection.execute(
                "CREATE TABLE vectors (embedder INTEGER NOT NULL, text_sha256 BLOB NOT NULL, "
                "vector BLOB NOT NULL, checksum BLOB NOT NULL, used_day INTEGER NOT NULL, "
                "PRIMARY KEY (embedder, text_sha256))"
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")

    def _error(self, reason: str, remedy: str) -> EmbeddingCacheError:
        return EmbeddingCacheError(self.path, reason, remedy=remedy)


_DELETE = "Delete it; the next build fills it again."
_TRY_ELSEWHERE = f"Choose another place, by {CACHE_DIR_VARIABLE} for instance."


_SELECT = "SELECT vector, checksum, used_day FROM vectors WHERE embedder = ? AND text_sha256 = ?"
_MARK = "UPDATE vectors SET used_day = ? WHERE embedder = ? AND text_sha256 = ?"
_REPLACE = """
INSERT OR REPLACE INTO vectors (embedder, text_sha256, vector, checksum, used_day) VALUES (?, ?, ?, ?, ?)
"""


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Iterator[None]:
    """One transaction; IMMEDIATE holds the write lock from its beginning, so it cannot lose it half way."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        # SQLite has rolled back already after some errors.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _header(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _embedder_key(connection: sqlite3.Connection, embedder_id: str) -> int | None:
    row = connection.execute("SELECT id FROM embedders WHERE name = ?", (embedder_id,)).fetchone()
    return row[0] if row else None


def _text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _checksum(embedder_id: str, text_key: bytes, content: bytes) -> bytes:
    whole = b"".join((text_key, content, embedder_id.encode()))
    return hashlib.blake2b(whole, digest_size=_CHECKSUM_BYTES).digest()


def _cache_folder() -> Path:
    if chosen := os.environ.get(CACHE_DIR_VARIABLE):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "toolsearch"
