"""Where people keep what this package is to know, and which file a command means where none is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CONFIG_DIR_VARIABLE = "TOOLSEARCH_CONFIG_DIR"
CONFIG_FILE = "mcp.json"
TRUST_FILE = "trust.json"


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


def here_or_kept(here: str, kept: str) -> Path:
    """The file `here`, of the working folder; where only `kept` of the folder of settings is there, that one.

    So that a command looks at what a gateway of the user reads, unless the working folder has its own.
    """
    own = Path(here)
    if own.exists():
        return own
    try:
        other = config_folder() / kept
    except RuntimeError:
        return own
    return other if other.exists() else own
