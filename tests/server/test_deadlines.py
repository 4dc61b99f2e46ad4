"""What a request asks for ends with its time, and is limited before."""

import threading
import time
from collections.abc import Callable

import pytest

from tests.retrieval.support import OFFICE
from tests.server.support import service, until
from toolsearch.deadlines import within_deadline
from toolsearch.delivery.append import APPEND
from toolsearch.exceptions import TookTooLongError
from toolsearch.globs import Globs
from toolsearch.index.tool_index import ToolIndex
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.filters import unknown_among
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.retrieval.selecting import selected
from toolsearch.server.listing import rows_with
from toolsearch.session.base import Session
from toolsearch.session.memory import MemorySessionStore
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

MANY = tuple(Tool(raw_name=f"tool_{number}", source="many") for number in range(2000))

WORK: dict[str, Callable[[ToolIndex], object]] = {
    "globs": lambda index: index.columns.matching(("*mail*",)),
    "labels": lambda index: unknown_among("tag", ["none"], index.columns.tag_rows),
    "names": lambda index: selected(index, index.whole, ["none"], None),
    "text": lambda index: rows_with(index, range(len(index)), "mail"),
    "searches": lambda index: ToolSearcher(index, HashingEmbedder()).search_many(["mail", "room"]),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_work_ends_once_its_time_is_over(work: Callable[[ToolIndex], object]) -> None:
    index = build_index(OFFICE, HashingEmbedder())
    with within_deadline(1.0, begun=time.monotonic() - 2), pytest.raises(TookTooLongError):
        work(index)
    with within_deadline(60.0, begun=time.monotonic()):
        work(index)
    work(index)


def test_a_tool_search_of_a_session_ends_once_its_time_is_over() -> None:
    with service() as served:
        session = Session(MemorySessionStore(), "one")
        discovery = served.app.state.service.catalog.discoverer.open(session, APPEND)
        with within_deadline(1.0, begun=time.monotonic() - 2), pytest.raises(TookTooLongError):
            discovery.search({"queries": ["mail"]})


@pytest.mark.parametrize("path", ["/v1/search", "/v1/search/batch"])
def test_a_search_with_slow_globs_ends_right_after_its_504(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    fits, pause = Globs.fits, threading.Event()

    def slow(self: Globs, text: str) -> bool:
        pause.wait(0.002)
        return fits(self, text)

    searches = [{"queries": ["mail"], "deny": [f"*{number}"]} for number in range(64)]
    with service(MANY, timeout_s=0.3) as served:
        monkeypatch.setattr(Globs, "fits", slow)
        late = served.http.post(path, json={"searches": searches} if path.endswith("batch") else searches[0])
        assert late.status_code == 504
        try:
            # All of it takes a quarter of a minute, or of an hour.
            until(lambda: not served.app.state.service.work.taken, tries=300)
        finally:
            pause.set()


def test_a_search_may_have_a_hundred_globs_beside_names() -> None:
    globs, names = [f"*{number}*" for number in range(101)], [f"name_{number}" for number in range(900)]
    with service() as served:
        for body, status in (
            ({"allow": [*globs[:60], *names], "deny": globs[60:100]}, 200),
            ({"allow": globs[:60], "deny": globs[60:]}, 422),
        ):
            assert served.http.post("/v1/search", json={"queries": "mail", **body}).status_code == status


def test_a_batch_may_have_256_globs_and_the_same_list_counts_once() -> None:
    several = [
        {"queries": ["mail"], "allow": [f"{row}_{column}*" for column in range(86)]} for row in range(3)
    ]
    with service() as served:
        for searches, status in ((several, 422), (several[:2] * 20, 200)):
            batch = served.http.post("/v1/search/batch", json={"searches": searches})
            assert batch.status_code == status
            assert ("it has 258 globs; at most 256 fit" in batch.text) == (status == 422)


def test_of_very_many_unknown_labels_ten_are_told() -> None:
    with service() as served:
        found = served.http.post(
            "/v1/search", json={"queries": "mail", "sources": [f"none {number}" for number in range(1000)]}
        ).json()
        told = [notice for notice in found["notices"] if notice.startswith("No tool has")]
        assert len(told) == 11
        assert told[-1] == "No tool has 990 more of the sources."
