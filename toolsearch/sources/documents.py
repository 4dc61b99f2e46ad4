"""The JSON values of a file, each with the lines that its parts start on."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolsearch.exceptions import CatalogFileError
from toolsearch.formats.detect import Path as ValuePath
from toolsearch.sources.json_text import Flaws, JsonReader
from toolsearch.sources.remote import fetch_apart, is_url

STANDARD_INPUT = "-"
JSON_LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
YAML_SUFFIXES = frozenset({".yaml", ".yml"})


@dataclass(frozen=True)
class Document:
    """One JSON value of a file, or the reason why a line of it holds none.

    Attributes:
        value: None where `error` says why.
        line_of: The line, from 1, that the part at a path of keys and positions starts on.
        flaws: Objects within `value` that make what they are in unusable.
        error: None for a value.
    """

    value: Any
    line_of: Callable[[ValuePath], int]
    flaws: Flaws = field(default_factory=dict)
    error: str | None = None


def read_documents(path: str) -> Iterator[Document]:
    """The values of a file, or of what stands at an http URL; see `parse_documents`.

    Raises:
        CatalogFileError: it is missing, cannot be had, or as `parse_documents`.
    """
    yield from parse_documents(path, _utf8(path))


def parse_documents(path: str, data: bytes) -> Iterator[Document]:
    """The values in `data`: one for ``.json``, one a line for ``.jsonl``, one a document for YAML.

    Standard input, ``-``, and files with another suffix are read as what they look like. So is a ``.json``
    file of several lines of JSON. A broken line of JSON Lines comes as a `Document` with an error.

    Raises:
        CatalogFileError: the file is empty, no UTF-8, or broken as a whole.
    """
    data = _unmarked(path, data)
    suffix = "" if path == STANDARD_INPUT else Path(path).suffix.lower()
    if suffix in JSON_LINES_SUFFIXES:
        yield from _json_lines(path, data)
        return
    text = _decoded(path, data)
    if not text.strip():
        raise CatalogFileError(path, "the file is empty; an empty catalog is written as []")
    if suffix in YAML_SUFFIXES or (suffix != ".json" and text.lstrip()[0] not in "[{"):
        from toolsearch.sources.yaml_text import parse_yaml

        yield from (Document(part.value, part.line_of, part.flaws) for part in parse_yaml(path, text))
        return
    try:
        parsed = JsonReader(path).parse(text)
    except CatalogFileError:
        if not _first_line_is_json(path, text):
            raise
        yield from _json_lines(path, data)
        return
    yield Document(parsed.value, parsed.line_of, parsed.flaws)


def _json_lines(path: str, data: bytes) -> Iterator[Document]:
    reader = JsonReader(path)
    for number, raw in enumerate(data.split(b"\n"), start=1):
        if not raw.strip():
            continue

        def line_of(_: ValuePath, number: int = number) -> int:
            return number

        try:
            parsed = reader.parse(raw.decode())
        except UnicodeDecodeError as exc:
            yield Document(None, line_of, error=f"not UTF-8 at byte {exc.start + 1} of the line")
        except CatalogFileError as exc:
            yield Document(None, line_of, error=exc.reason)
        else:
            yield Document(parsed.value, line_of, parsed.flaws)


def _first_line_is_json(path: str, text: str) -> bool:
    try:
        JsonReader(path).parse(text.strip().partition("\n")[0])
    except CatalogFileError:
        return False
    return True


def _utf8(path: str) -> bytes:
    if is_url(path):
        return fetch_apart(path)
    try:
        return sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except OSError as exc:
        raise CatalogFileError(path, f"cannot be read: {exc.strerror or exc}") from exc


def _unmarked(path: str, data: bytes) -> bytes:
    """The same as UTF-8, without a byte order mark."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16").encode()
        except UnicodeError as exc:
            raise CatalogFileError(path, f"starts as UTF-16 but is not: {exc}") from exc
    return data.removeprefix(codecs.BOM_UTF8)


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise CatalogFileError(path, f"not UTF-8: {exc.reason} {data[exc.start]:#04x}", line=line) from exc
