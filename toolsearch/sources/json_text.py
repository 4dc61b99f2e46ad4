"""JSON text as values, with the lines that they start on and the keys that stand twice."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from toolsearch.exceptions import CatalogFileError
from toolsearch.formats.detect import Path

RepeatedKeys: TypeAlias = dict[int, tuple[dict[str, Any], str]]


@dataclass
class ParsedJson:
    """A JSON value and its text.

    Attributes:
        value: Integers beyond 4,300 digits and floats beyond the range of a double are infinite, which
            no JSON value is, so that whoever uses the part that holds them sees it.
        repeated: By the `id` of a dict, the dict and a key that stands twice in it; the last value counts.
    """

    value: Any
    text: str
    repeated: RepeatedKeys
    _places: dict[Path, dict[str | int, int]] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line, from 1, that the value at a path of keys and positions starts on."""
        return bisect_left(self._newlines, self._start(path)) + 1

    @cached_property
    def _newlines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def _start(self, path: Path) -> int:
        if not path:
            return _skip_space(self.text, 0)
        parent = path[:-1]
        if parent not in self._places:
            self._places[parent] = _starts_of_parts(self.text, self._start(parent))
        return self._places[parent][path[-1]]


class JsonReader:
    """Reads the JSON texts of one file; `path` is for the errors."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._repeated: RepeatedKeys = {}
        self._decoder = json.JSONDecoder(object_pairs_hook=self._as_dict, parse_int=as_int)

    def parse(self, text: str) -> ParsedJson:
        """The value of a text that holds exactly one.

        Raises:
            CatalogFileError: it does not, or nests too deeply to be read.
        """
        try:
            return ParsedJson(self._decoder.decode(text), text, self._repeated)
        except json.JSONDecodeError as exc:
            reason = f"not JSON: {exc.msg} (column {exc.colno})"
            raise CatalogFileError(self.path, reason, line=exc.lineno) from exc
        except RecursionError:
            raise CatalogFileError(self.path, "nested too deeply to be read") from None

    def _as_dict(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            self._repeated[id(value)] = (value, next(key for key, n in counts.items() if n > 1))
        return value


_INTEGER_DIGITS = 4300


def as_int(digits: str) -> int | float:
    """The number in decimal digits; infinite beyond 4,300 of them."""
    # int() refuses longer ones, and one such number should not take a whole file down.
    return int(digits) if len(digits) < _INTEGER_DIGITS else float("inf")


_NO_SPACE = re.compile(r"[^ \t\n\r]|$")
_SKIPPER = json.JSONDecoder(parse_int=as_int)


def _skip_space(text: str, at: int) -> int:
    match = _NO_SPACE.search(text, at)
    return match.start() if match else len(text)


def _starts_of_parts(text: str, at: int) -> dict[str | int, int]:
    """Where each part of the list or object at `at` starts; the last of repeated keys."""
    starts: dict[str | int, int] = {}
    is_object = text[at] == "{"
    at = _skip_space(text, at + 1)
    while text[at] not in "]}":
        key: str | int = len(starts)
        if is_object:
            key, at = _SKIPPER.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)
        starts[key] = at
        _, at = _SKIPPER.raw_decode(text, at)
        at = _skip_space(text, at)
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return starts
