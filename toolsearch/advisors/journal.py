"""`CallJournal`: which calls of resumed runs have run, so that none runs twice."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from toolsearch.messages import ToolCall, ToolMessage
from toolsearch.session.database import check_is_file, make_tables, opened

_END = ""


@dataclass(frozen=True)
class NotedCall:
    """A call that has begun, with the arguments that it ran with, and its result where that is known."""

    call: ToolCall
    result: ToolMessage | None = None


class CallJournal(Protocol):
    """The calls that ran after a pause, by run and call id. Safe to use from several threads; may block."""

    def noted(self, run_id: str) -> Mapping[str, NotedCall]:
        """The calls of the run that have begun, by id."""

    def begin(self, run_id: str, call: ToolCall) -> NotedCall | None:
        """Notes that a call is about to run, once; what was noted where it has begun before, else None."""

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
        self._calls: OrderedDict[tuple[str, str], NotedCall | None] = OrderedDict()

    def noted(self, run_id: str) -> Mapping[str, NotedCall]:
        with self._lock:
            return {call_id: each for (run, call_id), each in self._calls.items() if run == run_id and each}

    def begin(self, run_id: str, call: ToolCall) -> NotedCall | None:
        with self._lock:
            noted = self._calls.get((run_id, call.id))
            if noted is None:
                self._note(run_id, call.id, NotedCall(call))
            return noted

    def finish(self, run_id: str, result: ToolMessage) -> None:
        with self._lock:
            noted = self._calls.get((run_id, result.call_id))
            if noted is not None:
                self._calls[run_id, result.call_id] = replace(noted, result=result)

    def end(self, run_id: str) -> None:
        with self._lock:
            self._note(run_id, _END, None)

    def has_ended(self, run_id: str) -> bool:
        with self._lock:
            return (run_id, _END) in self._calls

    def _note(self, run_id: str, call_id: str, noted: NotedCall | None) -> None:
        self._calls[run_id, call_id] = noted
        if len(self._calls) > self._max_calls:
            self._calls.popitem(last=False)


_TABLES = {
    "calls": "(run_id TEXT NOT NULL, call_id TEXT NOT NULL, call TEXT NOT NULL, result TEXT, "
    "PRIMARY KEY (run_id, call_id)) WITHOUT ROWID"
}
_NOTE = "INSERT INTO calls (run_id, call_id, call) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"


class SqliteCallJournal:
    """A `CallJournal` in an SQLite file, shared by the processes of one machine; opened anew by each call."""

    def __init__(self, path: Path | str) -> None:
        """Opens `path`, which is made where it does not exist.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
            StoreError: it holds calls in another form.
            ValueError: it is no file.
        """
        check_is_file(path, "MemoryCallJournal")
        self._path = path
        with opened(path) as cursor:
            make_tables(cursor, path, _TABLES)

    def noted(self, run_id: str) -> Mapping[str, NotedCall]:
        with opened(self._path) as cursor:
            rows = cursor.execute(
                "SELECT call, result FROM calls WHERE run_id = ? AND call_id <> ?", (run_id, _END)
            ).fetchall()
        noted = (_read(*row) for row in rows)
        return {each.call.id: each for each in noted}

    def begin(self, run_id: str, call: ToolCall) -> NotedCall | None:
        key = run_id, call.id
        with opened(self._path) as cursor:
            cursor.execute(_NOTE, (*key, call.model_dump_json()))
            if cursor.rowcount:
                return None
            row = cursor.execute(
                "SELECT call, result FROM calls WHERE run_id = ? AND call_id = ?", key
            ).fetchone()
        return _read(*row)

    def finish(self, run_id: str, result: ToolMessage) -> None:
        written = result.model_dump_json()
        with opened(self._path) as cursor:
            cursor.execute(
                "UPDATE calls SET result = ? WHERE run_id = ? AND call_id = ?",
                (written, run_id, result.call_id),
            )

    def end(self, run_id: str) -> None:
        with opened(self._path) as cursor:
            cursor.execute(_NOTE, (run_id, _END, ""))

    def has_ended(self, run_id: str) -> bool:
        with opened(self._path) as cursor:
            cursor.execute("SELECT 1 FROM calls WHERE run_id = ? AND call_id = ?", (run_id, _END))
            return cursor.fetchone() is not None


def _read(call: str, result: str | None) -> NotedCall:
    return NotedCall(
        ToolCall.model_validate_json(call),
        None if result is None else ToolMessage.model_validate_json(result),
    )
