from tests.cli.conftest import Run
from toolsearch.demo import SHOWCASE, demo_folder
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


def test_people_see_every_request_with_hits_scores_and_tokens(run: Run) -> None:
    out = run("demo").out
    for request in SHOWCASE:
        assert all(repr(query) in out for query in request.queries)
    assert out.count("spared)") == len(SHOWCASE)
    assert "codehub__listProjects" in out
