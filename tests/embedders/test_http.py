"""An embedding service: batches, order, patience, and errors that say what to do and never the key."""

import base64
import json
import logging
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from toolsearch.embedders.base import Embedder
from toolsearch.embedders.cache import CachedEmbedder
from toolsearch.embedders.endpoint import EmbeddingEndpoint
from toolsearch.embedders.http import HttpEmbedder
from toolsearch.exceptions import DimensionMismatchError, EmbedderUnavailableError, EmbeddingError
from toolsearch.http.retries import RetryPolicy
from toolsearch.testing import HashingEmbedder

URL = "http://embeddings.test/v1"
KEY = "sk-secret-123"
NOW = 1_800_000_000.0
DIM = 16

Reply = Callable[[list[str]], httpx.Response] | httpx.Response | Exception


def embeddings(texts: list[str]) -> list[list[float]]:
    return [[3 * value for value in row] for row in HashingEmbedder(DIM).embed_queries(texts).tolist()]


def good(texts: list[str]) -> httpx.Response:
    rows = enumerate(embeddings(texts))
    return httpx.Response(200, json={"data": [{"index": i, "embedding": row} for i, row in rows]})


def error(status: int, message: str = "", *, retry_after: str | None = None) -> httpx.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return httpx.Response(status, json={"error": {"message": message}}, headers=headers)


class Service:
    """Answers from a script, then well; keeps what it was asked and how long it was waited for."""

    def __init__(self, *script: Reply, otherwise: Reply = good) -> None:
        self.script = list(script)
        self.otherwise = otherwise
        self.requests: list[httpx.Request] = []
        self.waits_s: list[float] = []

    @property
    def batches(self) -> list[list[str]]:
        return [json.loads(request.content)["input"] for request in self.requests]

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.script.pop(0) if self.script else self.otherwise
        if isinstance(reply, Exception):
            raise reply
        return reply(json.loads(request.content)["input"]) if callable(reply) else reply

    def endpoint(self, url: str = URL, **options: Any) -> EmbeddingEndpoint:
        return EmbeddingEndpoint(
            url,
            "model-a",
            transport=httpx.MockTransport(self.answer),
            sleep=self.waits_s.append,
            clock=lambda: NOW,
            random=lambda: 0.0,
            **{"api_key": KEY, **options},
        )

    def embedder(self, **options: Any) -> HttpEmbedder:
        return HttpEmbedder(self.endpoint(), **{"dim": DIM, **options})


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "TOOLSEARCH_EMBEDDER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_rows_are_the_services_at_unit_length_in_the_order_of_the_texts() -> None:
    """(E147)"""
    texts = ["a long text about refunds", "b", "three words here"]
    with Service().embedder() as embedder:
        expected = HashingEmbedder(DIM).embed_queries(texts)
        np.testing.assert_allclose(embedder.embed_documents(texts), expected, atol=1e-6)
        np.testing.assert_allclose(embedder.embed_queries(texts), expected, atol=1e-6)
        assert isinstance(embedder, Embedder)


def test_the_request_is_what_openai_documents() -> None:
    service = Service()
    service.embedder().embed_documents(["hello"])
    (request,) = service.requests
    assert (request.method, str(request.url)) == ("POST", f"{URL}/embeddings")
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(request.content) == {"model": "model-a", "input": ["hello"], "encoding_format": "float"}


def test_rows_go_by_index_not_by_place() -> None:
    def shuffled(texts: list[str]) -> httpx.Response:
        return httpx.Response(200, json={"data": json.loads(good(texts).content)["data"][::-1]})

    texts = ["a", "bb", "ccc"]
    rows = Service(shuffled).embedder().embed_documents(texts)
    np.testing.assert_allclose(rows, HashingEmbedder(DIM).embed_queries(texts), atol=1e-6)


def test_base64_and_answers_without_index_are_understood() -> None:
    def encoded(texts: list[str]) -> httpx.Response:
        contents = [np.array(row, "<f4").tobytes() for row in embeddings(texts)]
        return httpx.Response(
            200, json={"data": [{"embedding": base64.b64encode(c).decode()} for c in contents]}
        )

    texts = ["a", "bb"]
    rows = Service(encoded).embedder().embed_documents(texts)
    np.testing.assert_allclose(rows, HashingEmbedder(DIM).embed_queries(texts), atol=1e-6)


