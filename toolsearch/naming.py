"""The public name of a tool: what a model provider accepts, unique for each source and raw name."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable

SEPARATOR = "__"
MAX_LENGTH = 64
PUBLIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
RESERVED_NAMES = frozenset({"tool_search", "call_tool", "describe_tool"})

_DIGEST_LENGTH = 16
_LIKENESS = 60
_DIGESTED = re.compile(rf".*_[0-9a-f]{{{_DIGEST_LENGTH}}}")
_UNSAFE = re.compile(r"[^a-zA-Z0-9_-]+")


def public_name(source: str, raw_name: str, *, variant: str = "") -> str:
    """A name that fits ``^[a-zA-Z0-9_-]{1,64}$``, one for each (source, raw name, variant).

    A pure function: it does not depend on other tools, on their order or on earlier calls, and no two
    different inputs share a name (short of a collision of 64 bits of SHA-256, which `Catalog` refuses).
    It reads as ``raw_name``, or ``source__raw_name`` for a named source. Where that would be ambiguous,
    too long, reserved or hold other characters, the readable part is cut and followed by a digest.

    `variant` tells apart tools that one source lists under one name, such as overloads in a file.
    """
    readable = f"{_clean(source) or 'source'}{SEPARATOR}{_clean(raw_name)}" if source else _clean(raw_name)
    if not variant and _reads_back(source, raw_name):
        return readable
    digest = _digest(source, raw_name, variant)
    stem = readable[: MAX_LENGTH - _DIGEST_LENGTH - 1].strip("_-") or "tool"
    return f"{stem}_{digest}"


def is_prefix(text: str) -> bool:
    """Whether names may begin with `text` in place of their source, or with nothing where it is empty."""
    return not text or (PUBLIC_NAME.fullmatch(text) is not None and _reads_back(text, "x"))


def variant_of(stated_id: str, source: str, raw_name: str) -> str:
    """The part of an id that a public name must keep: all of it, or nothing where it only repeats the name.

    It repeats the name as ``raw_name``, ``anything:raw_name``, as source and raw name joined by a dot,
    slash, dash or underscores, or as the public name. `bfcl:get_weather` says nothing new
    about `get_weather`; `bfcl:get_weather~2` does.
    """
    if stated_id == raw_name or stated_id.endswith(f":{raw_name}"):
        return ""
    if source and stated_id.startswith(source) and stated_id.endswith(raw_name):
        between = stated_id[len(source) : len(stated_id) - len(raw_name)]
        if between in {".", "/", "-", "_", SEPARATOR}:
            return ""
    return "" if stated_id == public_name(source, raw_name) else stated_id


def split_words(name: str) -> list[str]:
    """The words of an identifier, as written: camelCase, snake_case, dots, dashes and digits are cut.

    `getHTTPResponse2` gives ``["get", "HTTP", "Response", "2"]``.
    """
    return _WORD.findall(name)


def near_names(name: str, names: Iterable[str], *, limit: int = 3) -> tuple[str, ...]:
    """Those of `names` that `name` may have meant, the most alike first; none where none is like it."""
    from rapidfuzz import fuzz, process

    found = process.extract(name, list(names), scorer=fuzz.ratio, limit=limit, score_cutoff=_LIKENESS)
    return tuple(match for match, _, _ in found)


# An acronym keeps its letters: HTTPServer is HTTP and Server.
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def _reads_back(source: str, raw_name: str) -> bool:
    """Whether the readable form can be read back into exactly this source and raw name."""
    whole = f"{source}{SEPARATOR}{raw_name}" if source else raw_name
    if not PUBLIC_NAME.fullmatch(whole) or _DIGESTED.fullmatch(whole) or not raw_name:
        return False
    if source:
        return SEPARATOR not in source and not source.endswith("_")
    return SEPARATOR not in raw_name


def _digest(*parts: str) -> str:
    # ASCII escapes would write a pair of lone surrogates like the character that the pair stands for.
    whole = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:_DIGEST_LENGTH]


def _clean(text: str) -> str:
    if PUBLIC_NAME.fullmatch(text):
        return text
    folded = unicodedata.normalize("NFKD", text)
    ascii_only = "".join(c for c in folded if not unicodedata.combining(c))
    return _UNSAFE.sub("_", ascii_only).strip("_")
