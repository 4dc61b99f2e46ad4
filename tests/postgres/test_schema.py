"""The tables come from numbered migrations, each carried out once, whoever begins."""

import threading
import uuid
from collections.abc import Iterator

import pytest

from tests.postgres.support import new_database
from toolsearch.exceptions import (
    DatabaseError,
    DatabaseUnreachableError,
    SchemaVersionError,
    ServerSettingsError,
)
from toolsearch.postgres.url import DatabaseUrl

pytest.importorskip("psycopg", reason="needs the extra postgres")

import psycopg

from toolsearch.postgres.database import PostgresDatabase
from toolsearch.postgres.schema import check_schema, current_version, schema_version, upgrade_schema
from toolsearch.server.keys import make_key
from toolsearch.server.postgres_records import PostgresRecords
from toolsearch.server.settings import database_of
from toolsearch.session.postgres import PostgresSessionStore


@pytest.fixture
def database(url: DatabaseUrl) -> Iterator[PostgresDatabase]:
    with PostgresDatabase(url) as database:
        yield database


def test_an_upgrade_makes_everything_and_a_second_one_nothing(database: PostgresDatabase) -> None:
    assert schema_version(database) == 0
    assert upgrade_schema(database) == (0, current_version())
    assert upgrade_schema(database) == (current_version(), current_version())
    check_schema(database)


def test_an_upgrade_from_each_older_version_keeps_what_there_is(url: DatabaseUrl) -> None:
    from toolsearch.api.keys import NewKey

    for older in range(1, current_version()):
        with new_database() as fresh, PostgresDatabase(fresh) as database:
            assert upgrade_schema(database, to=older) == (0, older)
            with pytest.raises(SchemaVersionError, match=r"toolsearch db upgrade --database postgresql://"):
                check_schema(database)
            key, _ = make_key(NewKey(name="kept"), now=1.0)
            PostgresRecords(database).add_key(key)
            PostgresSessionStore(database).discover("s", "t", ["b", "a"])

            assert upgrade_schema(database) == (older, current_version())
            assert PostgresRecords(database).stored_keys() == (key,)
            assert PostgresSessionStore(database).discovered("s", "t") == ("b", "a")
            check_schema(database)


