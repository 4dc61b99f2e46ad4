"""What becomes of a configuration, as people may see it: without the secrets that are in it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolsearch.gateway.commented_json import plain_json
from toolsearch.gateway.install import FileChange
from toolsearch.http.secret_shapes import HIDDEN, redacted

_SECRET_PLACES = ("env", "headers")
_SECRET_FLAG = re.compile(r"-.*(key|token|secret|passw|credential|auth)", re.IGNORECASE)


def shown_change(change: FileChange) -> str:
    """A unified diff, in which values of ``env`` and ``headers`` and what looks like a secret are hidden."""
    before = (change.before or b"").decode("utf-8-sig", "replace")
    after = change.after.decode("utf-8-sig")
    secrets = {json.dumps(each, ensure_ascii=False) for text in (before, after) for each in _secrets_of(text)}
    lines = difflib.unified_diff(
        _hidden(before, secrets), _hidden(after, secrets), str(change.path), str(change.path), lineterm=""
    )
    return "\n".join(lines)


def _hidden(text: str, secrets: set[str]) -> list[str]:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, f'"{HIDDEN}"')
    return [redacted(line) for line in text.splitlines()]


def _secrets_of(text: str) -> Iterator[str]:
    try:
        yield from _secrets(json.loads(plain_json(text)))
    except ValueError:
        return


def _secrets(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for flag, each in zip(["", *value], value, strict=False):
            if isinstance(flag, str) and isinstance(each, str) and _SECRET_FLAG.match(flag):
                yield each
            yield from _secrets(each)
    if not isinstance(value, Mapping):
        return
    for key, each in value.items():
        if key in _SECRET_PLACES and isinstance(each, Mapping):
            yield from (text for text in each.values() if isinstance(text, str) and not _is_named(text))
        else:
            yield from _secrets(each)


def _is_named(text: str) -> bool:
    """Whether a value only names a variable, and is none itself."""
    return not text or (text.startswith("${") and text.endswith("}") and ":-" not in text)