def test_batches_hold_so_many_texts_and_characters_shortest_first() -> None:
    service = Service()
    texts = ["dddd", "a", "bb", "ccc", "e" * 50]
    service.embedder(max_texts=3, max_characters=7).embed_documents(texts)
    assert service.batches == [["a", "bb", "ccc"], ["dddd"], ["e" * 50]]


def test_prefixes_go_in_front_of_documents_and_queries() -> None:
    service = Service()
    embedder = service.embedder(document_prefix="passage: ", query_prefix="query: ")
    embedder.embed_documents(["a"])
    embedder.embed_queries(["b"])
    assert service.batches == [["passage: a"], ["query: b"]]


def test_blank_texts_are_not_sent_and_give_zero_rows() -> None:
    service = Service()
    rows = service.embedder(document_prefix="p: ").embed_documents(["", "a", " \n", "\x00"])
    assert service.batches == [["p: a"]]
    assert rows.any(axis=1).tolist() == [False, True, False, False]
    assert service.embedder().embed_documents([]).shape == (0, DIM)


def test_odd_texts_are_sent_as_valid_unicode_and_not_whole() -> None:
    """(E126)"""
    service = Service()
    service.embedder().embed_queries(["a\ud83d\x00b", "translate a document. " * 2500])
    sent = [text for batch in service.batches for text in batch]
    assert sent[0] == "a\ufffdb"
    assert sent[1].startswith("translate a document. ")
    assert len(sent[1]) == 32_000


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
def test_a_busy_service_is_asked_again_after_growing_waits(status: int) -> None:
    service = Service(*[error(status, "busy")] * 3)
    assert service.embedder().embed_documents(["a"]).any()
    assert service.waits_s == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("retry_after", "wait_s"),
    [("7", 7), (formatdate(NOW + 11, usegmt=True), 11), ("9999", 60), ("junk", 0.5)],
)
def test_retry_after_is_respected_within_reason(retry_after: str, wait_s: float) -> None:
    service = Service(error(429, "slow down", retry_after=retry_after))
    assert service.embedder().embed_documents(["a"]).any()
    assert service.waits_s == [wait_s]


def test_a_wait_in_milliseconds_is_respected() -> None:
    headers = {"Retry-After-Ms": "20", "Retry-After": "1"}
    service = Service(httpx.Response(429, json={}, headers=headers))
    assert service.embedder().embed_documents(["a"]).any()
    assert service.waits_s == [0.02]


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow")])
def test_broken_connections_are_tried_again_and_then_reported(failure: Exception) -> None:
    service = Service(failure, failure)
    assert service.embedder().embed_documents(["a"]).any()
    service = Service(otherwise=failure)
    with pytest.raises(EmbedderUnavailableError, match=r"cannot be reached.*attempt 5"):
        service.embedder().embed_documents(["a"])
    assert service.waits_s == [0.5, 1.0, 2.0, 4.0]


def test_a_query_gives_up_soon_and_works_again_after_recovery() -> None:
    """(E128)"""
    service = Service(*[httpx.ConnectError("refused")] * 2)
    embedder = service.embedder()
    with pytest.raises(EmbedderUnavailableError):
        embedder.embed_queries(["a"])
    assert sum(service.waits_s) <= 1
    assert service.requests[0].extensions["timeout"]["read"] == 5
    assert embedder.embed_queries(["a"]).any()


@pytest.mark.parametrize(
    ("status", "remedy"), [(401, "api_key"), (403, "api_key"), (404, "model's name"), (308, "URL")]
)
def test_refusals_that_waiting_cannot_mend_are_reported_at_once(status: int, remedy: str) -> None:
    service = Service(otherwise=error(status, "no"))
    with pytest.raises(EmbedderUnavailableError, match=rf"answered {status}.*{remedy}"):
        service.embedder().embed_documents(["a"])
    assert service.waits_s == []


def test_a_used_up_quota_is_not_asked_again() -> None:
    service = Service(otherwise=error(429, "insufficient_quota"))
    with pytest.raises(EmbedderUnavailableError, match="insufficient_quota"):
        service.embedder().embed_documents(["a"])
    assert len(service.requests) == 1


