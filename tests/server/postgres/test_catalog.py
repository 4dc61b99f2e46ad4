"""The catalog in PostgreSQL answers as the index folder does, and refuses what it cannot answer for."""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")
pytest.importorskip("psycopg", reason="needs the extra postgres")

from tests.retrieval.support import OFFICE
from tests.server.postgres.support import DEMO, definition, names, replicas
from tests.server.support import OFFICE_NAMES, until
from toolsearch.catalog import tool_from_record
from toolsearch.embedders.base import Embedder
from toolsearch.embedders.load import load_embedder
from toolsearch.evaluation.datasets import read_queries
from toolsearch.exceptions import CatalogChangedError, DatabaseError, IndexMismatchError, SchemaVersionError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.postgres.database import PostgresDatabase
from toolsearch.postgres.url import DatabaseUrl
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.server import ServerSettings, create_app
from toolsearch.server.catalog_store import StoredIndex
from toolsearch.server.changes import change
from toolsearch.server.postgres_catalog import PostgresCatalog
from toolsearch.server.settings import made_settings
from toolsearch.testing import HashingEmbedder


@pytest.fixture
def opened(url: DatabaseUrl) -> Iterator[PostgresDatabase]:
    with PostgresDatabase(url) as opened:
        yield opened


def assert_equal(one: ToolIndex, other: ToolIndex) -> None:
    """The same tools in the same rows, with the same vectors to the bit."""
    assert one.columns.names == other.columns.names
    assert np.array_equal(one.columns.facts, other.columns.facts)
    for row in range(len(one)):
        assert one.tool(row) == other.tool(row)
        assert one.vectors.vector(row).tobytes() == other.vectors.vector(row).tobytes()
    assert one.calibration == other.calibration


def test_the_demo_catalog_has_the_same_hits_and_scores_as_its_folder(opened: PostgresDatabase) -> None:
    embedder = load_embedder("default")
    folder = ToolIndex.load(DEMO, embedder)
    catalog = PostgresCatalog(opened)
    assert catalog.fill(folder)
    stored = catalog.load(embedder).index
    assert_equal(stored, folder)
    one, other = ToolSearcher(folder, embedder), ToolSearcher(stored, embedder)
    files = sorted((DEMO.parent / "queries").glob("*.jsonl"))
    queries = [query for file in files for query in read_queries(file)]
    assert len(queries) > 300
    for query in queries:
        left, right = one.search(query.text), other.search(query.text)
        assert [(hit.name, hit.score) for hit in left.hits] == [(hit.name, hit.score) for hit in right.hits]
        assert (left.confidence, left.nothing_fits) == (right.confidence, right.nothing_fits)


def test_changes_that_are_taken_over_one_by_one_make_the_index_that_is_built_anew(
    opened: PostgresDatabase,
) -> None:
    embedder = HashingEmbedder()
    writer, reader = PostgresCatalog(opened), PostgresCatalog(opened)
    writer.fill(build_index(OFFICE, embedder))
    written = writer.load(embedder)
    first = read = reader.load(embedder)
    random = np.random.default_rng(7)
    for turn in range(12):
        tools = [
            tool_from_record(definition(f"t{n}", text=f"Tool {n} of turn {turn}."))
            for n in random.integers(0, 8, size=3)
        ]
        gone = [name for name in written.index.columns.names if random.random() < 0.15]
        newer = change(tools, doomed=lambda _: gone)(written.index, embedder)  # noqa: B023
        written = writer.replace(written, newer, embedder)
        if turn % 3 == 0:
            read = reader.newest(read, embedder)
            assert_equal(read.index, written.index)
    assert read.version < written.version
    fresh = PostgresCatalog(opened).load(embedder)
    for taken in (reader.newest(read, embedder), reader.newest(first, embedder), fresh):
        assert taken.version == written.version
        assert_equal(taken.index, fresh.index)
        assert taken.index.columns.fingerprint == written.index.columns.fingerprint
    assert reader.newest(fresh, embedder) is fresh


def test_removals_that_are_forgotten_cost_a_whole_reading_and_nothing_else(opened: PostgresDatabase) -> None:
    embedder = HashingEmbedder()
    catalog = PostgresCatalog(opened)
    catalog.fill(build_index(OFFICE, embedder))
    known = written = catalog.load(embedder)
    for turn in range(101):
        tools = [tool_from_record(definition(f"t{turn}"))] if turn % 2 == 0 else []
        gone = [] if tools else [f"net__t{turn - 1}"]
        newer = change(tools, doomed=lambda _: gone)(written.index, embedder)  # noqa: B023
        written = catalog.replace(written, newer, embedder)
        opened.transact(lambda c: c.execute("UPDATE removed_tools SET at = at - interval '2 days'"))
    assert opened.read("SELECT pruned > 50 FROM catalog") == [(True,)]
    assert opened.read("SELECT count(*) < 10 FROM removed_tools") == [(True,)]
    taken = catalog.newest(known, embedder)
    assert taken.index.columns.fingerprint == written.index.columns.fingerprint


def test_a_replica_gets_along_with_a_database_that_was_put_back(opened: PostgresDatabase) -> None:
    """Versions of an older copy are smaller, or mean other tools."""
    embedder = HashingEmbedder()
    catalog = PostgresCatalog(opened)
    catalog.fill(build_index(OFFICE, embedder))
    kept = catalog.load(embedder)
    ahead = StoredIndex(build_index(OFFICE[:2], embedder), version=40)
    astray = StoredIndex(build_index(OFFICE[:2], embedder), version=kept.version)
    assert_equal(catalog.newest(ahead, embedder).index, kept.index)
    catalog.replace(kept, change([tool_from_record(definition("t"))])(kept.index, embedder), embedder)
    assert len(catalog.newest(astray, embedder).index) == len(kept.index) + 1


