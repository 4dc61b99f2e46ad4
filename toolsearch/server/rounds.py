"""What sessions do: recorded as events, kept for as long as the session, told as rounds."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias, cast

from toolsearch.api.rounds import EventKind, RoundEvent, SessionRound, SessionSummary
from toolsearch.tokens import count_tokens

Kind: TypeAlias = Literal["tools", "search", "load", "forget", "call"]

_PENDING_KEPT = 5000

_log = logging.getLogger("toolsearch.server")


@dataclass(frozen=True, kw_only=True)
class SessionEvent:
    """Something that a session did; ``tools`` stands for a list of tools that was asked for: a round.

    Attributes:
        names: Public names of the tools that it is about.
        built_in: Names of tools that were sent and are in no catalog.
        tokens: Of the result of a search, or of the definitions of what is built in.
    """

    kind: Kind
    names: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    is_error: bool = False
    form: str = ""
    delivery: str = ""
    built_in: tuple[str, ...] = ()
    tokens: int = 0
    at: float = 0.0


@dataclass(frozen=True)
class StoredEvents:
    """The newest events of a session in their order, how many rounds it had in all, and its last id."""

    events: tuple[SessionEvent, ...] = ()
    rounds_total: int = 0
    last_id: int = 0


class RoundStore(Protocol):
    """Keeps events by tenant and session, for a time. Safe to use from several threads."""

    def add_events(self, events: Sequence[tuple[str, str, SessionEvent]]) -> None:
        """Keep events, each with its tenant and session, in this order."""

    def events(self, tenant: str, session_id: str, *, limit: int) -> StoredEvents:
        """Up to `limit` events of a session."""

    def sessions(self, tenant: str, *, before: int, limit: int) -> tuple[tuple[int, SessionSummary], ...]:
        """Sessions with the id of their last event, which is less than `before`; the greatest first."""

    def drop(self, tenant: str, session_id: str) -> None:
        """Forget the events of a session."""


class RoundRecorder:
    """Takes events without delay and keeps them at the next `flush`, which also counts their tokens.

    What was added since is lost if the process is killed. Without a store nothing is recorded.
    """

    def __init__(self, store: RoundStore | None, *, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since 1970."""
        self.store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._pending: deque[tuple[str, str, SessionEvent, str]] = deque()
        self._dropped = 0

    def add(self, tenant: str, session_id: str, event: SessionEvent, *, text: str = "") -> None:
        """Record `event` as of now; `text` is what its tokens are counted of."""
        if self.store is None or not session_id:
            return
        with self._lock:
            self._pending.append((tenant, session_id, replace(event, at=self._clock()), text))
            if len(self._pending) > _PENDING_KEPT:
                self._pending.popleft()
                self._dropped += 1

    def flush(self) -> None:
        """Keep what was added.

        Raises:
            sqlite3.Error, StoreError: it cannot be written; it is kept for the next time.
        """
        if self.store is None:
            return
        with self._flushing:
            with self._lock:
                pending, self._pending = self._pending, deque()
                dropped, self._dropped = self._dropped, 0
            if dropped:
                _log.warning("Rounds are watched with %d events left out: they came too fast.", dropped)
            if not pending:
                return
            try:
                self.store.add_events([(t, s, _counted(event, text)) for t, s, event, text in pending])
            except BaseException:
                with self._lock:
                    self._pending = deque((*pending, *self._pending))
                raise

    def drop(self, tenant: str, session_id: str) -> None:
        """Forget what a session did."""
        if self.store is None:
            return
        self.flush()
        self.store.drop(tenant, session_id)

    def events(self, tenant: str, session_id: str, *, limit: int) -> StoredEvents:
        """As the store has them, with what was added meanwhile."""
        if self.store is None:
            return StoredEvents()
        self.flush()
        return self.store.events(tenant, session_id, limit=limit)

    def sessions(self, tenant: str, *, before: int, limit: int) -> tuple[tuple[int, SessionSummary], ...]:
        """As the store has them, with what was added meanwhile."""
        if self.store is None:
            return ()
        self.flush()
        return self.store.sessions(tenant, before=before, limit=limit)


def rounds_of(stored: StoredEvents, tokens: Mapping[str, int]) -> tuple[SessionRound, ...]:
    """The rounds of events, in their order; `tokens` has what each tool costs that may be told of.

    All others are left out, as if they had been neither sent nor found.
    """
    number = stored.rounds_total - sum(event.kind == "tools" for event in stored.events)
    rounds: list[SessionRound] = []
    for event in stored.events:
        if event.kind == "tools":
            number += 1
            rounds.append(_round(number, event, tokens))
            continue
        if not rounds:
            rounds.append(SessionRound(number=number, at=event.at))
        last = rounds[-1]
        rounds[-1] = last.model_copy(update={"events": (*last.events, _event(event, tokens))})
    return tuple(rounds)


def _round(number: int, event: SessionEvent, tokens: Mapping[str, int]) -> SessionRound:
    names = _known(event.names, tokens)
    return SessionRound(
        number=number,
        at=event.at,
        form=event.form,
        delivery=event.delivery,
        tools=(*event.built_in, *names),
        tokens=event.tokens + sum(tokens[name] for name in names),
    )


def _event(event: SessionEvent, tokens: Mapping[str, int]) -> RoundEvent:
    names = _known(event.names, tokens)
    told = event.kind == "search" and len(names) == len(event.names)
    return RoundEvent(
        kind=cast("EventKind", event.kind),
        at=event.at,
        queries=event.queries,
        tools=names,
        is_error=event.is_error,
        tokens=event.tokens if told else None,
    )


def _known(names: Iterable[str], tokens: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(name for name in names if name in tokens)


def _counted(event: SessionEvent, text: str) -> SessionEvent:
    return replace(event, tokens=count_tokens(text)) if text else event
