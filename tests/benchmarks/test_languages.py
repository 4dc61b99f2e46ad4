"""The table of languages asks each request of the demo set once, and measures as written."""

import pytest

from benchmarks.data import DEFAULT_DATA, load_named
from benchmarks.languages import LANGUAGES, Asked, demo_requests, figures
from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool


def test_each_request_that_a_tool_serves_is_in_the_row_of_its_language() -> None:
    *rows, others = demo_requests()
    served = [query.id for query in load_named("demo", DEFAULT_DATA).queries if query.gold]
    assert sorted(query.id for row in rows for query in row.queries) == sorted(served)
    assert len(rows) == len(LANGUAGES)
    assert len(others.queries) == sum(len(row.queries) for row in rows[1:]) == 53
    (german,) = (row for row in rows if row.label.startswith("German"))
    assert any("Köln" in query.text for query in german.queries)


def test_figures_are_means_over_the_requests() -> None:
    """Worked by hand: the first request finds its tool first, the second asks for one that is not there."""
    tools = [Tool(raw_name=f"t{i}", description=text) for i, text in enumerate(["send an email", "get rain"])]
    queries = (BenchQuery("a", "send an email", ("t0",)), BenchQuery("b", "rain", ("gone",)))
    asked = Asked("two", Catalog(tools), {"t0": "t0", "t1": "t1"}, queries)
    assert figures(asked, HashingEmbedder()) == pytest.approx([0.5, 0.5])
