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

Flaws: TypeAlias = dict[int, tuple[dict[str, Any], str]]
"""By the `id` of a dict, the dict and what makes it unusable, in a sentence."""

MAX_LEVELS = 250
"""Levels of JSON that are read: those of the deepest usable schema, of a value in it and of its wrappers."""


@dataclass
class ParsedJson:
    """A JSON value and its text.

    Attributes:
        value: Integers beyond 4,300 digits and floats beyond the range of a double are infinite, which
            no JSON value is, so that whoever uses the part that holds them sees it.
        flaws: Objects with a key that stands twice, whose last value counts, and empty ones in the place
            of what is nested too deeply.
    """

    value: Any
    text: str
    flaws: Flaws
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
        self._flaws: Flaws = {}
        self._stand_in = ""
        self._decoder = json.JSONDecoder(object_pairs_hook=self._as_dict, parse_int=as_int)

    def parse(self, text: str) -> ParsedJson:
        """The value of a text that holds exactly one.

        Raises:
            CatalogFileError: it does not, or it never comes back from its depth.
        """
        self._stand_in = ""
        try:
            try:
                value = self._decoder.decode(text)
            except RecursionError:
                value = self._decoder.decode(self._without_depths(text))
        except json.JSONDecodeError as exc:
            reason = f"not JSON: {exc.msg} (column {exc.colno})"
            raise CatalogFileError(self.path, reason, line=exc.lineno) from exc
        except RecursionError:
            raise CatalogFileError(self.path, "nested too deeply to be read") from None
        return ParsedJson(value, text, self._flaws)

    def _without_depths(self, text: str) -> str:
        """The text with an object of one telling key for each part below `MAX_LEVELS`, on the same lines."""
        self._stand_in = "nested too deeply"
        while f'"{self._stand_in}"' in text:
            self._stand_in += "!"
        pieces = []
        level = done = start = 0
        for match in _TOKEN.finditer(text):
            if match[0] in "[{":
                level += 1
                if level == MAX_LEVELS + 1:
                    start = match.start()
            elif match[0] in "]}":
                level -= 1
                if level == MAX_LEVELS:
                    lines = "\n" * text.count("\n", start, match.end())
                    pieces += [text[done:start], f'{{"{self._stand_in}": 0}}{lines}']
                    done = match.end()
        if level > MAX_LEVELS:
            raise RecursionError
        return "".join([*pieces, text[done:]])

    def _as_dict(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if self._stand_in and self._stand_in in value:
            value = {}
            self._flaws[id(value)] = (value, "it is nested too deeply to be read.")
        elif len(value) != len(pairs):
            counts = Counter(key for key, _ in pairs)
            key = next(key for key, n in counts.items() if n > 1)
            self._flaws[id(value)] = (value, f"the key {key!r:.60} stands twice in one object.")
        return value


_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
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
        at = _skip_space(text, _end(text, at))
        if text[at] == ",":
            at = _skip_space(text, at + 1)
    return starts


def _end(text: str, at: int) -> int:
    """Where the value that starts at `at` ends."""
    try:
        return _SKIPPER.raw_decode(text, at)[1]
    except RecursionError:
        level = 0
        for match in _TOKEN.finditer(text, at):
            level += (match[0] in "[{") - (match[0] in "]}")
            if level == 0:
                return match.end()
        raise
