"""The tools of a server that its settings let through, decided before anything is named or indexed."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch, fnmatchcase

from toolsearch.globs import is_glob
from toolsearch.sources.mcp.settings import McpSettings
from toolsearch.tools import Tool


def permits(settings: McpSettings, tool: Tool) -> bool:
    """Whether `tool` passes every filter that is given: all of them hold together."""
    name = tool.raw_name
    return (
        (settings.allow is None or _fits(settings.allow, name))
        and not _fits(settings.deny, name)
        and (settings.descriptions is None or _says(settings.descriptions, tool.description))
        and _is_annotated(settings, tool)
    )


def _fits(patterns: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _says(patterns: Sequence[str], description: str) -> bool:
    text = description.casefold()
    return any(
        fnmatch(text, pattern.casefold()) if is_glob(pattern) else pattern.casefold() in text
        for pattern in patterns
    )


def _is_annotated(settings: McpSettings, tool: Tool) -> bool:
    kept = tool.meta.get("mcp", {}).get("annotations")
    stated = kept if isinstance(kept, dict) else {}
    return all(key in stated and stated[key] == value for key, value in settings.annotations.items())
