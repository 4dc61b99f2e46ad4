"""Bodies of requests: read member by member, so that a list of tools that is known is not read again."""

from __future__ import annotations

import json
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from toolsearch.tools import JsonObject

_SPACE = re.compile(r"[ \t\n\r]*")
_TOOLS = "tools"
_READ = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class Body:
    """A request as it was read.

    Attributes:
        request: Its members. The tools may be those of another request, so none of it is to be changed.
        tools_key: Digest of the text of its tools; empty for none.
        n_read: How many characters had to be read.
    """

    request: JsonObject
    tools_key: bytes
    n_read: int


class KnownTools:
    """Reads bodies, and knows the latest lists of tools by their very text. Safe to share."""

    def __init__(self, max_lists: int) -> None:
        self._max = max_lists
        self._kept: OrderedDict[str, tuple[bytes, Any]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def longest(self) -> int:
        """Characters of the longest list that is known."""
        return max(map(len, tuple(self._kept)), default=0)

    def read(self, raw: bytes) -> Body | None:
        """The body, or None for one that is no JSON object in UTF-8, or has two members of one name."""
        try:
            return self._read(raw.decode("utf-8"))
        except (ValueError, RecursionError, IndexError):
            return None

    def _read(self, text: str) -> Body | None:
        place = _space(text, 0)
        if text[place] != "{":
            return None
        request: JsonObject = {}
        key, n_tools = b"", 0
        place = _space(text, place + 1)
        while text[place] != "}":
            if text[place] != '"':
                return None
            name, place = _READ(text, place)
            place = _space(text, place)
            # Which of two members of one name counts, readers do not agree on.
            if text[place] != ":" or name in request:
                return None
            place = _space(text, place + 1)
            if name == _TOOLS:
                begin = place
                request[name], key, place = self._tools(text, place)
                n_tools = place - begin
            else:
                request[name], place = _READ(text, place)
            place = _space(text, place)
            if text[place] == ",":
                place = _space(text, place + 1)
                if text[place] == "}":
                    return None
            elif text[place] != "}":
                return None
        return Body(request, key, len(text) - n_tools) if not text[place + 1 :].strip() else None

    def _tools(self, text: str, place: int) -> tuple[Any, bytes, int]:
        """The tools at `place`, the digest of their text, and where they end."""
        with self._lock:
            for known, (key, tools) in reversed(self._kept.items()):
                if text.startswith(known, place):
                    self._kept.move_to_end(known)
                    return tools, key, place + len(known)
        tools, end = _READ(text, place)
        if not isinstance(tools, list):
            return tools, b"", end
        written = text[place:end]
        key = sha256(written.encode()).digest()
        with self._lock:
            self._kept[written] = key, tools
            if len(self._kept) > self._max:
                self._kept.popitem(last=False)
        return tools, key, end


def _space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()
