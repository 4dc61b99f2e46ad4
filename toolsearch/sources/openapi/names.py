"""Names for what a document names in its own way: its operations and itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from toolsearch.naming import split_words
from toolsearch.schema.keywords import is_text

_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")
_MAX_SOURCE = 24
_FORMS = re.compile(r"\b(?:open ?api|swagger)\b[\s-]*v?\d[\d.]*", re.IGNORECASE)
# Every document is about one of these.
_USELESS = frozenset(
    {"a", "an", "and", "api", "apis", "definition", "documentation", "for", "http", "of", "official", "open"}
    | {"openapi", "rest", "restful", "service", "spec", "specification", "swagger", "the", "web"}
)


def operation_names(operations: Sequence[tuple[str, str, Any]]) -> list[tuple[str, str]]:
    """A name for each operation, of which method, path and node are given, and a remark on it.

    It is the ``operationId``, or made of method and path, with ``_`` for what no name may hold. Where that
    would name two operations of the document, each keeps what tells them apart: the ``operationId`` as it
    stands, or ``GET /path``. No name depends on the order of operations.
    """
    stated = [_stated_id(node) for _, _, node in operations]
    counts = Counter(filter(None, stated))
    remarks = [
        f"operationId: {name!r:.60} is that of {counts[name]} operations, named by method and path"
        if counts[name] > 1
        else ""
        for name in stated
    ]
    exact = [
        name if name and counts[name] == 1 else f"{method.upper()} {path}"
        for name, (method, path, _) in zip(stated, operations, strict=True)
    ]
    readable = [
        _readable(name if name and counts[name] == 1 else f"{method} {path}")
        for name, (method, path, _) in zip(stated, operations, strict=True)
    ]
    taken = Counter([*readable, *(set(exact) - set(readable))])
    return [
        (short if short and taken[short] == 1 else whole, remark)
        for short, whole, remark in zip(readable, exact, remarks, strict=True)
    ]


def source_name(title: str) -> str:
    """The tool source of a document of that title; ``Swagger Petstore - OpenAPI 3.0`` gives ``petstore``."""
    words = re.findall(r"\w+", re.sub(r"[’']s?\b|_", " ", _FORMS.sub(" ", title)).casefold())
    telling = [word for word in words if word not in _USELESS] or words
    name = "_".join(telling) or "openapi"
    # Whole words, so that operations have room for theirs.
    return (
        name if len(name) <= _MAX_SOURCE else name[: _MAX_SOURCE + 1].rpartition("_")[0] or name[:_MAX_SOURCE]
    )


def _stated_id(node: Any) -> str:
    stated = node.get("operationId") if isinstance(node, dict) else None
    return stated.strip() if isinstance(stated, str) and is_text(stated) else ""


def _readable(name: str) -> str:
    """`name` in letters that every provider takes; empty where little of it would be left."""
    if not name.isascii():
        return ""
    cleaned = re.sub("__+", "_", _UNSAFE.sub("_", name)).strip("_")
    return cleaned if split_words(cleaned) else ""
