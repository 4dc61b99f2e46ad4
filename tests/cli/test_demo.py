from tests.cli.conftest import Run
from toolsearch.demo import SHOWCASE, demo_folder
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.base import SearchRequest
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.sources.files import read_catalog
from toolsearch.tokens import catalog_tokens


def test_the_demo_answers_its_requests_over_the_demo_catalog(run: Run) -> None:
    report = run("demo", "--json").json
    catalog = read_catalog(demo_folder() / "catalog").catalog
    assert report["tools"] == len(catalog)
    assert report["tokens"] == sum(catalog_tokens(catalog.values()).values())
    assert [request["shows"] for request in report["requests"]] == [request.shows for request in SHOWCASE]
    for request in report["requests"]:
        assert request["returned_tokens"] + request["spared_tokens"] == report["tokens"]


BEST = {
    "open an issue about the login page in our repository": "gitforge__create_issue",
    "the customer wants her money back": "paylane__create-refund",
    "put lunch with Ana on Friday into my calendar": "calendar__events_quick_add",
    "book a hotel in Lisbon": "voyager__book-hotel",
    "listProjects": "codehub__listProjects",
    "water the tomatoes in my greenhouse": "",
}


def test_the_embedder_of_the_package_answers_each_request_clearly() -> None:
    """The tool that serves it comes first, by more than a hair."""
    embedder = BundledEmbedder()
    searcher = ToolSearcher(ToolIndex.load(demo_folder() / "index", embedder), embedder)
    assert {query for request in SHOWCASE for query in request.queries} == BEST.keys()
    for query, best in BEST.items():
        result = searcher.search(query)
        assert result.nothing_fits == (not best)
        if best:
            first, second = searcher.search(SearchRequest(queries=(query,), k=2)).hits
            assert first.name.startswith(best), query
            assert first.score - second.score > 0.02, query


def test_people_see_every_request_with_hits_scores_and_tokens(run: Run) -> None:
    out = run("demo").out
    for request in SHOWCASE:
        assert all(repr(query) in out for query in request.queries)
    assert out.count("spared)") == len(SHOWCASE)
    assert "codehub__listProjects" in out
