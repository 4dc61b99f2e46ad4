"""Searching over HTTP."""

import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.retrieval.support import OFFICE, searcher
from tests.server.support import Served, StuckEmbedder, service
from toolsearch.embedders.base import Vectors
from toolsearch.exceptions import DuplicateToolError, RerankerError
from toolsearch.retrieval.base import SearchRequest
from toolsearch.server import written
from toolsearch.testing import FlakyEmbedder, HashingEmbedder, WordReranker
from toolsearch.tools import Tool


@pytest.fixture(scope="module")
def office() -> Iterator[Served]:
    with service() as served:
        yield served


def search(served: Served, **body: Any) -> Any:
    response = served.http.post("/v1/search", json=body)
    assert response.status_code == 200, response.text
    return response.json()


def test_it_answers_what_the_searcher_answers(office: Served) -> None:
    expected = searcher().search(SearchRequest(queries=("send an email", "weather"), k=4))
    found = search(office, queries=["send an email", "weather"], k=4)
    assert [hit["name"] for hit in found["hits"]] == list(expected.names)
    assert [hit["score"] for hit in found["hits"]] == [round(hit.score, 6) for hit in expected.hits]
    assert found["returned_tokens"] == expected.returned_tokens
    assert found["confidence"] == expected.confidence


def test_one_query_may_be_a_text(office: Served) -> None:
    assert search(office, queries="send_email")["hits"][0]["name"] == "mail__send_email"


def test_hits_come_with_definitions_in_a_form_where_that_is_asked_for(office: Served) -> None:
    found = search(office, queries="send_email", k=1, form="anthropic")
    (definition,) = found["tools"]
    assert definition["name"] == "mail__send_email"
    assert definition["input_schema"] == {"type": "object", "properties": {}}
    assert search(office, queries="send_email", k=1)["tools"] is None


def test_an_exact_name_is_first_and_several_are_all_found(office: Served) -> None:
    """E115."""
    assert search(office, queries="SEND_EMAIL")["hits"][0]["name"] == "mail__send_email"
    names = {"mail__send_email", "geo__get_weather", "calendar__list_events"}
    found = search(office, queries=" ".join(sorted(names)), k=3)
    assert {hit["name"] for hit in found["hits"]} == names


@pytest.mark.parametrize(
    ("field", "k"),
    [
        *(("k", k) for k in (0, -5, 1.5, "abc", "5", 10**9, True)),
        *(("max_k", k) for k in (0, -5, 1.5, "abc", "5", 10**9, None, True)),
    ],
)
def test_a_number_of_hits_that_is_none_is_refused(office: Served, field: str, k: object) -> None:
    """E117, E185."""
    response = office.http.post("/v1/search", json={"queries": "mail", field: k})
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["errors"][0]["at"] == f"body.{field}"


def test_more_hits_than_the_service_gives_are_cut_and_told() -> None:
    """E185."""
    with service(max_results=2) as served:
        found = search(served, queries="mail", k=5)
        assert len(found["hits"]) == 2
        assert found["notices"][0] == "This service gives at most 2 hits."


@pytest.mark.parametrize("query", ["", "   ", "\n", "?!"])
def test_a_query_without_words_is_a_problem(office: Served, query: str) -> None:
    """E119."""
    response = office.http.post("/v1/search", json={"queries": [query]})
    assert (response.status_code, response.json()["type"]) == (422, "urn:toolsearch:problem:search-request")


def test_no_query_is_a_problem(office: Served) -> None:
    """E119."""
    bodies: list[Any] = [{"queries": None}, {"queries": []}, {}, {"queries": ["a"] * 17}]
    for body in bodies:
        assert office.http.post("/v1/search", json=body).status_code == 422


def test_a_long_query_is_cut_and_told(office: Served) -> None:
    """E126."""
    found = search(office, queries="Send an email message. " + "word " * 10_000)
    assert "2,000 were searched" in found["notices"][0]
    assert "mail__send_email" in [hit["name"] for hit in found["hits"]] + found["near"]


def test_filters_are_those_of_the_searcher(office: Served) -> None:
    found = search(office, queries="search", k=7, sources=["web", "files"], deny=["files/*"])
    assert [hit["name"] for hit in found["hits"]] == ["web__search"]
    found = search(office, queries="search", k=7, read_only=True, exclude=["web__search"])
    assert "web__search" not in [hit["name"] for hit in found["hits"]]
    assert "mail__send_email" not in [hit["name"] for hit in found["hits"]]


