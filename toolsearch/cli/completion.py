"""What a shell may offer for an argument; nothing is started or asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolsearch.cli.defaults import default_config


def source_names(ctx: Any, incomplete: str) -> Iterator[str]:
    """Names of the sources of the configuration that the command is given."""
    return (name for name in _entries(ctx) if name.startswith(incomplete))


def tool_names(ctx: Any, incomplete: str) -> Iterator[str]:
    """The beginnings of the names of tools: which a server has, only it knows."""
    from toolsearch.naming import SEPARATOR, public_name

    begins = (_prefix(name, entry) for name, entry in _entries(ctx).items())
    prefixes = (f"{public_name(each, 'x').partition(SEPARATOR)[0]}{SEPARATOR}" for each in begins if each)
    return (prefix for prefix in prefixes if prefix.startswith(incomplete))


def _prefix(name: str, entry: Any) -> str:
    """What the names of a source's tools begin with, as far as its entry can be read."""
    from toolsearch.sources.mcp.config import OWN_KEY

    own = entry.get(OWN_KEY) if isinstance(entry, dict) else None
    stated = own.get("prefix") if isinstance(own, dict) else None
    return stated if isinstance(stated, str) else name


def _entries(ctx: Any) -> dict[str, Any]:
    """Each source of the configuration that the command is given, with what stands there of it."""
    from toolsearch.exceptions import ToolSearchError
    from toolsearch.sources.config_file import ConfigFile

    given = ctx.params.get("config") or default_config()
    found: dict[str, Any] = {}
    for path in [given] if isinstance(given, str | Path) else given:
        try:
            found |= {name: entry for name, (_, entry) in ConfigFile(Path(path)).entries().items()}
        except ToolSearchError:
            # The command itself says what is wrong with it.
            continue
    return found
