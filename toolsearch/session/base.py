"""`SessionStore`: which tools a conversation has discovered, in the order in which it found them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Protocol


class SessionStore(Protocol):
    """Discovered names by tenant and session. Safe to use from several threads; it may block on I/O.

    A session that is not known, or no longer, has discovered nothing: that is no error. Two tenants may use
    one session id and share nothing.
    """

    def discovered(self, session_id: str, tenant: str) -> tuple[str, ...]:
        """Public names in the order in which they were discovered."""

    def discover(self, session_id: str, tenant: str, names: Iterable[str]) -> tuple[str, ...]:
        """Append `names`; those that were new, in order. A name that is known keeps its place."""

    def forget(self, session_id: str, tenant: str, names: Collection[str] | None = None) -> None:
        """Drop these names, or all that is known of the session for None."""

    def settle(self, session_id: str, tenant: str, choice: str) -> str:
        """The first `choice` that was settled for the session, which is this one if there was none."""


@dataclass(frozen=True)
class Session:
    """One conversation of a store. Without an id nothing is kept: then the messages must tell everything."""

    store: SessionStore
    id: str = ""
    tenant: str = ""

    def discovered(self) -> tuple[str, ...]:
        return self.store.discovered(self.id, self.tenant) if self.id else ()

    def discover(self, names: Collection[str]) -> None:
        if self.id and names:
            self.store.discover(self.id, self.tenant, names)

    def forget(self, names: Collection[str]) -> None:
        if self.id and names:
            self.store.forget(self.id, self.tenant, names)

    def settle(self, choice: str) -> str:
        return self.store.settle(self.id, self.tenant, choice) if self.id else choice
