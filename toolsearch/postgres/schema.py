"""The tables of this release: numbered files of SQL, each carried out once, in order."""

from __future__ import annotations

from functools import cache
from importlib import resources

from psycopg import errors, sql

from toolsearch.exceptions import DatabaseError, SchemaVersionError
from toolsearch.postgres.database import SCHEMA, Connection, PostgresDatabase

_LOCK = 0x746F6F6C
"""Of `pg_advisory_xact_lock`: one upgrade at a time."""

_UPGRADE_S = 3600.0
_PGVECTOR = (0, 7)
"""The first version with half-precision vectors."""

_EXISTS = "SELECT to_regclass(%s) IS NOT NULL"
_VERSIONS = f"{SCHEMA}.schema_versions"


@cache
def migrations() -> tuple[str, ...]:
    """The SQL of each version, from version 1 on."""
    folder = resources.files("toolsearch.postgres") / "migrations"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name)
    return tuple(file.read_text("utf-8") for file in files)


def current_version() -> int:
    """The version of the schema that this release reads and writes."""
    return len(migrations())


def schema_version(database: PostgresDatabase) -> int:
    """The version of the tables that there are; 0 for none.

    Raises:
        DatabaseUnreachableError: it does not answer.
    """
    return database.transact(_version)


def check_schema(database: PostgresDatabase) -> None:
    """Does nothing where the tables are those of this release.

    Raises:
        SchemaVersionError: they are of another; says what to run.
        DatabaseUnreachableError: it does not answer.
    """
    found = schema_version(database)
    if found != current_version():
        raise SchemaVersionError(str(database.url), found=found, needed=current_version())


def upgrade_schema(database: PostgresDatabase, *, to: int | None = None) -> tuple[int, int]:
    """The version before and after; the tables are made, or changed, to be those of this release.

    All in one transaction, one process at a time; where nothing is to be done, nothing is.

    Args:
        to: Up to this version; None for the newest.

    Raises:
        SchemaVersionError: they are of a newer release.
        DatabaseError: pgvector is not to be had there, or the user may not make tables.
        DatabaseUnreachableError: it does not answer.
    """
    newest = current_version() if to is None else to

    def upgraded(connection: Connection) -> tuple[int, int]:
        connection.execute("SELECT set_config('lock_timeout', '0', true)")
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        found = _version(connection)
        if found > newest:
            raise SchemaVersionError(str(database.url), found=found, needed=newest)
        if not found:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(SCHEMA)))
            connection.execute(
                f"CREATE TABLE {_VERSIONS} (version integer PRIMARY KEY, "
                "applied_at timestamptz NOT NULL DEFAULT now())"
            )
        for version in range(found + 1, newest + 1):
            connection.execute(migrations()[version - 1].encode())
            connection.execute(f"INSERT INTO {_VERSIONS} (version) VALUES (%s)", (version,))  # noqa: S608
        _check_pgvector(database, connection)
        return found, newest

    try:
        return database.transact(upgraded, statement_s=_UPGRADE_S)
    except errors.InsufficientPrivilege as exc:
        raise DatabaseError(
            str(database.url),
            "does not let this user make the tables or the extension 'vector'",
            remedy="Upgrade it as its owner, who makes them: CREATE EXTENSION vector",
        ) from exc
    except (errors.FeatureNotSupported, errors.UndefinedFile) as exc:
        raise DatabaseError(
            str(database.url),
            "is of a server without pgvector",
            remedy="Install pgvector 0.7 or newer on the server.",
        ) from exc


def _check_pgvector(database: PostgresDatabase, connection: Connection) -> None:
    """Does nothing where there is no pgvector yet, or a version that can be used."""
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if row is not None and tuple(int(part) for part in row[0].split(".")[:2]) < _PGVECTOR:
        raise DatabaseError(
            str(database.url),
            f"has pgvector {row[0]}",
            remedy="Version 0.7 or newer is needed: ALTER EXTENSION vector UPDATE",
        )


def _version(connection: Connection) -> int:
    (exists,) = connection.execute(_EXISTS, (_VERSIONS,)).fetchone() or (False,)
    if not exists:
        return 0
    (found,) = connection.execute(f"SELECT max(version) FROM {_VERSIONS}").fetchone() or (None,)  # noqa: S608
    return int(found or 0)
