"""What `tool_search` and `describe_tool` answer. Neither knows of earlier answers: a client may have many
conversations over one connection, and each has to be told everything."""

from __future__ import annotations

import json

from toolsearch.catalog import Catalog
from toolsearch.checks import shown
from toolsearch.delivery.base import SEARCH_TOOL, Delivery, one_line
from toolsearch.delivery.visible import visible, visible_schema
from toolsearch.discovery.answer import Findings, answer
from toolsearch.discovery.search_tool import read_search_arguments
from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import SearchRequestError, ToolArgumentsError
from toolsearch.gateway.live_search import LiveSearch
from toolsearch.messages import ToolResult
from toolsearch.naming import near_names
from toolsearch.retrieval.base import MAX_K, SearchRequest
from toolsearch.tools import JsonObject, Tool

_DESCRIPTION_CHARACTERS = 20_000
_NAME_CHARACTERS = 80


def found(
    arguments: JsonObject, catalog: Catalog, search: LiveSearch, delivery: Delivery, *, limit: int
) -> ToolResult:
    """The tools that serve a request, as `delivery` lists them; those that are gone by now are left out."""
    try:
        asked = read_search_arguments(arguments, CatalogView(catalog), limit=limit)
        result = search.search(
            SearchRequest(
                queries=asked.queries,
                max_k=min(asked.most, MAX_K),
                sources=None if asked.server is None else frozenset({asked.server}),
            )
        )
    except (ToolArgumentsError, SearchRequestError) as exc:
        return ToolResult.error(str(exc))
    if result is None:
        return ToolResult.error("There is no tool to be found: no server is ready, or none has tools.")
    findings = Findings(
        loaded=tuple(catalog[name] for name in result.names if name in catalog)[: asked.most],
        near=tuple(name for name in result.near if name in catalog),
        nothing_fits=result.nothing_fits,
        notices=result.notices,
    )
    return answer(findings, delivery, max_tools=None)


def described(arguments: JsonObject, catalog: Catalog) -> ToolResult:
    """Each tool in full; a name that is not there is said to be unknown, and the others are shown."""
    given = arguments.get("names", arguments.get("name"))
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        return ToolResult.error(f"'names' must be a list of names of tools, not {shown(given)}.")
    tools = [catalog.get(name) for name in names]
    texts = [
        unknown(name, catalog) if tool is None else _in_full(tool)
        for name, tool in zip(names, tools, strict=True)
    ]
    if not any(tools):
        return ToolResult.error("\n".join(texts))
    return ToolResult.text("\n\n".join(texts))


def unknown(name: str, catalog: Catalog) -> str:
    """What to say of a name that no tool has."""
    near = near_names(name, catalog)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"There is no tool {one_line(name, _NAME_CHARACTERS)!r}.{meant} Find tools with {SEARCH_TOOL}."


def _in_full(tool: Tool) -> str:
    lines = [tool.name]
    if tool.source:
        lines.append(f"server: {one_line(tool.source, _NAME_CHARACTERS)}")
    lines += (f"{hint}: {json.dumps(value)}" for hint, value in _hints(tool) if value is not None)
    lines.append(f"input schema: {visible_schema(tool.input_schema)}")
    if tool.output_schema is not None:
        lines.append(f"output schema: {visible_schema(tool.output_schema)}")
    description = visible(tool.description or tool.title)[:_DESCRIPTION_CHARACTERS]
    return "\n".join((*lines, description)).rstrip()


def _hints(tool: Tool) -> tuple[tuple[str, bool | None], ...]:
    return ("read only", tool.read_only), ("destructive", tool.destructive)
