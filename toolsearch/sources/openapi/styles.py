"""Values of parameters as text: every style of OpenAPI, exploded or not.

Source: OpenAPI 3.1.1, 4.8.12.6 "Style Examples", and RFC 6570, on which it rests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from toolsearch.sources.openapi.model import Parameter, Serialization
from toolsearch.tools import JsonObject

# Reserved in URLs and yet without a meaning within the value of a query.
_RESERVED = ":/?[]@!$'()*,;="
# What RFC 6265 lets a cookie hold, without the marks that are encoded in all styles.
_COOKIE_OCTETS = "!#$&'()*+-./:<=>?@[]^_`{|}~"
_WHOLE_FLOAT = 2.0**53

_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_SPLITTING = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}


def path_text(parameter: Parameter, value: Any) -> str:
    """What stands in place of ``{name}`` in a path, percent-encoded.

    Raises:
        ValueError: the value is empty or a dot, and would make another path, or a part of it holds what would
            split it.
    """
    how = parameter.serialization
    if how.media_type:
        text = _encoded(as_json(value))
    else:
        items = _items(value)
        text = _in_path(parameter.name, value, items, how)
    if text in {"", ".", ".."}:
        raise ValueError("it must not be empty, '.' or '..' in a path")
    return text


def query_text(name: str, value: Any, how: Serialization) -> str:
    """The part of a query that gives `value`, percent-encoded; empty where there is nothing to give.

    Raises:
        ValueError: a part of the value holds what would split it.
    """
    safe = _RESERVED if how.allow_reserved else ""
    key = _encoded(name)
    if how.media_type:
        return f"{key}={_encoded(as_json(value), safe)}"
    if how.style == "deepObject" and isinstance(value, dict | list):
        return "&".join(f"{_encoded(path)}={_encoded(text, safe)}" for path, text in _deep(name, value))
    items = _items(value)
    if items is None:
        return f"{key}={_encoded(as_text(value), safe)}"
    if not items:
        return ""
    if how.explode:
        return "&".join(f"{key if k is None else _encoded(k)}={_encoded(v, safe)}" for k, v in items)
    parts = _flat(items)
    if how.style in _SPLITTING:
        _refuse_within(parts, _SPLITTING[how.style])
    delimiter = _DELIMITERS.get(how.style, ",")
    # A comma that is left as it is could not be told from one between two parts.
    return f"{key}={delimiter.join(_encoded(part, safe.replace(',', '')) for part in parts)}"


def header_text(value: Any, how: Serialization) -> str:
    """The value of a header, in style ``simple``.

    Raises:
        ValueError: no header can carry it, or a part of it holds what would split it.
    """
    items = None if how.media_type else _items(value)
    if items is None:
        text = as_json(value) if how.media_type else as_text(value)
    else:
        _refuse_within([v for _, v in items], ",")
        text = ",".join(_pairs(items) if how.explode else _flat(items))
    if not (text.isascii() and text.isprintable()) or text != text.strip():
        raise ValueError("a header can only carry printable ASCII, without blanks around it")
    return text


def cookie_text(name: str, value: Any, how: Serialization) -> str:
    """``name=value`` for a ``Cookie`` header, in style ``form``; empty where there is nothing to give."""
    items = None if how.media_type else _items(value)
    if items is None:
        return f"{name}={quote(as_json(value) if how.media_type else as_text(value), safe=_COOKIE_OCTETS)}"
    if not items:
        return ""
    if how.explode:
        return "; ".join(f"{name if k is None else k}={quote(v, safe=_COOKIE_OCTETS)}" for k, v in items)
    return f"{name}={','.join(quote(part, safe=_COOKIE_OCTETS) for part in _flat(items))}"


def as_text(value: Any) -> str:
    """A value as text: a string as it is, a number without a useless ``.0``, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE_FLOAT:
        return str(int(value))
    return as_json(value)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _in_path(name: str, value: Any, items: list[tuple[str | None, str]] | None, how: Serialization) -> str:
    if how.style == "label":
        separator = "." if how.explode else ","
        if items is not None and how.explode:
            # A dot is never percent-encoded.
            _refuse_within(_flat(items), ".")
        return "." + (_encoded(as_text(value)) if items is None else _joined(items, separator, how.explode))
    if how.style == "matrix":
        key = _encoded(name)
        if items is None:
            text = _encoded(as_text(value))
            return f";{key}={text}" if text else f";{key}"
        if how.explode:
            return "".join(f";{key if k is None else _encoded(k)}={_encoded(v)}" for k, v in items)
        return f";{key}={_joined(items, ',', explode=False)}"
    return _encoded(as_text(value)) if items is None else _joined(items, ",", how.explode)


def _joined(items: list[tuple[str | None, str]], separator: str, explode: bool) -> str:
    if explode:
        return separator.join(_encoded(v) if k is None else f"{_encoded(k)}={_encoded(v)}" for k, v in items)
    return separator.join(map(_encoded, _flat(items)))


def _items(value: Any) -> list[tuple[str | None, str]] | None:
    """The parts of a list or an object, without nulls; None for what is neither."""
    if isinstance(value, list):
        return [(None, as_text(part)) for part in value if part is not None]
    if isinstance(value, dict):
        return [(key, as_text(part)) for key, part in value.items() if part is not None]
    return None


def _flat(items: list[tuple[str | None, str]]) -> list[str]:
    """``R,100,G,200`` as a list."""
    return [text for item in items for text in item if text is not None]


def _pairs(items: list[tuple[str | None, str]]) -> list[str]:
    return [text if key is None else f"{key}={text}" for key, text in items]


def _deep(path: str, value: JsonObject | list[Any]) -> Iterator[tuple[str, str]]:
    """``color[R]`` and so on. OpenAPI leaves nested values open; these are written as PHP and Rails do it."""
    members = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    for key, part in members:
        below = path if key is None else f"{path}[{key}]"
        if isinstance(part, dict) or (isinstance(part, list) and not any(map(_is_nested, part))):
            yield from _deep(below, part)
        elif part is not None:
            yield below, as_text(part)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def _refuse_within(parts: list[str], splitting: str) -> None:
    for part in parts:
        if splitting in part:
            raise ValueError(f"{part!r:.60} holds {splitting!r}, which stands between the parts here")


def _encoded(text: str, safe: str = "") -> str:
    return quote(text, safe=safe)
