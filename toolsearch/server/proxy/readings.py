"""What a header or a query may hold, to find keys of the service on their way to a provider."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_WORDS = re.compile(rb"[^\s,;]+")
_PARTS = re.compile(rb"[^\s,;:=&?/\"']+")
_STORED = re.compile(rb"ts_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")


def readings(value: bytes) -> Iterator[bytes]:
    """`value` as it is, without the escapes of a query, and what is written in it in Base64."""
    yield value
    if b"%" in value or b"+" in value:
        yield unquote_to_bytes(value.replace(b"+", b" "))
    for text in _BASE64.findall(value):
        bare = text.rstrip(b"=")
        try:
            yield base64.b64decode(bare + b"=" * (-len(bare) % 4), altchars=b"-_" if b"-" in bare else None)
        except binascii.Error:
            continue


def candidates(text: bytes) -> frozenset[bytes]:
    """What in `text` may be a key."""
    found = {text, *_WORDS.findall(text), *_PARTS.findall(text), *_STORED.findall(text)}
    return frozenset(found | {text.partition(b" ")[2], text.partition(b":")[0], text.partition(b":")[2]})
