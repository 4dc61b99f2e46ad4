"""`Service`: all that requests share, each part behind a small protocol."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sqlite3
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from toolsearch.discovery.settings import DiscoverySettings
from toolsearch.embedders.base import Embedder
from toolsearch.exceptions import DatabaseError, StoreError, ToolSearchError
from toolsearch.exceptions.places import place_of
from toolsearch.given import Tools, as_tools
from toolsearch.index.tool_index import ToolIndex
from toolsearch.rerankers.base import Reranker
from toolsearch.retrieval.usage import LearnedUsage
from toolsearch.retrieval.usage_score import UsageWeights
from toolsearch.server.current import CurrentSettings
from toolsearch.server.keys import Caller, KeyCheck
from toolsearch.server.learning import Learning
from toolsearch.server.linting import CatalogLinter
from toolsearch.server.live import LiveCatalog
from toolsearch.server.metrics import Metrics
from toolsearch.server.opening import open_stores
from toolsearch.server.records import Records
from toolsearch.server.retention import Retention
from toolsearch.server.rounds import RoundRecorder
from toolsearch.server.settings import ServerSettings
from toolsearch.server.usage import UsageMeter
from toolsearch.server.work import Work
from toolsearch.session.base import SessionStore
from toolsearch.tools import Tool

if TYPE_CHECKING:
    from toolsearch.postgres.database import PostgresDatabase
    from toolsearch.postgres.watch import DatabaseWatch

_FLUSH_S = 5.0
_LOAD_AGAIN_S = 5.0

_log = logging.getLogger("toolsearch.server")


@dataclass(frozen=True, eq=False)
class Service:
    """What answers requests.

    Attributes:
        changing: Where the catalog is changed, one request after another: those that wait for each other take
            no thread from what searches.
        callable_tools: Those that it can run, by public name.
        own_process: Whether nothing else runs in this process.
    """

    current: CurrentSettings
    catalog: LiveCatalog
    sessions: SessionStore
    keys: KeyCheck
    records: Records
    work: Work
    changing: Work
    usage: UsageMeter
    rounds: RoundRecorder
    linter: CatalogLinter
    retention: Retention
    learning: Learning | None = None
    metrics: Metrics = field(default_factory=Metrics)
    callable_tools: Mapping[str, Tool] = field(default_factory=dict)
    database: PostgresDatabase | None = None
    own_process: bool = False
    owned: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @classmethod
    def open(
        cls,
        index: ToolIndex | Path | None,
        current: CurrentSettings,
        embedder: Embedder,
        tools: Tools = (),
        *,
        reranker: Reranker | None = None,
        own_process: bool = False,
    ) -> Service:
        """The service over `index`, with its database opened and nothing loaded yet.

        Raises:
            ServerSettingsError: anybody in the network could do anything.
            DatabaseError, StoreError, sqlite3.Error: the database cannot be used.
        """
        settings = current.now
        with contextlib.ExitStack() as owned:
            stores = open_stores(index, settings, owned)
            keys = KeyCheck(stores.records, api_key=_secret(settings), open_without=settings.is_loopback)
            settings.check_reach(has_keys=keys.has_keys)
            discovery = DiscoverySettings(limit=settings.tool_limit, max_tools=settings.max_tools)
            usage = (
                None
                if stores.learned is None
                else LearnedUsage(weights=UsageWeights(reach=settings.learn_reach))
            )
            catalog = LiveCatalog(stores.catalog, embedder, discovery, reranker=reranker, usage=usage)
            learning = None
            if usage is not None and stores.learned is not None:
                learning = Learning(usage, stores.learned, lambda: catalog.searcher, embedder.id)
            return cls(
                current=current,
                catalog=catalog,
                sessions=stores.sessions,
                keys=keys,
                records=stores.records,
                work=Work(
                    max_running=settings.max_running,
                    max_waiting=settings.max_waiting,
                    timeout_s=settings.timeout_s,
                ),
                changing=Work(
                    max_running=1,
                    max_waiting=settings.max_running + settings.max_waiting - 1,
                    timeout_s=settings.timeout_s,
                ),
                usage=UsageMeter(stores.records),
                rounds=RoundRecorder(stores.rounds),
                linter=CatalogLinter(catalog.embedder),
                retention=Retention(stores.records, days=settings.feedback_days),
                learning=learning,
                callable_tools={tool.name: tool for tool in as_tools(tools)},
                database=stores.database,
                own_process=own_process,
                owned=owned.pop_all(),
            )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Loads the index, writes usage and hears of changes meanwhile; closes everything in the end."""
        stop = asyncio.Event()
        tasks = [asyncio.create_task(self._load(stop)), asyncio.create_task(self._flush(stop))]
        watch = self._watch()
        try:
            yield
        finally:
            stop.set()
            if watch is not None:
                await asyncio.to_thread(watch.stop)
            await asyncio.gather(*tasks)
            await asyncio.to_thread(self.close)

    @property
    def settings(self) -> ServerSettings:
        """As they are now."""
        return self.current.now

    def runs_for(self, caller: Caller) -> Mapping[str, Tool]:
        """The tools that run for `caller`, by public name.

        What the catalog has under that name may be of another source, so its being known is not enough.
        """
        if not caller.filters:
            return self.callable_tools
        return {name: tool for name, tool in self.callable_tools.items() if caller.rule.permits(tool)}

    async def reload(self) -> None:
        """Read settings and index again; where that fails, those of before stay and the log says why."""
        try:
            await asyncio.to_thread(self._reload_settings)
        except ToolSearchError as exc:
            _log.error("The settings stay as they were: %s", exc)
        try:
            await asyncio.to_thread(self.catalog.load)
        except Exception as exc:  # noqa: BLE001 - an embedder may be anybody's
            _log.error("The index cannot be loaded again: %s: %s", type(exc).__name__, exc)

    def _reload_settings(self) -> None:
        settings, restart = self.current.read_again()
        settings.check_reach(has_keys=bool(_secret(settings)) or self.keys.has_stored_keys)
        self.keys.put_api_key(_secret(settings))
        self.work.timeout_s = self.changing.timeout_s = settings.timeout_s
        self.current.put(settings)
        if restart:
            _log.warning("Changed settings that count after a restart: %s", ", ".join(restart))

    def close(self) -> None:
        """Finish what runs, write what was used, close the database."""
        self.changing.close()
        self.work.close()
        with self.owned:
            try:
                self._write()
            except (sqlite3.Error, DatabaseError, StoreError) as exc:
                _log.error("Usage and rounds of the last seconds are lost: %s", exc)

    def _watch(self) -> DatabaseWatch | None:
        """Has what others change in the database count here, too."""
        if self.database is None:
            return None
        from toolsearch.postgres.watch import DatabaseWatch

        def changed() -> None:
            self.keys.expire()
            self.records.settle()
            if self.catalog.is_loaded:
                self.catalog.refresh()

        watch = DatabaseWatch(self.database, changed)
        watch.start()
        return watch

    def _write(self) -> None:
        """Write what was used, and what sessions did."""
        self.usage.flush()
        self.rounds.flush()

    def _keep_up(self) -> None:
        """Write what there is, drop what is too old, and read what others have learned."""
        self._write()
        self.retention.sweep()
        if self.learning is not None:
            self.learning.refresh()

    async def _load(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            try:
                await asyncio.to_thread(self.catalog.load)
                if self.own_process:
                    # All that is loaded stays, and looking through it again and again for garbage takes a
                    # fifth of the time of a search without its embedding.
                    gc.freeze()
                self._tell_of_strangers()
                if self.learning is not None:
                    await asyncio.to_thread(self.learning.refresh)
            except Exception as exc:  # noqa: BLE001 - an embedder may be anybody's
                # Told, and shown by /readyz; whoever mends the index need not start the service again.
                _log.error("The index cannot be loaded: %s: %s", type(exc).__name__, exc)
            else:
                return
            await _wait(stop, _LOAD_AGAIN_S)

    def _tell_of_strangers(self) -> None:
        """Say which of the tools that can be run no search will find."""
        index = self.catalog.searcher.index
        strangers = [name for name in self.callable_tools if index.row_of(name) is None]
        if strangers:
            _log.warning(
                "Tools to be called that the catalog lacks, so that nobody finds or runs them: %s. "
                "Put their definitions into it: POST /v1/tools/bulk, or toolsearch index update.",
                ", ".join(strangers),
            )

    async def _flush(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            await _wait(stop, _FLUSH_S)
            try:
                await asyncio.to_thread(self._keep_up)
            except (sqlite3.Error, DatabaseError, StoreError) as exc:
                _log.warning("Usage and rounds cannot be written just now: %s", exc)
            except Exception as exc:  # noqa: BLE001 - it is told, and tried again
                _log.error("Usage and rounds cannot be kept up to date: %s", place_of(exc))


def _secret(settings: ServerSettings) -> str:
    # A file that it was read from ends with a line, which no header can carry.
    return settings.api_key.get_secret_value().strip() if settings.api_key else ""


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
