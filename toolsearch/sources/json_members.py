"""Members put into and taken out of the text of a JSON object, of which everything else stays as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_DEFAULT_INDENT = "  "


@dataclass(frozen=True)
class Member:
    """A member of an object: where its key and its value start, and where that ends."""

    key: str
    start: int
    value: int
    end: int


def with_member(text: str, keys: Sequence[str], value: Any) -> str:
    """`text` with `value` at the path `keys`, in place of what is there; objects on the way are made.

    It is laid out like its neighbours. `text` is valid JSON, and an object, as is all on the way.
    """
    start = _skip(text, 0)
    for depth, key in enumerate(keys):
        found = _found(text, start, key)
        if found is None:
            for missing in reversed(keys[depth + 1 :]):
                value = {missing: value}
            return _inserted(text, start, key, value)
        if depth == len(keys) - 1:
            return (
                text[: found.value] + _dumped(text, value, _own_indent(text, found.start)) + text[found.end :]
            )
        start = found.value
    return text


def without_member(text: str, keys: Sequence[str]) -> str:
    """`text` without the member at the path `keys`, which is there."""
    start = _skip(text, 0)
    for key in keys[:-1]:
        found = _found(text, start, key)
        if found is None:
            raise KeyError(key)
        start = found.value
    members = list(_members(text, start))
    place = max(i for i, member in enumerate(members) if member.key == keys[-1])
    if place + 1 < len(members):
        return text[: members[place].start] + text[members[place + 1].start :]
    if place:
        return text[: members[place - 1].end] + text[members[place].end :]
    return text[: start + 1] + text[_skip(text, members[place].end) :]


def _members(text: str, start: int) -> Iterator[Member]:
    """The members of the object whose brace is at `start`."""
    at = _skip(text, start + 1)
    while text[at] == '"':
        key, end = scanstring(text, at + 1)
        value = _skip(text, _skip(text, end) + 1)
        _, stop = _DECODER.raw_decode(text, value)
        yield Member(key, at, value, stop)
        at = _skip(text, stop)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _found(text: str, start: int, key: str) -> Member | None:
    # Of a key that is there twice, readers take the last.
    return next((member for member in reversed(list(_members(text, start))) if member.key == key), None)


def _inserted(text: str, start: int, key: str, value: Any) -> str:
    members = list(_members(text, start))
    named = f"{json.dumps(key, ensure_ascii=False)}: "
    if not members:
        outer = _line_indent(text, start)
        indent = outer + _unit(text)
        end = _skip(text, start + 1)
        newline = _newline(text)
        inner = f"{newline}{indent}{named}{_dumped(text, value, indent)}{newline}{outer}"
        return text[: start + 1] + inner + text[end:]
    last = members[-1]
    own = _own_indent(text, last.start)
    between = ", " if own is None else f",{_newline(text)}{own}"
    return text[: last.end] + between + named + _dumped(text, value, own) + text[last.end :]


def _dumped(text: str, value: Any, indent: str | None) -> str:
    """`value` as JSON whose further lines are indented; on one line where there is no indent."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    dumped = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return dumped.replace("\n", f"{_newline(text)}{indent}")


def _line_indent(text: str, at: int) -> str:
    """The blanks that the line of `at` begins with."""
    line = text[:at].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


def _own_indent(text: str, at: int) -> str | None:
    """The blanks before `at`, where its line begins with it; None where it stands behind something else."""
    _, newline, line = text[:at].rpartition("\n")
    return line if newline and not line.strip() else None


def _unit(text: str) -> str:
    """What one level is indented by."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else _DEFAULT_INDENT


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip(text: str, at: int) -> int:
    """The place of the next character that is not blank."""
    found = _BLANK.match(text, at)
    return at if found is None else found.end()
