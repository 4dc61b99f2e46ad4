"""The form of the tables of a database: which there is, which is needed, and how to get to it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolsearch.exceptions import StoreError
from toolsearch.postgres.url import DatabaseUrl
from toolsearch.server.database import SqliteDatabase
from toolsearch.server.opening import open_postgres
from toolsearch.server.round_store import SqliteRoundStore
from toolsearch.server.usage_store import SqliteUsageStore
from toolsearch.session.database import FORMAT, file_format
from toolsearch.session.sqlite import SqliteSessionStore
from toolsearch.tools import JsonObject


@dataclass(frozen=True)
class SchemaState:
    """The version of the tables that there are, 0 for none, and of those that this release needs.

    `catalog` tells of the catalog in a PostgreSQL database; None where there is none.
    """

    found: int
    needed: int
    catalog: JsonObject | None = None

    @property
    def is_current(self) -> bool:
        return self.found == self.needed


def state_of(database: Path | DatabaseUrl) -> SchemaState:
    """What there is; nothing is changed.

    Raises:
        ImportError: the extra ``postgres`` is not installed.
        DatabaseError, StoreError: it cannot be read.
    """
    if not isinstance(database, DatabaseUrl):
        return SchemaState(file_format(database), FORMAT)
    with open_postgres(database) as opened:
        from toolsearch.postgres.schema import current_version, schema_version
        from toolsearch.server.postgres_catalog import PostgresCatalog

        found, needed = schema_version(opened), current_version()
        head = PostgresCatalog(opened).head() if found == needed else None
        if head is None:
            return SchemaState(found, needed)
        ((n_tools,),) = opened.read("SELECT count(*) FROM tools")
    catalog = {"tools": n_tools, "version": head.version, "embedder": head.embedder_id}
    return SchemaState(found, needed, catalog)


def upgrade(database: Path | DatabaseUrl) -> tuple[int, int]:
    """The version before and after: the tables are made, or changed, and what they hold stays.

    Raises:
        ImportError: the extra ``postgres`` is not installed.
        SchemaVersionError, StoreError: it is of a newer release.
        DatabaseError: it cannot be upgraded.
    """
    if isinstance(database, DatabaseUrl):
        with open_postgres(database) as opened:
            from toolsearch.postgres.schema import upgrade_schema

            return upgrade_schema(opened)
    before = file_format(database)
    if before > FORMAT:
        raise StoreError(database, f"has format {before}, and this release reads {FORMAT}")
    with (
        SqliteDatabase(database),
        SqliteSessionStore(database),
        SqliteRoundStore(database, ttl_s=1.0),
        SqliteUsageStore(database, ttl_s=1.0),
    ):
        return before, file_format(database)
