"""What a shell may offer for an argument; nothing is started or asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolsearch.cli.defaults import default_config


def source_names(ctx: Any, incomplete: str) -> Iterator[str]:
    """Names of the sources of the configuration that the command is given."""
    return (name for name in _names(ctx) if name.startswith(incomplete))


def tool_names(ctx: Any, incomplete: str) -> Iterator[str]:
    """The beginnings of the names of tools: which a server has, only it knows."""
    from toolsearch.naming import SEPARATOR, public_name

    prefixes = (f"{public_name(name, 'x').partition(SEPARATOR)[0]}{SEPARATOR}" for name in _names(ctx))
    return (prefix for prefix in prefixes if prefix.startswith(incomplete))


def _names(ctx: Any) -> Iterator[str]:
    from toolsearch.exceptions import ToolSearchError
    from toolsearch.sources.config_file import ConfigFile

    given = ctx.params.get("config") or default_config()
    for path in [given] if isinstance(given, str | Path) else given:
        try:
            yield from ConfigFile(Path(path)).entries()
        except ToolSearchError:
            # The command itself says what is wrong with it.
            continue
