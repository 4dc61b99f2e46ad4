"""Where a gateway keeps what it knows, and where people keep what it is to know."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from toolsearch.embedders.store import default_cache_path

CONFIG_DIR_VARIABLE = "TOOLSEARCH_CONFIG_DIR"


def config_folder() -> Path:
    """The user's folder for settings: ``$TOOLSEARCH_CONFIG_DIR``, or ``toolsearch`` under the platform's own.

    Raises:
        RuntimeError: the system knows no home folder.
    """
    stated = os.environ.get(CONFIG_DIR_VARIABLE)
    return Path(stated) if stated else settings_folder() / "toolsearch"


def settings_folder(home: Path | None = None, platform: str = sys.platform) -> Path:
    """Where programs keep their settings: ``~/.config``, ``~/Library/Application Support``, ``%APPDATA%``.

    What the environment says counts for the user's own home alone.
    """
    base = Path.home() if home is None else home
    stated = os.environ if home is None else {}
    if platform == "win32":
        return Path(stated.get("APPDATA") or base / "AppData" / "Roaming")
    if platform == "darwin":
        return base / "Library" / "Application Support"
    return Path(stated.get("XDG_CONFIG_HOME") or base / ".config")


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
