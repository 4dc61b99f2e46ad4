"""The files that commands mean where none is named."""

from __future__ import annotations

from pathlib import Path

from toolsearch.cli.output import say
from toolsearch.sources.settings_folder import CONFIG_FILE, TRUST_FILE, here_or_kept

OWN_TRUST_FILE = "toolsearch-trust.json"
"""In the folder that the command runs in."""


def default_config() -> Path:
    """The configuration of sources: ``mcp.json`` here, or else the one that a gateway reads."""
    return here_or_kept(CONFIG_FILE, CONFIG_FILE)


def told_config() -> Path:
    """`default_config`, which people are told of where it is not in the working folder."""
    return _told(default_config(), here=CONFIG_FILE)


def told_trust_file() -> Path:
    """The trust file: the one here, or else the one of a gateway, which people are told of."""
    return _told(here_or_kept(OWN_TRUST_FILE, TRUST_FILE), here=OWN_TRUST_FILE)


def _told(path: Path, *, here: str) -> Path:
    if path != Path(here):
        say(f"There is no {here} here; this is about {path}.")
    return path
