"""Writes that are sent twice, and are carried out once."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra server")

from tests.server.support import Served, StuckEmbedder, service
from toolsearch.exceptions import DefinitionError, DuplicateToolError, EmbeddingError, TooBusyError

PING = {"name": "ping", "server": "net", "description": "Ping a host."}


@pytest.fixture
def served() -> Iterator[Served]:
    with service() as served:
        yield served


def test_a_write_that_is_sent_twice_is_carried_out_once(served: Served) -> None:
    body = {"tool": "web__search", "outcome": "called"}
    first, second = (
        served.http.post("/v1/feedback", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(2)
    )
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert ("idempotency-replayed" in first.headers, "idempotency-replayed" in second.headers) == (
        False,
        True,
    )
    assert len(served.http.get("/v1/feedback").json()["feedback"]) == 1
    other = served.http.post(
        "/v1/feedback", json={**body, "outcome": "failed"}, headers={"Idempotency-Key": "k1"}
    )
    assert (other.status_code, other.json()["type"]) == (422, "urn:toolsearch:problem:idempotency-key")


def test_a_delete_that_is_sent_twice_has_the_same_answer(served: Served) -> None:
    key = {"Idempotency-Key": "k1"}
    assert [served.http.delete("/v1/tools/web__search", headers=key).status_code for _ in range(2)] == [
        204,
        204,
    ]
    assert served.http.delete("/v1/tools/web__search").status_code == 404


def test_a_write_that_fails_on_our_side_may_be_tried_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = served.app.state.service.catalog
    whole = catalog.change

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(catalog, "change", fail)
    key = {"Idempotency-Key": "k1"}
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=key).status_code == 500
    monkeypatch.setattr(catalog, "change", whole)
    assert served.http.put("/v1/tools/net__ping", json=PING, headers=key).status_code == 201


@pytest.mark.parametrize(
    ("error", "is_tried_anew"),
    [
        (EmbeddingError("The encoder is away."), True),
        (TooBusyError(1.0), True),
        (DuplicateToolError(("ping",)), True),
        (OSError("disk full"), True),
        (DefinitionError("ping", "it is none."), False),
    ],
)
def test_an_upload_told_in_lines_may_be_tried_again_as_any_write(
    served: Served, monkeypatch: pytest.MonkeyPatch, error: Exception, is_tried_anew: bool
) -> None:
    catalog = served.app.state.service.catalog
    whole = catalog.change

    def fail(*_: object, **__: object) -> None:
        raise error

    def upload() -> tuple[str, bool]:
        lines = "application/x-ndjson"
        headers = {"Idempotency-Key": "k1", "Content-Type": lines, "Accept": lines}
        response = served.http.post("/v1/tools/bulk", content=json.dumps(PING), headers=headers)
        assert response.status_code == 200
        last = json.loads(response.text.splitlines()[-1])
        return last["stage"], "idempotency-replayed" in response.headers

    monkeypatch.setattr(catalog, "change", fail)
    assert upload() == ("failed", False)
    monkeypatch.setattr(catalog, "change", whole)
    assert upload() == (("done", False) if is_tried_anew else ("failed", True))
    assert upload() == (("done", True) if is_tried_anew else ("failed", True))


def test_a_write_that_still_runs_is_not_begun_again() -> None:
    embedder = StuckEmbedder("Ping")
    with service(embedder=embedder) as served:

        def put() -> int:
            key = {"Idempotency-Key": "k1"}
            return served.http.put("/v1/tools/net__ping", json=PING, headers=key).status_code

        statuses: list[int] = []
        thread = threading.Thread(target=lambda: statuses.append(put()))
        thread.start()
        assert embedder.entered.wait(20)
        assert put() == 409
        embedder.release.set()
        thread.join()
        assert statuses == [201]
        assert put() == 201


@pytest.mark.parametrize("key", ["", "a b", "a" * 201])
def test_an_idempotency_key_that_is_none_is_refused(served: Served, key: str) -> None:
    response = served.http.post("/v1/sessions", json={}, headers={b"idempotency-key": key.encode()})
    assert response.status_code == 422


def test_secrets_of_keys_are_not_kept_for_a_second_answer(served: Served, tmp_path: Path) -> None:
    body = {"name": "x", "scopes": ["admin"]}
    made = served.http.post("/v1/keys", json=body, headers={"Idempotency-Key": "k"}).json()
    again = served.as_key(made["secret"]).post("/v1/keys", json=body, headers={"Idempotency-Key": "k"}).json()
    assert made["secret"] != again["secret"]


def test_a_put_of_what_is_there_changes_nothing(served: Served) -> None:
    assert served.http.put("/v1/tools/net__ping", json=PING).status_code == 201
    index = served.app.state.service.catalog.searcher.index
    assert served.http.put("/v1/tools/net__ping", json=PING).status_code == 200
    assert served.app.state.service.catalog.searcher.index is index
    assert served.http.put("/v1/tools/net__ping", json={**PING, "title": "Ping"}).status_code == 200
    assert served.app.state.service.catalog.searcher.index is not index
