"""The service over HTTP on this machine, for the tests of it and of its clients."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from tests.retrieval.support import OFFICE
from toolsearch.api.keys import NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.embedders.base import Embedder, Progress, Vectors
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.building import build_index
from toolsearch.server import ServerSettings, create_app, serving
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool

OFFICE_NAMES = sorted(tool.name for tool in OFFICE)


@dataclass(frozen=True)
class Served:
    """A running service: its application, its address, and a client that sends no key."""

    app: FastAPI
    url: str
    http: httpx.Client

    def key(self, *scopes: KeyScope, **rules: Any) -> str:
        """The secret of a new key, made behind the back of the API."""
        keys = self.app.state.service.keys
        if not keys.has_keys:
            keys.add(NewKey(name="first", scopes=frozenset({KeyScope.ADMIN})), now=0.0)
        new = NewKey(name="test", scopes=frozenset(scopes or {KeyScope.SEARCH}), **rules)
        return str(keys.add(new, now=1.0).secret)

    def as_key(self, secret: str) -> httpx.Client:
        """A client that sends this key; it uses the connections of `http`."""
        client = httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {secret}"}, timeout=120)
        self._opened.append(client)
        return client

    @property
    def _opened(self) -> list[httpx.Client]:
        opened: list[httpx.Client] = self.app.state.clients
        return opened


class StuckEmbedder(HashingEmbedder):
    """Waits, with any text that holds `word`, until it is released.

    Attributes:
        entered: Set once it waits.
        release: Sets it free.
    """

    def __init__(self, word: str) -> None:
        super().__init__()
        self._word = word
        self.entered, self.release = threading.Event(), threading.Event()

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self._wait(texts)
        return super().embed_documents(texts, progress=progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self._wait(texts)
        return super().embed_queries(texts)

    def _wait(self, texts: Sequence[str]) -> None:
        if any(self._word in text for text in texts):
            self.entered.set()
            assert self.release.wait(20)


@contextlib.contextmanager
def service(
    tools: tuple[Tool, ...] = OFFICE,
    *,
    embedder: Embedder | None = None,
    folder: Path | None = None,
    wait: bool = True,
    callable_tools: tuple[Tool, ...] = (),
    reranker: Reranker | None = None,
    http: type[asyncio.Protocol] | None = None,
    read_settings: Callable[[], ServerSettings] | None = None,
    **settings: Any,
) -> Iterator[Served]:
    """A service over an index of `tools`, in `folder` if it is given; with `wait` it is ready."""
    embedder = embedder or HashingEmbedder()
    index = build_index(tools, embedder)
    if folder is not None:
        index.save(folder)
    chosen = ServerSettings(**{"port": 0, "timeout_s": 120, **settings})
    app = create_app(
        folder or index,
        chosen,
        embedder=embedder,
        tools=callable_tools,
        reranker=reranker,
        read_settings=read_settings,
    )
    app.state.clients = []
    with serving(app, chosen, http=http) as url, httpx.Client(base_url=url, timeout=120) as client:
        try:
            if wait:
                until(lambda: client.get("/readyz").status_code == 200)
            yield Served(app, url, client)
        finally:
            for opened in app.state.clients:
                opened.close()


def until(holds: Callable[[], bool], *, tries: int = 2000) -> None:
    """Ask until it holds; the service is another thread, whose events are not ours."""
    pause = threading.Event()
    for _ in range(tries):
        if holds():
            return
        pause.wait(0.01)
    raise AssertionError("it never held")