def at_most(texts: int, characters: int, status: int) -> Callable[[list[str]], httpx.Response]:
    def answer(asked: list[str]) -> httpx.Response:
        if len(asked) > texts or any(len(text) > characters for text in asked):
            return error(status, "input is too large")
        return good(asked)

    return answer


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_a_batch_refused_as_too_large_is_halved(status: int) -> None:
    service = Service(otherwise=at_most(3, 100, status))
    texts = [f"text {i}" for i in range(10)]
    rows = service.embedder(max_texts=10).embed_documents(texts)
    np.testing.assert_allclose(rows, HashingEmbedder(DIM).embed_queries(texts), atol=1e-6)
    assert [len(batch) for batch in service.batches] == [10, 5, 2, 2, 2, 2, 2]
    assert service.waits_s == []


def test_a_text_refused_as_too_long_is_cut() -> None:
    service = Service(otherwise=at_most(8, 300, 400))
    text = "refund " * 100
    rows = service.embedder().embed_documents(["a", text])
    np.testing.assert_allclose(rows, HashingEmbedder(DIM).embed_queries(["a", text[:175]]), atol=1e-6)


def test_a_text_that_no_cut_helps_is_reported() -> None:
    service = Service(otherwise=at_most(8, 2, 400))
    with pytest.raises(EmbeddingError, match=r"1 of 2 texts.*too large") as caught:
        service.embedder().embed_documents(["long", "b"])
    assert caught.value.embedded.keys() == {1}


def test_other_refusals_are_not_taken_for_size() -> None:
    service = Service(otherwise=error(400, "no such thing"))
    with pytest.raises(EmbeddingError, match=r"answered 400.*no such thing"):
        service.embedder().embed_documents(["a", "b"])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        ({"data": [{"index": 0, "embedding": [1.0] * DIM}]}, "no vector for 1 of 2"),
        ({"data": [{"index": i, "embedding": [1.0] * DIM} for i in (0, 0)]}, "no vector for 1 of 2"),
        ({"data": [{"index": i, "embedding": [1.0] * DIM} for i in (1, 2)]}, "no vector for 1 of 2"),
        ({"data": [{"index": i, "embedding": [1.0] * DIM} for i in (0, 1, 2)]}, "3 vectors for 2"),
        ({"data": [{"index": 0, "embedding": [1.0] * DIM}, {"index": 1, "embedding": None}]}, "1 of 2"),
        ({"data": [{"index": i, "embedding": [1.0] * (DIM - i)} for i in (0, 1)]}, "no vector"),
        ({"data": [{"index": i, "embedding": ["x"] * DIM} for i in (0, 1)]}, "no vector"),
        ({"data": [{"index": i, "embedding": "???"} for i in (0, 1)]}, "no vector"),
        ({"data": [{"index": i, "embedding": [1e300] * DIM} for i in (0, 1)]}, "not finite"),
        ({"error": "odd"}, "no embeddings"),
        ([], "no embeddings"),
    ],
)
def test_answers_that_are_no_embeddings_are_errors(payload: Any, reason: str) -> None:
    with pytest.raises(EmbeddingError, match=reason):
        Service(otherwise=httpx.Response(200, json=payload)).embedder().embed_documents(["a", "b"])


@pytest.mark.parametrize("content", ['{"data": [{"index": 0, "embedding": [NaN, 1]}]}', "<html>", ""])
def test_nan_and_other_formats_are_errors(content: str) -> None:
    """(E193)"""
    with pytest.raises(EmbeddingError):
        Service(otherwise=httpx.Response(200, text=content)).embedder(dim=2).embed_documents(["a"])


def test_another_dimension_than_promised_is_an_error() -> None:
    """(E135)"""
    with pytest.raises(DimensionMismatchError, match=f"{DIM} dimensions where 768"):
        Service().embedder(dim=768).embed_documents(["a"])


def test_an_unknown_dimension_is_asked_for_once() -> None:
    service = Service()
    embedder = service.embedder(dim=None)
    assert service.requests == []
    assert embedder.dim == DIM
    assert embedder.embed_documents([]).shape == (0, DIM)
    embedder.embed_documents(["a"])
    assert len(service.requests) == 2


def test_dimensions_are_asked_of_the_service_and_expected() -> None:
    service = Service()
    embedder = HttpEmbedder(service.endpoint(parameters={"dimensions": DIM}))
    assert embedder.dim == DIM
    embedder.embed_documents(["a"])
    assert json.loads(service.requests[0].content)["dimensions"] == DIM