def test_channels_and_stages_are_told_where_they_are_asked_for(office: Served) -> None:
    explained = search(office, queries="send email", explain=True)
    assert {"dense", "lexical", "name"} <= explained["hits"][0]["channels"].keys()
    assert "total" in explained["timings_ms"]
    assert search(office, queries="send email")["hits"][0]["channels"] is None


def test_a_batch_answers_each_search_in_its_place(office: Served) -> None:
    searches: list[dict[str, Any]] = [
        {"queries": "send email"},
        {"queries": "?!"},
        {"queries": ["weather"], "k": 1},
    ]
    response = office.http.post("/v1/search/batch", json={"searches": searches})
    first, bad, last = response.json()["items"]
    assert first["answer"]["hits"] == search(office, queries="send email")["hits"]
    assert (first["problem"], bad["answer"]) == (None, None)
    assert bad["problem"]["status"] == 422
    assert [hit["name"] for hit in last["answer"]["hits"]] == ["geo__get_weather"]


def test_a_form_that_the_hits_of_one_search_cannot_have_is_its_problem_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse_twins(tools: list[Tool], form: str) -> Any:
        if any(tool.raw_name == "twin" for tool in tools):
            raise DuplicateToolError(("twin",), "leave one out.")
        return written.served_tools(tools, form)

    monkeypatch.setattr("toolsearch.server.routers.search.served_tools", refuse_twins)
    twins = tuple(Tool(raw_name="twin", source=source, description="A twin.") for source in ("a", "b"))
    with service((*OFFICE, *twins)) as served:
        searches = [{"queries": "twin", "k": 2, "form": "mcp"}, {"queries": "send email", "form": "mcp"}]
        bad, good = served.http.post("/v1/search/batch", json={"searches": searches}).json()["items"]
        assert (bad["answer"], bad["problem"]["status"]) == (None, 409)
        assert good["answer"]["hits"] == search(served, queries="send email")["hits"]
        assert served.http.post("/v1/search", json=searches[0]).status_code == 409


def test_a_batch_is_embedded_in_one_go() -> None:
    embedder = HashingEmbedder()
    with service(embedder=embedder) as served:
        long = [f"send an email about the weather in {n}" for n in range(10, 26)]
        short = [f"mail {n}" for n in range(10, 26)]
        texts = [text for pair in zip(long, short, strict=True) for text in pair]
        before = len(embedder.query_calls)
        body = {"searches": [{"queries": text, "steps": False} for text in texts]}
        items = served.http.post("/v1/search/batch", json=body).json()["items"]
        assert embedder.query_calls[before:] == [tuple(texts)]
        for text, item in zip(texts, items, strict=True):
            alone = search(served, queries=text, steps=False)
            assert item["answer"]["hits"] == alone["hits"]


def test_a_batch_whose_embedder_fails_is_answered_by_words_alone() -> None:
    class Failing(HashingEmbedder):
        fails = False

        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            if self.fails:
                raise ConnectionError("s3cr3t address")
            return super().embed_queries(texts)

    embedder = Failing()
    with service(embedder=embedder) as served:
        embedder.fails = True
        response = served.http.post("/v1/search/batch", json={"searches": [{"queries": "send email"}] * 2})
        assert [item["answer"]["degraded"] for item in response.json()["items"]] == [True, True]
        assert "s3cr3t" not in response.text


def test_nothing_that_was_searched_for_is_kept_from_one_batch_to_the_next() -> None:
    embedder = HashingEmbedder()
    with service(embedder=embedder) as served:
        body = {"searches": [{"queries": "send email", "steps": False}]}
        before = len(embedder.query_calls)
        for _ in range(2):
            served.http.post("/v1/search/batch", json=body)
        assert embedder.query_calls[before:] == [("send email",)] * 2


def test_a_batch_too_long_is_refused(office: Served) -> None:
    many: list[Any] = [{"queries": "mail"}] * 65
    long: list[Any] = [{"queries": ["mail"] * 16}] * 17
    for searches in (many, long):
        assert office.http.post("/v1/search/batch", json={"searches": searches}).status_code == 422


