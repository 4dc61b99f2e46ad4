"""`CallJournal`: notes on what resumed runs have done, so that nothing is done twice."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from toolsearch.session.database import check_is_file, make_tables, opened

Taken: TypeAlias = Mapping[str, str] | Literal["held", "ended"]
"""The notes on a run that was taken, by name; or why it was not."""


class CallJournal(Protocol):
    """Notes on resumed runs, of which each has one holder at a time. Safe to use from threads; may block."""

    def take(self, run_id: str, holder: str, *, over: bool = False) -> Taken:
        """What is noted on a run, which `holder` alone may write on from now; ``held`` where another may,
        which `over` takes it from, and ``ended`` after `end`.
        """

    def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
        """Keeps a note, in the place of one of the same name; False, and none is kept, without the run."""

    def leave(self, run_id: str, holder: str) -> None:
        """Lets any other take the run; the notes stay. Does nothing where the holder does not have it."""

    def end(self, run_id: str, holder: str) -> bool:
        """Notes that the run went on to its end, or to its next pause, and drops what else was noted on it;
        False, and nothing is done, where the holder does not have it.
        """


@dataclass
class _Run:
    holder: str = ""
    has_ended: bool = False
    notes: dict[str, str] = field(default_factory=dict)


class MemoryCallJournal:
    """A `CallJournal` of this process, of the latest `max_runs` runs and those that are going on."""

    def __init__(self, max_runs: int = 10_000) -> None:
        self._max_runs = max_runs
        self._lock = threading.Lock()
        self._runs: dict[str, _Run] = {}

    def take(self, run_id: str, holder: str, *, over: bool = False) -> Taken:
        with self._lock:
            run = self._runs.pop(run_id, None) or _Run()
            self._runs[run_id] = run
            if run.has_ended:
                return "ended"
            if run.holder and not over:
                return "held"
            run.holder = holder
            self._drop_oldest()
            return dict(run.notes)

    def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
        with self._lock:
            run = self._held(run_id, holder)
            if run is None:
                return False
            run.notes[name] = text
            return True

    def leave(self, run_id: str, holder: str) -> None:
        with self._lock:
            run = self._held(run_id, holder)
            if run is not None:
                run.holder = ""

    def end(self, run_id: str, holder: str) -> bool:
        with self._lock:
            run = self._held(run_id, holder)
            if run is None:
                return False
            self._runs[run_id] = _Run(has_ended=True)
            return True

    def _held(self, run_id: str, holder: str) -> _Run | None:
        run = self._runs.get(run_id)
        return run if run is not None and run.holder == holder else None

    def _drop_oldest(self) -> None:
        if len(self._runs) > self._max_runs:
            oldest = next((run_id for run_id, run in self._runs.items() if not run.holder), None)
            if oldest is not None:
                del self._runs[oldest]


_TABLES = {
    "resumed_runs": "(run_id TEXT PRIMARY KEY, holder TEXT NOT NULL, has_ended INTEGER NOT NULL) "
    "WITHOUT ROWID",
    "resumed_notes": "(run_id TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL, "
    "PRIMARY KEY (run_id, name)) WITHOUT ROWID",
}
_NOTE = (
    "INSERT INTO resumed_notes SELECT run_id, ?, ? FROM resumed_runs WHERE run_id = ? AND holder = ? "
    "ON CONFLICT DO UPDATE SET note = excluded.note"
)


class SqliteCallJournal:
    """A `CallJournal` in an SQLite file, shared by the processes of one machine; opened anew by each call."""

    def __init__(self, path: Path | str) -> None:
        """Opens `path`, which is made where it does not exist.

        Raises:
            sqlite3.Error: it cannot be opened or is no database.
            StoreError: it holds notes in another form.
            ValueError: it is no file.
        """
        check_is_file(path, "MemoryCallJournal")
        self._path = path
        with opened(path) as cursor:
            make_tables(cursor, path, _TABLES)

    def take(self, run_id: str, holder: str, *, over: bool = False) -> Taken:
        with opened(self._path) as cursor:
            cursor.execute("INSERT INTO resumed_runs VALUES (?, '', 0) ON CONFLICT DO NOTHING", (run_id,))
            other, has_ended = cursor.execute(
                "SELECT holder, has_ended FROM resumed_runs WHERE run_id = ?", (run_id,)
            ).fetchone()
            if has_ended:
                return "ended"
            if other and not over:
                return "held"
            cursor.execute("UPDATE resumed_runs SET holder = ? WHERE run_id = ?", (holder, run_id))
            return dict(
                cursor.execute("SELECT name, note FROM resumed_notes WHERE run_id = ?", (run_id,)).fetchall()
            )

    def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
        with opened(self._path) as cursor:
            cursor.execute(_NOTE, (name, text, run_id, holder))
            return cursor.rowcount > 0

    def leave(self, run_id: str, holder: str) -> None:
        with opened(self._path) as cursor:
            cursor.execute(
                "UPDATE resumed_runs SET holder = '' WHERE run_id = ? AND holder = ?", (run_id, holder)
            )

    def end(self, run_id: str, holder: str) -> bool:
        with opened(self._path) as cursor:
            cursor.execute(
                "UPDATE resumed_runs SET holder = '', has_ended = 1 WHERE run_id = ? AND holder = ?",
                (run_id, holder),
            )
            is_held = cursor.rowcount > 0
            if is_held:
                cursor.execute("DELETE FROM resumed_notes WHERE run_id = ?", (run_id,))
        return is_held
