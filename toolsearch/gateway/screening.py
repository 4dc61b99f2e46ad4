"""`Screening`: which prompts and resources of servers are passed on, by the guard that decides on tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from toolsearch.exceptions import ToolSearchError
from toolsearch.tools import JsonObject, Tool, empty_schema
from toolsearch.trust import TrustGuard

Kind: TypeAlias = Literal["resources", "templates", "prompts"]

_NAMED_BY = {"resources": "uri", "templates": "uriTemplate", "prompts": "name"}

_log = logging.getLogger(__name__)


class Screening:
    """Pins what servers say of their prompts and resources as it pins tools, as sources ``SERVER (prompts)``.

    What they hold is no definition, and is passed on as results of tools are.
    """

    def __init__(self, guard: TrustGuard | None) -> None:
        self._guard = guard
        self._known: dict[tuple[Kind, str], tuple[Sequence[Any], object, list[Any]]] = {}

    async def passed(self, kind: Kind, server: str, records: Sequence[Any]) -> list[Any]:
        """Those of a server's records that may be passed on; none where that cannot be decided."""
        guard = self._guard
        if guard is None or not records:
            return list(records)
        known = self._known.get((kind, server))
        state = guard.state()
        if known is not None and known[0] is records and known[1] == state:
            return known[2]
        passed = await asyncio.to_thread(_passed, guard, kind, server, records)
        self._known[kind, server] = records, state, passed
        return passed

    async def again(self) -> set[Kind]:
        """Decides anew, and gives the kinds of which others are passed on now."""
        changed: set[Kind] = set()
        for (kind, server), (records, _, before) in tuple(self._known.items()):
            if await self.passed(kind, server, records) != before:
                changed.add(kind)
        return changed


def is_called(kind: Kind, record: Any, name: str) -> bool:
    """Whether a record is of the prompt or resource of this name or address."""
    return isinstance(record, dict) and bool(record.get(_NAMED_BY[kind]) == name)


def _passed(guard: TrustGuard, kind: Kind, server: str, records: Sequence[Any]) -> list[Any]:
    known = [(record, tool) for record in records if (tool := _as_tool(kind, server, record)) is not None]
    try:
        admitted = guard.admit(f"{server} ({kind})", [tool for _, tool in known]).admitted
    except (ToolSearchError, OSError) as exc:
        _log.warning("the %s of MCP server %r are left out, as nothing can be decided: %s", kind, server, exc)
        return []
    let_in = {id(tool) for tool in admitted}
    return [record for record, tool in known if id(tool) in let_in]


def _as_tool(kind: Kind, server: str, record: Any) -> Tool | None:
    """What is said of a prompt or a resource, as a guard compares it; None without a name."""
    name = record.get(_NAMED_BY[kind]) if isinstance(record, dict) else None
    if not isinstance(name, str) or not name.strip():
        return None
    return Tool(
        raw_name=name,
        source=f"{server} ({kind})",
        title=_text(record, "title") or ("" if kind == "prompts" else _text(record, "name")),
        description=_text(record, "description"),
        input_schema=_arguments(record.get("arguments")),
    )


def _text(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def _arguments(stated: Any) -> JsonObject:
    arguments = [each for each in stated if isinstance(each, dict)] if isinstance(stated, list) else []
    if not arguments:
        return empty_schema()
    return {
        "type": "object",
        "properties": {
            _text(each, "name"): {"type": "string", "description": _text(each, "description")}
            for each in arguments
        },
        "required": [_text(each, "name") for each in arguments if each.get("required") is True],
    }