def test_a_reranker_reads_the_best_tools_and_tells_nothing_of_the_machine_when_it_fails() -> None:
    reranker = WordReranker()
    with service(reranker=reranker) as served:
        found = search(served, queries="send an email", explain=True)
        assert all("rerank" in hit["channels"] for hit in found["hits"])
        reranker.failures = [ConnectionError("https://secret-host.internal refused")]
        found = search(served, queries="send an email")
        assert found["hits"][0]["name"] == "mail__send_email"
        assert "Not ranked again, as the reranker failed." in found["notices"]
        assert "secret-host" not in json.dumps(found)


def test_a_reranker_that_cannot_be_loaded_ends_the_start() -> None:
    with pytest.raises(RerankerError, match="Unknown reranker 'acme'"), service(rerank="acme"):
        pass


def test_an_encoder_that_fails_leaves_words_and_names_and_tells_nothing_of_the_machine() -> None:
    """E128."""
    flaky = FlakyEmbedder(HashingEmbedder())
    with service(embedder=flaky) as served:
        flaky.failures = [ConnectionError("https://secret-host.internal refused")]
        found = search(served, queries="send an email")
        assert found["degraded"] is True
        assert found["hits"][0]["name"] == "mail__send_email"
        assert "secret-host" not in json.dumps(found)
        assert search(served, queries="send an email")["degraded"] is False


@pytest.mark.parametrize("value", [float("nan"), 0.0])
def test_scores_are_numbers_whatever_the_encoder_answers(value: float) -> None:
    """E183."""

    class Broken(HashingEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> Vectors:
            rows = super().embed_queries(texts)
            return np.full_like(rows, value) if "send an email" in texts else rows

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    with service(embedder=Broken()) as served:
        body: dict[str, Any] = {"queries": "send an email", "k": 3, "explain": True}
        response = served.http.post("/v1/search", json=body)
        found = json.loads(response.content, parse_constant=refuse)
        assert found["hits"]
        assert all(isinstance(hit["score"], float) for hit in found["hits"])


def test_equal_tools_come_in_the_order_of_their_names() -> None:
    """E129."""
    twins = tuple(Tool(raw_name=f"twin_{letter}", description="Does the same.") for letter in "fbdace")
    with service(twins) as served:
        answers = {
            json.dumps([hit["name"] for hit in search(served, queries="does the same", k=6)["hits"]])
            for _ in range(5)
        }
    assert answers == {json.dumps([f"twin_{letter}" for letter in "abcdef"])}


def test_a_slow_encoder_does_not_keep_others_waiting() -> None:
    """E179: alive is answered while a search is stuck, and so is what needs no search."""
    embedder = StuckEmbedder("slow query")
    with service(embedder=embedder) as served:
        answers: list[int] = []
        thread = threading.Thread(
            target=lambda: answers.append(
                served.http.post("/v1/search", json={"queries": "slow query"}).status_code
            )
        )
        thread.start()
        assert embedder.entered.wait(20)
        alive = [served.http.get("/healthz") for _ in range(20)]
        assert {answer.status_code for answer in alive} == {200}
        # The best of many, as other programs may have the processor; of a service that waits none is fast.
        assert min(answer.elapsed.total_seconds() for answer in alive) < 0.2
        assert served.app.state.service.work.taken == 1
        assert served.http.get("/v1/tools").status_code == 200
        assert answers == []
        embedder.release.set()
        thread.join()
        assert answers == [200]


def test_more_than_fits_is_told_to_come_again() -> None:
    embedder = StuckEmbedder("slow query")
    with service(embedder=embedder, max_running=1, max_waiting=0) as served:
        thread = threading.Thread(
            target=lambda: served.http.post("/v1/search", json={"queries": "slow query"})
        )
        thread.start()
        assert embedder.entered.wait(20)
        refused = served.http.post("/v1/search", json={"queries": "mail"})
        embedder.release.set()
        thread.join()
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert served.http.post("/v1/search", json={"queries": "mail"}).status_code == 200


def test_a_search_that_takes_too_long_ends_without_it() -> None:
    embedder = StuckEmbedder("stuck query")
    with service(embedder=embedder, timeout_s=0.2) as served:
        late = served.http.post("/v1/search", json={"queries": "stuck query"})
        embedder.release.set()
        assert (late.status_code, late.json()["type"]) == (504, "urn:toolsearch:problem:took-too-long")