def test_of_upgrades_at_once_one_does_the_work(url: DatabaseUrl) -> None:
    done: list[tuple[int, int]] = []

    def upgrade() -> None:
        with PostgresDatabase(url) as database:
            done.append(upgrade_schema(database))

    threads = [threading.Thread(target=upgrade) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    newest = current_version()
    assert sorted(done) == [(0, newest), *[(newest, newest)] * 3]


def test_a_newer_schema_is_left_alone(database: PostgresDatabase) -> None:
    upgrade_schema(database)
    database.transact(
        lambda connection: connection.execute("INSERT INTO schema_versions (version) VALUES (99)")
    )
    with pytest.raises(SchemaVersionError, match="Install the release that upgraded it"):
        check_schema(database)
    with pytest.raises(SchemaVersionError) as caught:
        upgrade_schema(database)
    assert (caught.value.found, caught.value.needed) == (99, current_version())


def test_an_upgrade_that_fails_changes_nothing(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from toolsearch.postgres import schema

    broken = (*schema.migrations()[:1], "CREATE TABLE half (id integer); SELECT 1 / 0")
    monkeypatch.setattr(schema, "migrations", lambda: broken)
    with pytest.raises(psycopg.errors.DivisionByZero):
        upgrade_schema(database)
    assert schema_version(database) == 0
    monkeypatch.undo()
    assert upgrade_schema(database) == (0, current_version())


def test_who_may_not_make_tables_is_told(url: DatabaseUrl, database: PostgresDatabase) -> None:
    del database
    from urllib.parse import urlsplit, urlunsplit

    role = f"toolsearch_{uuid.uuid4().hex}"
    with psycopg.connect(url.text, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        try:
            owner.execute(f"GRANT {role} TO CURRENT_USER")
            parts = urlsplit(url.text)
            option = f"options=-crole%3D{role}"
            query = f"{parts.query}&{option}" if parts.query else option
            guest = DatabaseUrl(urlunsplit(parts._replace(query=query)))
            with (
                PostgresDatabase(guest) as opened,
                pytest.raises(DatabaseError, match="Upgrade it as its owner"),
            ):
                upgrade_schema(opened)
        finally:
            owner.execute(f"DROP ROLE {role}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:s3cret@db:5433/name?sslmode=require", "postgresql://u@db:5433/name"),
        ("postgres://db/name?password=s3cret", "postgresql://db/name"),
        ("postgresql://u:s3cret@[::1]/name", "postgresql://u@::1/name"),
        ("postgresql://u:s3cret@a,b/name", "postgresql://u@a,b/name"),
        ("postgresql://u:s3:cr@et@db:x/name?y", "postgresql://…"),
        ("postgresql://u:s3/cret@127.0.0.1:5477/name", "postgresql://…@127.0.0.1:5477/name"),
        ("postgresql://u:s3@s3/w#s3@db/name", "postgresql://…@db/name"),
        ("postgresql://u:s3@s3@db/name", "postgresql://…@db/name"),
        ("postgresql://u:s3?/s3@db/name", "postgresql://…"),
        ("postgresql://u:5/s3@db/name", "postgresql://…@db/name"),
        ("postgresql://u:s3cret/name", "postgresql://…"),
        ("postgres://db/name?password=s3@s3", "postgresql://db/name"),
        ("postgresql://u:s3%2Fcr%40et@db/name", "postgresql://u@db/name"),
        ("postgresql:///name?host=@socket", "postgresql://@socket/name"),
    ],
)
def test_an_address_is_shown_without_its_password(text: str, shown: str) -> None:
    url = DatabaseUrl(text)
    assert str(url) == shown
    assert "s3" not in f"{url!r} {url}"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:s3:cr@et@db:x/name?y",
        "postgresql://u:s3/cret@127.0.0.1:5477/name",
        "postgresql://u:s3@s3/w#s3@127.0.0.1:5477/name",
        "postgresql://u:s3@cret@127.0.0.1:5477/name",
        "postgresql://u:s3%zz@127.0.0.1:5477/name",
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(DatabaseError, match="percent-encoded") as caught:
        PostgresDatabase(text)
    assert "PGPASSWORD" in str(caught.value)
    assert "s3" not in str(caught.value)


def test_an_address_of_something_else_is_no_file_and_not_repeated() -> None:
    with pytest.raises(ServerSettingsError, match="postgresql://USER@HOST/NAME") as caught:
        database_of("postgresql+psycopg://u:s3cret@db/name")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("where", "cause"),
    [
        ("127.0.0.1:1", "refuses connections. Is it running?"),
        ("none.invalid", "is on a host that is not known"),
    ],
)
def test_why_there_is_no_connection_is_told_once(
    where: str, cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    with PostgresDatabase(f"postgresql://u@{where}/name") as database:
        for ask in (database.connect, lambda: database.read("SELECT 1")):
            with pytest.raises(DatabaseUnreachableError) as caught:
                ask()
            assert cause in str(caught.value)
    # Where nobody has connected before, it is the pool that finds it out, and it logs what it finds.
    with PostgresDatabase(f"postgresql://u@{where}/name") as database:
        with pytest.raises(DatabaseUnreachableError) as caught:
            database.read("SELECT 1")
        assert cause in str(caught.value)
    assert caplog.text == ""


def test_a_database_that_its_server_lacks_is_told(url: DatabaseUrl) -> None:
    from urllib.parse import urlsplit, urlunsplit

    lacking = DatabaseUrl(urlunsplit(urlsplit(url.text)._replace(path="/nobody_made_it")))
    with (
        PostgresDatabase(lacking) as database,
        pytest.raises(DatabaseUnreachableError, match="does not exist on its server"),
    ):
        database.read("SELECT 1")


def test_a_server_that_is_not_there_is_told_at_once_and_without_the_password() -> None:
    with PostgresDatabase("postgresql://u:s3cret@127.0.0.1:1/name") as database:
        with pytest.raises(DatabaseUnreachableError, match=r"127\.0\.0\.1:1/name") as caught:
            database.read("SELECT 1")
        assert "s3cret" not in str(caught.value)
        assert database.is_away
        # Nobody waits a second time for what has just been found not to be there.
        with pytest.raises(DatabaseUnreachableError):
            database.read("SELECT 1")