def test_a_change_of_what_is_no_longer_there_changes_nothing(opened: PostgresDatabase) -> None:
    embedder = HashingEmbedder()
    catalog = PostgresCatalog(opened)
    catalog.fill(build_index(OFFICE, embedder))
    known = catalog.load(embedder)
    one = change([tool_from_record(definition("one"))])(known.index, embedder)
    other = change([tool_from_record(definition("other"))])(known.index, embedder)
    catalog.replace(known, one, embedder)
    with pytest.raises(CatalogChangedError):
        catalog.replace(known, other, embedder)
    assert set(catalog.load(embedder).index.columns.names) == {*OFFICE_NAMES, "net__one"}


def test_who_is_overtaken_each_time_has_its_turn_in_the_end_and_embeds_once(url: DatabaseUrl) -> None:
    embedder = HashingEmbedder()
    with replicas(url, embedder=embedder) as (one, other):
        made: list[int] = []
        slow = change([tool_from_record(definition("slow", text="It takes its time."))])

        def make(index: ToolIndex, embedder: Embedder) -> ToolIndex:
            made.append(len(index))
            newer = slow(index, embedder)
            if len(made) < 4:
                name = f"fast{len(made)}"
                assert other.http.put(f"/v1/tools/net__{name}", json=definition(name)).status_code == 201
            return newer

        embedder.document_calls.clear()
        one.app.state.service.catalog.change(make)
        assert made == [len(OFFICE) + n for n in range(4)]
        assert sum("takes its time" in text for text in embedder.embedded) == 1
        until(lambda: names(other.http) >= {"net__slow", "net__fast3"})


def test_no_transaction_is_open_while_an_index_is_made(
    opened: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large catalog that takes longer than PostgreSQL lets a transaction idle."""
    embedder = HashingEmbedder()
    catalog = PostgresCatalog(opened)
    catalog.fill(build_index(OFFICE, embedder))
    idle: list[int] = []

    def build(*arguments: object, **options: object) -> ToolIndex:
        states = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' "
        idle.append(opened.read(states + "AND datname = current_database()")[0][0])
        return whole(*arguments, **options)  # type: ignore[arg-type]

    whole = ToolIndex.build
    monkeypatch.setattr(ToolIndex, "build", build)
    catalog.load(embedder)
    assert idle == [0]


def test_vectors_of_another_embedder_are_refused(url: DatabaseUrl, opened: PostgresDatabase) -> None:
    catalog = PostgresCatalog(opened)
    catalog.fill(build_index(OFFICE, HashingEmbedder(256)))
    with pytest.raises(IndexMismatchError, match=r"--replace --database postgresql://") as caught:
        catalog.load(HashingEmbedder(128))
    assert caught.value.built_with == HashingEmbedder(256).id
    app = create_app(None, ServerSettings(database=url), embedder=HashingEmbedder(128))
    with pytest.raises(IndexMismatchError):
        app.state.service.catalog.load()
    app.state.service.close()


def test_vectors_that_are_too_long_for_the_database_are_refused(opened: PostgresDatabase) -> None:
    catalog = PostgresCatalog(opened)
    with pytest.raises(DatabaseError, match="up to 16000 dimensions, and those of the index have 16001"):
        catalog.fill(build_index(OFFICE[:2], HashingEmbedder(16_001)))
    assert catalog.head() is None
    assert catalog.fill(build_index(OFFICE[:2], HashingEmbedder(16_000)))


def test_replicas_of_before_go_on_when_another_embedder_takes_over(url: DatabaseUrl) -> None:
    with replicas(url, 1) as (old,), PostgresDatabase(url) as opened:
        embedder = HashingEmbedder(64)
        assert not PostgresCatalog(opened).fill(build_index(OFFICE[:2], embedder))
        assert PostgresCatalog(opened).fill(build_index(OFFICE[:2], embedder), replace=True)
        assert old.http.put("/v1/tools/net__ping", json=definition("ping")).status_code == 503
        assert names(old.http) == set(OFFICE_NAMES)
        assert old.http.post("/v1/search", json={"queries": "mail"}).json()["hits"]
        assert len(PostgresCatalog(opened).load(embedder).index) == 2


def test_of_replicas_that_start_on_an_empty_database_one_fills_it(url: DatabaseUrl) -> None:
    with replicas(url, 3) as served, PostgresDatabase(url) as opened:
        assert [names(one.http) for one in served] == [set(OFFICE_NAMES)] * 3
        assert opened.read("SELECT version FROM catalog") == [(1,)]


@pytest.mark.parametrize("version", [1, 99])
def test_the_service_does_not_start_on_another_schema(
    url: DatabaseUrl, opened: PostgresDatabase, version: int
) -> None:
    opened.transact(lambda c: c.execute("UPDATE schema_versions SET version = version + 1000"))
    opened.transact(
        lambda c: (
            c.execute("DELETE FROM schema_versions"),
            c.execute("INSERT INTO schema_versions VALUES (%s)", (version,)),
        )
    )
    with pytest.raises(SchemaVersionError, match="db upgrade" if version == 1 else "newer one"):
        create_app(None, ServerSettings(database=url), embedder=HashingEmbedder())


def test_nothing_tells_the_password(caplog: pytest.LogCaptureFixture) -> None:
    url = "postgresql://u:s3cret@127.0.0.1:1/name"
    settings = made_settings({"database": url})
    assert "s3cret" not in f"{settings!r} {settings} {settings.model_dump()}"
    with pytest.raises(Exception, match="refuses connections") as caught:
        create_app(None, settings, embedder=HashingEmbedder())
    assert "s3cret" not in str(caught.value) + caplog.text
