"""The HNSW index of the stored vectors: the query of docs/storage.md goes by it, and finds what is near."""

import re
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("psycopg", reason="needs the extra postgres")

from tests.postgres.support import upgraded_database
from tests.server.postgres.support import ROOT, definition
from toolsearch.catalog import tool_from_record
from toolsearch.index.tool_index import ToolIndex
from toolsearch.postgres.database import PostgresDatabase
from toolsearch.server.changes import change
from toolsearch.server.postgres_catalog import PostgresCatalog
from toolsearch.testing import HashingEmbedder

PAGE = (ROOT / "docs" / "storage.md").read_text("utf-8")
(SHOWN,) = re.findall(r"^```sql\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SHOWN_DIM, DIM = "384", 64
WORDS = [
    "mail",
    "send",
    "order",
    "refund",
    "list",
    "create",
    "delete",
    "find",
    "user",
    "file",
    "issue",
    "page",
]


@pytest.fixture(scope="module")
def filled() -> Iterator[tuple[PostgresDatabase, ToolIndex]]:
    """A catalog of 2,000 tools, of which 200 came after the index was made."""
    random, embedder = np.random.default_rng(3), HashingEmbedder(DIM)
    texts = [" ".join(random.choice(WORDS, size=8)) + f" {n}" for n in range(2000)]
    tools = [tool_from_record(definition(f"t{n}", text=text)) for n, text in enumerate(texts)]
    with upgraded_database() as url, PostgresDatabase(url) as opened:
        catalog = PostgresCatalog(opened)
        catalog.fill(ToolIndex.build(tools[:1800], embedder))
        stored = catalog.load(embedder)
        stored = catalog.replace(stored, change(tools[1800:])(stored.index, embedder), embedder)
        opened.transact(lambda c: c.execute("ANALYZE tools"))
        yield opened, stored.index


def nearest(
    opened: PostgresDatabase, vector: np.ndarray, *, explain: bool = False
) -> list[tuple[object, ...]]:
    query = SHOWN.replace(SHOWN_DIM, str(DIM)).replace("[…]", str(vector.tolist()))
    before, _, query = query.partition("SELECT")
    with opened.connect() as connection:
        connection.execute(before.encode())
        return connection.execute(f"{'EXPLAIN ' if explain else ''}SELECT{query}".encode()).fetchall()


def test_the_shown_query_finds_what_an_exact_search_finds(filled: tuple[PostgresDatabase, ToolIndex]) -> None:
    opened, index = filled
    random = np.random.default_rng(5)
    queries = HashingEmbedder(DIM).embed_queries([" ".join(random.choice(WORDS, size=4)) for _ in range(40)])
    shares = []
    for query in queries:
        exact = index.vectors.search(query[None, :], 10, exact=True)[0]
        found = nearest(opened, query)
        assert len(found) == 10
        scores = {
            index.columns.names[row]: score for row, score in zip(exact.rows, exact.scores, strict=True)
        }
        for name, score in found:
            assert isinstance(score, float)
            row = index.row_of(str(name))
            assert row is not None
            assert score == pytest.approx(float(index.vectors.similarity(query, [row])[0]), abs=1e-5)
        # Equally similar tools stand for each other.
        least = min(scores.values()) - 1e-5
        shares.append(sum(isinstance(score, float) and score >= least for _, score in found) / 10)
    assert np.mean(shares) >= 0.95


def test_the_shown_query_goes_by_the_index(filled: tuple[PostgresDatabase, ToolIndex]) -> None:
    opened, index = filled
    plan = "\n".join(str(line) for (line,) in nearest(opened, index.vectors.vector(0), explain=True))
    assert "Index Scan using tools_by_vector" in plan
