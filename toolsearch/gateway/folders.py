"""Where a gateway keeps what it knows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from toolsearch.embedders.store import default_cache_path


def state_folder(locations: Iterable[str]) -> Path:
    """The folder, in the user's cache, of a gateway in front of these files and URLs.

    Raises:
        EmbeddingCacheError: the system knows no home folder.
    """
    whole = json.dumps([_absolute(location) for location in locations])
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return default_cache_path().parent / "gateway" / digest[:16]


def _absolute(location: str) -> str:
    return location if "://" in location else str(Path(location).absolute())