def test_a_failed_batch_does_not_lose_the_others(tmp_path: Path) -> None:
    """The rows of the others come with the error and reach the cache (E148)."""
    service = Service(good, error(400, "bad words"), good)
    texts = ["a", "bb", "ccc"]
    with pytest.raises(EmbeddingError, match=r"1 of 3 texts.*bad words"):
        CachedEmbedder(service.embedder(max_texts=1), tmp_path / "cache").embed_documents(texts)
    CachedEmbedder(service.embedder(), tmp_path / "cache").embed_documents(texts)
    assert service.batches[3:] == [["bb"]]


def test_what_came_before_the_service_broke_down_is_kept(tmp_path: Path) -> None:
    service = Service(good, httpx.ConnectError("refused"))
    policy = RetryPolicy(attempts=1)
    with pytest.raises(EmbedderUnavailableError):
        CachedEmbedder(service.embedder(max_texts=1, retries=policy), tmp_path / "cache").embed_documents(
            ["a", "bb", "ccc"]
        )
    assert service.batches == [["a"], ["bb"]]
    CachedEmbedder(service.embedder(), tmp_path / "cache").embed_documents(["a", "bb", "ccc"])
    assert service.batches[2:] == [["bb", "ccc"]]


def test_progress_counts_every_text() -> None:
    seen: list[tuple[int, int]] = []
    Service().embedder(max_texts=2).embed_documents(
        ["", "a", "b", "c"], progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(1, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("url", "own", "openai", "sent"),
    [
        ("https://api.openai.com/v1", None, "o", "Bearer o"),
        ("https://api.openai.com/v1", "t", "o", "Bearer t"),
        ("https://elsewhere.test/v1", "t", "o", "Bearer t"),
        ("https://elsewhere.test/v1", None, "o", None),
        ("https://api.openai.com.evil.test/v1", None, "o", None),
    ],
)
def test_keys_come_from_the_environment_and_go_where_they_belong(
    monkeypatch: pytest.MonkeyPatch, url: str, own: str | None, openai: str | None, sent: str | None
) -> None:
    for name, value in (("TOOLSEARCH_EMBEDDER_API_KEY", own), ("OPENAI_API_KEY", openai)):
        if value is not None:
            monkeypatch.setenv(name, value)
    service = Service()
    HttpEmbedder(service.endpoint(url, api_key=None), dim=DIM).embed_documents(["a"])
    assert service.requests[0].headers.get("Authorization") == sent


def chain(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__


@pytest.mark.parametrize(
    "reply",
    [error(401, f"Incorrect API key provided: {KEY}"), httpx.ConnectError("refused"), error(400, KEY)],
)
def test_secrets_are_in_no_repr_error_or_log(reply: Reply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service = Service(otherwise=reply)
    endpoint = service.endpoint("http://ada:pass-word@embeddings.test/v1?token=query-secret")
    embedder = HttpEmbedder(endpoint, dim=DIM)
    with pytest.raises(EmbeddingError) as caught:
        embedder.embed_documents(["a"])
    seen = [repr(embedder), repr(endpoint), embedder.id]
    seen += [f"{exc!r} {exc} {vars(exc)}" for exc in chain(caught.value) if isinstance(exc, EmbeddingError)]
    seen += [f"{exc!r} {exc}" for exc in chain(caught.value)]
    assert not any(secret in text for text in seen for secret in (KEY, "pass-word", "query-secret"))
    assert KEY not in caplog.text
    assert "pass-word" not in caplog.text


def test_the_id_names_service_model_and_all_that_changes_vectors() -> None:
    service = Service()
    plain = service.embedder().id
    assert plain == "http://embeddings.test/v1#model-a"
    assert HttpEmbedder(service.endpoint(f"{URL}/embeddings/")).id == plain
    others = {
        service.embedder(document_prefix="p").id,
        service.embedder(query_prefix="p").id,
        HttpEmbedder(service.endpoint(parameters={"dimensions": 8})).id,
        HttpEmbedder(service.endpoint(parameters={"dimensions": 9})).id,
        HttpEmbedder(service.endpoint("http://other.test/v1")).id,
    }
    assert len(others | {plain}) == 6


@pytest.mark.parametrize("url", ["", "embeddings.test/v1", "ftp://embeddings.test", "http://"])
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no http or https URL"):
        EmbeddingEndpoint(url, "m")


def test_latin_only_models_say_what_they_read() -> None:
    assert Service().embedder(latin_only=True).reads("send 邮件") == pytest.approx(4 / 6)
    assert Service().embedder().reads("send 邮件") == 1.0
