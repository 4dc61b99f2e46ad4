"""`toolsearch db`, and the other commands on a PostgreSQL database."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.cli.conftest import Run
from tests.postgres.support import new_database
from toolsearch.session.database import FORMAT
from toolsearch.session.sqlite import SqliteSessionStore


@pytest.fixture
def url() -> Iterator[str]:
    with new_database() as url:
        yield url.text


def test_a_database_is_made_filled_and_checked(run: Run, url: str, index: Path) -> None:
    from toolsearch.postgres.schema import current_version

    newest = current_version()
    database = ("--database", url)
    empty = run("db", "check", *database, "--json")
    assert (empty.code, empty.json) == (1, {"schema": 0, "needed": newest, "catalog": None})
    assert "toolsearch db upgrade --database " in empty.err

    refused = run("db", "load", index, *database)
    assert (refused.code, "toolsearch db upgrade" in refused.err) == (3, True)
    assert f"schema 0 is now {newest}" in run("db", "upgrade", *database).err
    again = run("db", "upgrade", *database)
    assert (again.code, f"has schema {newest}." in again.err) == (0, True)

    assert "has the 4 tools" in run("db", "load", index, *database).err
    taken = run("db", "load", index, *database)
    assert (taken.code, "--replace" in taken.err) == (2, True)
    assert run("db", "load", index, *database, "--replace").code == 0
    full = run("db", "check", *database, "--json").json
    assert (full["schema"], full["catalog"]["tools"], full["catalog"]["version"]) == (newest, 4, 2)
    assert run("db", "check", *database).out.startswith(f"schema {newest}, needed {newest}\ncatalog tools 4")


def test_keys_are_made_in_postgresql(run: Run, url: str) -> None:
    database = ("--database", url)
    assert run("keys", "add", "bot", *database).code == 3
    run("db", "upgrade", *database)
    secret = run("keys", "add", "bot", "--deny", "*/delete_*", *database).out.strip()
    (entry,) = run("keys", "list", *database, "--json").json
    assert secret.startswith(f"ts_{entry['id']}_")
    assert run("keys", "revoke", entry["id"], *database).code == 0
    assert run("keys", "list", *database, "--json").json == []


def test_serving_says_what_is_missing(run: Run, url: str, index: Path) -> None:
    nothing = run("serve")
    assert (nothing.code, "There is nothing to serve" in nothing.err) == (2, True)
    old = run("serve", index, "--database", url)
    assert (old.code, "has no tables. Make them: toolsearch db upgrade" in old.err) == (3, True)
    run("db", "upgrade", "--database", url)
    empty = run("serve", "--database", url)
    assert (empty.code, "has no catalog yet. Fill it: toolsearch db load" in empty.err) == (4, True)
    lost = run("serve", index, "--database", url, "--no-save", "--embedder", "hashing")
    assert (lost.code, "--read-only" in lost.err) == (2, True)


def test_no_command_repeats_the_password(run: Run, index: Path) -> None:
    away, wrong = "postgresql://u:s3cret@127.0.0.1:1/name", "postgresql://u:s3:cret@db:x/name"
    raw = "postgresql://u:s3/cr@et#s3@127.0.0.1:1/name"
    for url in (away, wrong, raw):
        for command in (
            ("db", "check"),
            ("db", "upgrade"),
            ("db", "load", index),
            ("keys", "list"),
            ("serve", index),
        ):
            done = run(*command, "--database", url)
            assert done.code == 4
            assert "s3" not in done.out + done.err
            assert len(done.err.splitlines()) == 1


def test_an_sqlite_file_is_checked_and_upgraded_too(run: Run, tmp_path: Path, index: Path) -> None:
    file = tmp_path / "service.db"
    before = run("db", "check", "--database", file, "--json")
    assert (before.code, before.json) == (1, {"schema": 0, "needed": FORMAT, "catalog": None})
    assert not file.exists()
    with SqliteSessionStore(file) as store:
        store.discover("s", "t", ["a"])
    assert run("db", "upgrade", "--database", file).code == 0
    assert run("db", "upgrade", "--database", file).code == 0
    assert run("db", "check", "--database", file).code == 0
    with SqliteSessionStore(file) as store:
        assert store.discovered("s", "t") == ("a",)
    no_catalog = run("db", "load", index, "--database", file)
    assert (no_catalog.code, "holds no catalog" in no_catalog.err) == (2, True)

    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA user_version = 99")
    newer = run("db", "check", "--database", file)
    assert (newer.code, "newer release" in newer.err) == (1, True)
    assert run("db", "upgrade", "--database", file).code == 2
    assert run("serve", index, "--database", file).code == 2
