"""Which headers go to a provider and which come back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import TypeAlias

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Names in lower case and values, as ASGI has them."""

# Of one connection: RFC 9110, section 7.6.1, and what older ones name.
_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection"),
        *(b"te", b"trailer", b"transfer-encoding", b"upgrade"),
    }
)
# Of the network here, or for this host.
_LOCAL = frozenset({b"host", b"cookie", b"forwarded", b"via", b"origin", b"referer", b"x-real-ip"})
_OURS = (b"x-toolsearch-", b"x-forwarded-")
_NEEDED = frozenset(
    {
        *(b"authorization", b"x-api-key", b"content-type", b"content-length", b"content-encoding"),
        *(b"accept", b"accept-encoding", b"anthropic-version"),
    }
)
# What would bind this host to what is so of the provider's.
_NOT_BACK = frozenset({b"date", b"strict-transport-security", b"alt-svc", b"set-cookie"})
OF_THE_BYTES = frozenset({b"content-length", b"content-encoding"})


class HeaderRules:
    """What the settings say of the headers of requests."""

    def __init__(self, *, drop: Iterable[str] = (), only: Iterable[str] = ()) -> None:
        """Names or globs, in any case."""
        self._drop = _pattern(drop)
        self._only = _pattern(only)

    def to_provider(self, headers: RawHeaders) -> list[tuple[bytes, bytes]]:
        """The headers of a request that go on."""
        named = _of_connection(headers)
        return [(name, value) for name, value in headers if name not in named and self._goes(name)]

    def _goes(self, name: bytes) -> bool:
        if name in _HOP or name in _LOCAL or name.startswith(_OURS):
            return False
        if name in _NEEDED:
            return True
        if self._drop is not None and self._drop.fullmatch(name):
            return False
        return self._only is None or self._only.fullmatch(name) is not None


def to_caller(headers: RawHeaders, *, anew: bool = False) -> list[tuple[bytes, bytes]]:
    """The headers of a response that go back; `anew` for a body that is not the very bytes of it."""
    named = _of_connection(headers)
    lower = ((name.lower(), value) for name, value in headers)
    return [
        (name, value)
        for name, value in lower
        if not (name in _HOP or name in _NOT_BACK or name in named or (anew and name in OF_THE_BYTES))
    ]


def _of_connection(headers: RawHeaders) -> frozenset[bytes]:
    """The headers that a message itself says are for one connection."""
    told = (value for name, value in headers if name.lower() == b"connection")
    return frozenset(part.strip().lower() for value in told for part in value.split(b","))


def _pattern(globs: Iterable[str]) -> re.Pattern[bytes] | None:
    parts = [translate(glob.lower()) for glob in globs]
    return re.compile("|".join(parts).encode()) if parts else None
