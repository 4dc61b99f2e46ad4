"""API keys: made, kept as hashes, checked in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from toolsearch.api.keys import KeyEntry, MadeKey, NewKey
from toolsearch.api.scopes import KeyScope
from toolsearch.exceptions import (
    AccessDeniedError,
    DatabaseUnreachableError,
    RequestRefusedError,
    UnknownResourceError,
)
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.server.audit import keys_changed_elsewhere

PREFIX = "ts"

OUTAGE_S = 3600.0
"""How long keys count that cannot be read again."""

_KEPT_S = 1.0
_NOBODY = hashlib.sha256(b"nobody").digest()


@dataclass(frozen=True)
class StoredKey:
    """A key as it is kept: what it may do, and the SHA-256 of its secret.

    A secret has 256 random bits, so that no slow hash is needed to keep it from being guessed.
    """

    entry: KeyEntry
    digest: bytes


class KeyStore(Protocol):
    """Keeps keys. Safe to use from several threads."""

    def stored_keys(self) -> tuple[StoredKey, ...]:
        """All keys, the oldest first."""

    def add_key(self, key: StoredKey) -> None:
        """Keep `key`."""

    def remove_key(self, key_id: str) -> bool:
        """Whether there was a key of that id, which there is no more."""


@dataclass(frozen=True)
class Caller:
    """Who asks, and what that may do and know of."""

    key_id: str = ""
    tenant: str = ""
    scopes: frozenset[KeyScope] = frozenset(KeyScope)
    rule: ToolFilter = field(default_factory=ToolFilter)

    @classmethod
    def of(cls, key: KeyEntry) -> Caller:
        sources = None if key.sources is None else frozenset(key.sources)
        rule = ToolFilter(sources=sources, allow=key.allow, deny=key.deny)
        return cls(key.id, key.tenant, frozenset(key.scopes), rule)

    @cached_property
    def filters(self) -> tuple[ToolFilter, ...]:
        """`rule`, where it keeps anything away."""
        return () if self.rule == ToolFilter() else (self.rule,)

    def may(self, scope: KeyScope) -> bool:
        return scope in self.scopes or KeyScope.ADMIN in self.scopes

    def require(self, scope: KeyScope) -> None:
        """Does nothing where the caller may do what `scope` stands for.

        Raises:
            AccessDeniedError: it may not.
        """
        if not self.may(scope):
            raise AccessDeniedError(f"This key lacks the scope {scope.value!r}.", is_known=True)


def make_key(asked: NewKey, *, now: float) -> tuple[StoredKey, MadeKey]:
    """A new key as it is kept, and as it is shown once."""
    key_id, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    entry = KeyEntry(
        id=key_id,
        name=asked.name,
        scopes=tuple(scope for scope in KeyScope if scope in asked.scopes),
        tenant=asked.tenant or key_id,
        sources=asked.sources,
        allow=asked.allow,
        deny=asked.deny,
        created_at=now,
    )
    whole = f"{PREFIX}_{key_id}_{secret}"
    return StoredKey(entry, _digest(whole.encode())), MadeKey(key=entry, secret=whole)


class KeyCheck:
    """Tells callers by their keys. Without any key everybody may do everything, where that is allowed.

    The keys of the store are kept for a second, so what another process adds or removes counts that soon.
    While the store cannot be reached those that were read last count on, for no more than an hour.
    """

    def __init__(
        self,
        store: KeyStore,
        *,
        api_key: str = "",
        open_without: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The keys of `store`, as they are now.

        Args:
            api_key: One more key, which may do everything.
            open_without: Whether everybody may do everything while there is no key. Nobody may after the
                last one of the store was revoked.
            clock: Seconds from any start.

        Raises:
            DatabaseUnreachableError: the store cannot be reached.
        """
        self._store = store
        self._own = _digest(api_key.encode()) if api_key else None
        self._is_open = open_without
        self._clock = clock
        self._keys: dict[str, StoredKey] = {}
        self._was_read = False
        self._changing: list[str] = []
        self._read_at = -OUTAGE_S
        self._asked_at = -_KEPT_S
        self.refresh()

    @property
    def has_keys(self) -> bool:
        return self._own is not None or bool(self._keys)

    @property
    def has_stored_keys(self) -> bool:
        return bool(self._keys)

    def put_api_key(self, api_key: str) -> None:
        """Have `api_key` be the one beside those of the store; none where it is empty."""
        self._own = _digest(api_key.encode()) if api_key else None

    @property
    def is_stale(self) -> bool:
        """Whether the keys are to be read again before the next check."""
        return self._clock() - self._asked_at >= _KEPT_S

    def expire(self) -> None:
        """Have the keys be read again before the next check."""
        self._asked_at = self._clock() - _KEPT_S

    def refresh(self) -> None:
        """Read the keys of the store. It may block; `caller` never does.

        Raises:
            DatabaseUnreachableError: the store could not be reached for an hour, or not even once.
        """
        now = self._clock()
        try:
            stored = self._store.stored_keys()
        except DatabaseUnreachableError:
            if not now - self._read_at < OUTAGE_S:
                raise
        else:
            before, self._keys = self._keys.keys(), {key.entry.id: key for key in stored}
            if self._was_read:
                own = frozenset(self._changing)
                keys_changed_elsewhere(self._keys.keys() - before - own, before - self._keys.keys() - own)
            self._was_read = True
            self._is_open &= not stored
            self._read_at = now
        self._asked_at = now

    def add(self, asked: NewKey, *, now: float) -> MadeKey:
        """A new key, made at `now` (since 1970), which is kept and counts at once.

        Raises:
            RequestRefusedError: it is the first, and could not make others.
        """
        if not self.has_keys and KeyScope.ADMIN not in asked.scopes:
            raise RequestRefusedError(
                "With the first key nobody gets in without one. Give it the scope 'admin', to make others."
            )
        stored, made = make_key(asked, now=now)
        with self._as_own(made.key.id):
            self._store.add_key(stored)
            self.refresh()
        return made

    def remove(self, key_id: str) -> None:
        """Let the key of that id count no more, at once.

        Raises:
            UnknownResourceError: there is none.
        """
        with self._as_own(key_id):
            removed = self._store.remove_key(key_id)
            self.refresh()
        if not removed:
            raise UnknownResourceError("key", key_id)

    @contextmanager
    def _as_own(self, key_id: str) -> Iterator[None]:
        """What becomes of the key meanwhile is not told as the change of somebody else."""
        self._changing.append(key_id)
        try:
            yield
        finally:
            self._changing.remove(key_id)

    def entries(self) -> tuple[KeyEntry, ...]:
        """The keys without their secrets, the oldest first."""
        return tuple(key.entry for key in self._store.stored_keys())

    def caller(self, authorization: bytes | None) -> Caller:
        """Who sends this ``Authorization`` header.

        Raises:
            AccessDeniedError: nobody; the message is the same for whatever is wrong with a header.
        """
        if self._is_open and not self.has_keys:
            return Caller()
        scheme, _, token = (authorization or b"").partition(b" ")
        # Both are compared for any header, as bytes: text that is not ASCII cannot be compared so.
        stored = self._keys.get(_id_in(token))
        given = _digest(token.strip())
        is_stored = hmac.compare_digest(given, stored.digest if stored else _NOBODY)
        is_own = hmac.compare_digest(given, self._own or _NOBODY)
        if scheme.lower() == b"bearer":
            if stored is not None and is_stored:
                return Caller.of(stored.entry)
            if self._own is not None and is_own:
                return Caller(key_id="environment")
        raise AccessDeniedError("A valid key is needed: Authorization: Bearer KEY.", is_known=False)

    def is_one(self, header: bytes) -> bool:
        """Whether a header that is meant for somebody else holds a key of ours."""
        scheme, _, token = header.strip().partition(b" ")
        try:
            return self.has_keys and bool(self.caller(b"Bearer " + (token or scheme)))
        except AccessDeniedError:
            return False


def _id_in(token: bytes) -> str:
    """The id that a key names; empty where it is none of ours."""
    prefix, _, rest = token.strip().partition(b"_")
    key_id = rest.partition(b"_")[0]
    return key_id.decode("ascii", "replace") if prefix == PREFIX.encode() else ""


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()
