"""`CallJournal`: which calls of resumed runs have run, so that none runs twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from toolsearch.advisors.database import transaction
from toolsearch.messages import ToolMessage

Begun: TypeAlias = Literal["new", "unknown"]
"""Of a call that begins: ``new``, or ``unknown`` where it began before and nobody knows how it ended."""


_END = ""


class CallJournal(Protocol):
    """The calls that ran after a pause, by run and call id. Safe to use from several threads; may block."""

    def begin(self, run_id: str, call_id: str) -> Begun | ToolMessage:
        """Notes that a call is about to run, once; for one that has run, its result."""

    def finish(self, run_id: str, result: ToolMessage) -> None:
        """Notes the result of a call that has begun."""

    def end(self, run_id: str) -> None:
        """Notes that the run went on from its pause to its end, or to its next pause."""

    def has_ended(self, run_id: str) -> bool:
        """Whether `end` was called for it."""


class MemoryCallJournal:
    """A `CallJournal` of this process, of the latest `max_calls` calls."""

    def __init__(self, max_calls: int = 10_000) -> None:
        self._max_calls = max_calls
        self._lock = threading.Lock()
        self._results: OrderedDict[tuple[str, str], ToolMessage | None] = OrderedDict()

    def begin(self, run_id: str, call_id: str) -> Begun | ToolMessage:
        with self._lock:
            if (run_id, call_id) in self._results:
                return self._results[run_id, call_id] or "unknown"
            self._results[run_id, call_id] = None
            if len(self._results) > self._max_calls:
                self._results.popitem(last=False)
            return "new"

    def finish(self, run_id: str, result: ToolMessage) -> None:
        with self._lock:
            self._results[run_id, result.call_id] = result

    def end(self, run_id: str) -> None:
        self.begin(run_id, _END)

    def has_ended(self, run_id: str) -> bool:
        with self._lock:
            return (run_id, _END) in self._results


class SqliteCallJournal:
    """A `CallJournal` in an SQLite file, shared by the processes of one machine; opened anew by each call."""

    def __init__(self, path: Path | str) -> None:
        """Opens `path`, which is made where it does not exist.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
        """
        self._path = path
        with transaction(self._path) as database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS calls "
                "(run_id TEXT, call_id TEXT, result TEXT, PRIMARY KEY (run_id, call_id)) WITHOUT ROWID"
            )

    def begin(self, run_id: str, call_id: str) -> Begun | ToolMessage:
        with transaction(self._path) as database:
            begun = database.execute(
                "INSERT INTO calls (run_id, call_id) VALUES (?, ?) ON CONFLICT DO NOTHING", (run_id, call_id)
            )
            if begun.rowcount:
                return "new"
            ((result,),) = database.execute(
                "SELECT result FROM calls WHERE run_id = ? AND call_id = ?", (run_id, call_id)
            )
            return "unknown" if result is None else ToolMessage.model_validate_json(result)

    def finish(self, run_id: str, result: ToolMessage) -> None:
        with transaction(self._path) as database:
            database.execute(
                "UPDATE calls SET result = ? WHERE run_id = ? AND call_id = ?",
                (result.model_dump_json(), run_id, result.call_id),
            )

    def end(self, run_id: str) -> None:
        self.begin(run_id, _END)

    def has_ended(self, run_id: str) -> bool:
        with transaction(self._path) as database:
            found = database.execute("SELECT 1 FROM calls WHERE run_id = ? AND call_id = ?", (run_id, _END))
            return found.fetchone() is not None
