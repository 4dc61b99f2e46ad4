"""`DatabaseWatch`: hears of changes as they are made, and asks for what it may have missed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import psycopg

from toolsearch.exceptions import DatabaseUnreachableError
from toolsearch.postgres.database import Connection, PostgresDatabase

CHANNEL = "toolsearch"
POLL_S = 2.0
"""What was not told of is looked for so often."""

_HEAR_S = 0.25
_AGAIN_S = 0.5

_log = logging.getLogger("toolsearch.server")


class DatabaseWatch:
    """A thread that listens for notifications of a database, and connects again whenever it is gone.

    `on_change` is called for each notification, after each connection and every `poll_s` seconds, so that
    a notification that was lost costs time and nothing else. It is never called twice at once.
    """

    def __init__(
        self, database: PostgresDatabase, on_change: Callable[[], None], *, poll_s: float = POLL_S
    ) -> None:
        self._database = database
        self._on_change = on_change
        self._poll_s = poll_s
        self._told = ""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="toolsearch-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it, and wait for that."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        was_away = False
        while not self._stop.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    if was_away:
                        _log.warning("The database answers again.")
                    was_away = False
                    self._listen(connection)
            except (psycopg.Error, DatabaseUnreachableError) as exc:
                if not self._stop.is_set():
                    self._database.missed(exc)
                if not was_away:
                    _log.warning("The database does not answer (%s); asking again.", type(exc).__name__)
                was_away = True
                self._stop.wait(_AGAIN_S)

    def _listen(self, connection: Connection) -> None:
        self._changed()
        asked_at = time.monotonic()
        while not self._stop.is_set():
            heard = list(connection.notifies(timeout=_HEAR_S, stop_after=1))
            if not heard and time.monotonic() - asked_at < self._poll_s:
                continue
            # An answer shows that the connection is alive; a dead one can be silent for long.
            connection.execute("SELECT 1")
            self._database.answered()
            self._changed()
            asked_at = time.monotonic()

    def _changed(self) -> None:
        told = ""
        try:
            self._on_change()
        except Exception as exc:  # noqa: BLE001 - it may be anything, and must not end the watch
            told = f"{type(exc).__name__}: {exc}"
        if told and told != self._told:
            _log.error("A change in the database cannot be taken over: %s", told)
        self._told = told
