"""Where the service keeps things: in memory, in an index folder and an SQLite file, or in PostgreSQL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from toolsearch.exceptions import ServerSettingsError, ToolSearchError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.postgres.url import DatabaseUrl
from toolsearch.server.catalog_store import CatalogStore, IndexFolder, IndexInMemory, no_catalog
from toolsearch.server.database import IN_MEMORY, SqliteDatabase
from toolsearch.server.keys import KeyStore
from toolsearch.server.learning import UsageStore
from toolsearch.server.records import Records
from toolsearch.server.round_store import SqliteRoundStore
from toolsearch.server.rounds import RoundStore
from toolsearch.server.settings import ServerSettings
from toolsearch.server.usage_store import SqliteUsageStore
from toolsearch.session.base import SessionStore
from toolsearch.session.memory import MemorySessionStore
from toolsearch.session.sqlite import SqliteSessionStore

if TYPE_CHECKING:
    from toolsearch.postgres.database import PostgresDatabase


class KeptRecords(KeyStore, Records, Protocol):
    """Keys and records are in one database."""


@dataclass(frozen=True)
class Stores:
    """What the service keeps; `database` is that of all of it, where replicas share one."""

    catalog: CatalogStore
    records: KeptRecords
    sessions: SessionStore
    rounds: RoundStore | None
    learned: UsageStore | None = None
    database: PostgresDatabase | None = None


def open_stores(
    index: ToolIndex | Path | None, settings: ServerSettings, owned: contextlib.ExitStack
) -> Stores:
    """What `settings` name, opened; `owned` closes it.

    Raises:
        ImportError: the extra ``postgres`` is not installed.
        ServerSettingsError: there is no index, or a setting that PostgreSQL does not know.
        SchemaVersionError: the tables are those of another release.
        DatabaseError, StoreError, sqlite3.Error: the database cannot be used.
    """
    if isinstance(settings.database, DatabaseUrl):
        return _in_postgres(index, settings, settings.database, owned)
    if index is None:
        raise nothing_to_serve(settings.database)
    catalog: CatalogStore
    catalog = IndexFolder(index, save=settings.save) if isinstance(index, Path) else IndexInMemory(index)
    path, ttl_s = settings.database, settings.session_ttl_s
    records = owned.enter_context(SqliteDatabase(path or IN_MEMORY))
    sessions: SessionStore
    if path is None:
        sessions = MemorySessionStore(max_sessions=settings.max_sessions, ttl_s=ttl_s)
    else:
        sessions = owned.enter_context(SqliteSessionStore(path, ttl_s=ttl_s))
    rounds: RoundStore | None = None
    if settings.keep_rounds:
        rounds = owned.enter_context(SqliteRoundStore(path or IN_MEMORY, ttl_s=ttl_s))
    learned: UsageStore | None = None
    if settings.learn:
        learned = owned.enter_context(SqliteUsageStore(path or IN_MEMORY, ttl_s=_learned_s(settings)))
    return Stores(catalog, records, sessions, rounds, learned)


@contextlib.contextmanager
def open_records(database: Path | DatabaseUrl) -> Iterator[KeptRecords]:
    """The keys and records of a database; raises as `open_stores`."""
    if not isinstance(database, DatabaseUrl):
        with SqliteDatabase(database) as records:
            yield records
        return
    with open_postgres(database) as opened:
        from toolsearch.postgres.schema import check_schema
        from toolsearch.server.postgres_records import PostgresRecords

        check_schema(opened)
        yield PostgresRecords(opened)


def open_postgres(url: DatabaseUrl, *, max_connections: int = 4) -> PostgresDatabase:
    """The database at `url`, to be closed by the caller.

    Raises:
        ImportError: the extra ``postgres`` is not installed.
        DatabaseError: `url` is no address of a database.
    """
    try:
        from toolsearch.postgres.database import PostgresDatabase
    except ImportError as exc:
        raise ImportError(
            "A PostgreSQL database needs psycopg. Install it: pip install 'toolsearch[postgres]'"
        ) from exc
    return PostgresDatabase(url, max_connections=max_connections)


def built_with(database: Path | DatabaseUrl | None) -> str | None:
    """The id of the embedder that the catalog in a PostgreSQL database was built with.

    None where there is no catalog; raises as `open_stores`.
    """
    if not isinstance(database, DatabaseUrl):
        return None
    with open_postgres(database) as opened:
        from toolsearch.postgres.schema import check_schema
        from toolsearch.server.postgres_catalog import PostgresCatalog

        check_schema(opened)
        head = PostgresCatalog(opened).head()
    return None if head is None else head.embedder_id


def nothing_to_serve(database: Path | DatabaseUrl | None) -> ToolSearchError:
    """Says that there is no catalog, and how to get one."""
    if isinstance(database, DatabaseUrl):
        return no_catalog(str(database))
    return ServerSettingsError(
        "There is nothing to serve. Give the folder of an index, or a database that holds a catalog: "
        "--database postgresql://USER@HOST/NAME"
    )


def _in_postgres(
    index: ToolIndex | Path | None,
    settings: ServerSettings,
    url: DatabaseUrl,
    owned: contextlib.ExitStack,
) -> Stores:
    if not settings.save:
        raise ServerSettingsError(
            "Changes are always saved in PostgreSQL. Leave out --no-save, or refuse changes: --read-only"
        )
    # Requests that work, and what every request may ask for before it does.
    database = owned.enter_context(open_postgres(url, max_connections=2 * settings.max_running))
    from toolsearch.postgres.schema import check_schema
    from toolsearch.server.postgres_catalog import PostgresCatalog
    from toolsearch.server.postgres_records import PostgresRecords
    from toolsearch.server.postgres_rounds import PostgresRoundStore
    from toolsearch.server.postgres_usage import PostgresUsageStore
    from toolsearch.session.postgres import PostgresSessionStore

    check_schema(database)
    ttl_s = settings.session_ttl_s
    return Stores(
        PostgresCatalog(database, first=index),
        PostgresRecords(database),
        PostgresSessionStore(database, ttl_s=ttl_s),
        PostgresRoundStore(database, ttl_s=ttl_s) if settings.keep_rounds else None,
        PostgresUsageStore(database, ttl_s=_learned_s(settings)) if settings.learn else None,
        database,
    )


def _learned_s(settings: ServerSettings) -> float:
    return settings.feedback_days * 24 * 3600.0
