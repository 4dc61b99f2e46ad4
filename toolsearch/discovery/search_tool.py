"""The `tool_search` tool as a model sees it, and the reading of its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolsearch.delivery.base import SEARCH_TOOL, one_line
from toolsearch.discovery.settings import MAX_LIMIT
from toolsearch.discovery.view import LABEL_CHARACTERS, CatalogView, listed
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.index.names import selected_names
from toolsearch.tools import JsonObject, Tool, ToolInvocation

MAX_QUERIES = 5

_LIMIT_CHARACTERS = 20
_DESCRIPTION = (
    "Finds tools. Most tools are not shown to you until a search has found them, so search before you say "
    "that something cannot be done. Search for everything that you need at once, one query for each "
    "capability."
)
_ALIASES = {"query": "queries", "k": "limit"}


def search_tool(view: CatalogView, *, limit: int, call: ToolInvocation | None = None) -> Tool:
    """The tool, the same bytes for the same servers, categories and limit."""
    return Tool(
        raw_name=SEARCH_TOOL,
        description=f"{_DESCRIPTION} {view.directory}".rstrip(),
        input_schema=_schema(limit),
        read_only=True,
        call=call,
    )


@dataclass(frozen=True)
class SearchArguments:
    """What the model asked for: `server` is the name of a source that it may know of, or None for all."""

    queries: tuple[str, ...]
    server: str | None
    limit: int

    @property
    def most(self) -> int:
        """How many tools may be loaded: `limit` for each query, and every tool that is asked for by name."""
        return sum(max(self.limit, len(selected_names(query) or ())) for query in self.queries)

    @property
    def key(self) -> tuple[object, ...]:
        """The same for searches that have the same answer."""
        queries = sorted(" ".join(query.casefold().split()) for query in self.queries)
        return (*queries, self.server, self.limit)


def read_search_arguments(arguments: JsonObject, view: CatalogView, *, limit: int) -> SearchArguments:
    """The arguments of a search. A lone query may be a string, and `query` and `k` are taken for their kin.

    Raises:
        ToolArgumentsError: says of each argument that cannot be used what it must be.
    """
    given: dict[str, Any] = {}
    problems = []
    for key, value in arguments.items():
        name = _ALIASES.get(key, key)
        if name not in {"queries", "server", "limit"}:
            problems.append(f"There is no argument {one_line(key, LABEL_CHARACTERS)!r}.")
        elif name in given:
            problems.append(f"Give {name!r} once.")
        given[name] = value
    queries = _queries(given.get("queries"), problems)
    server = _server(given.get("server"), view, problems)
    limit = _limit(given.get("limit"), limit, problems)
    if problems:
        raise ToolArgumentsError(SEARCH_TOOL, tuple(problems))
    return SearchArguments(queries, server, limit)


def _schema(limit: int) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MAX_QUERIES,
                "description": "What each tool should do, in a few words, such as 'send an email'. "
                "'select:NAME,NAME' loads tools whose names you know.",
            },
            "server": {"type": "string", "description": "Search only the tools of this server."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_LIMIT,
                "description": f"The most tools to load for each query; {limit} if left out.",
            },
        },
        "required": ["queries"],
        "additionalProperties": False,
    }


def _queries(value: Any, problems: list[str]) -> tuple[str, ...]:
    queries = [value] if isinstance(value, str) else value
    if not isinstance(queries, list) or not queries or not all(isinstance(query, str) for query in queries):
        problems.append("'queries' must be a list of texts: what each tool should do, in a few words.")
        return ()
    distinct = tuple(dict.fromkeys(queries))
    if len(distinct) > MAX_QUERIES:
        problems.append(f"'queries' has {len(distinct)} texts; at most {MAX_QUERIES} fit.")
    return distinct


def _server(value: Any, view: CatalogView, problems: list[str]) -> str | None:
    if value is None or value == "":
        return None
    # By the name in full, or as the tool's description shows it.
    named = {one_line(server, LABEL_CHARACTERS).casefold(): server for server in view.servers}
    named |= {server.casefold(): server for server in view.servers}
    server = named.get(value.casefold()) if isinstance(value, str) else None
    if server is None:
        there_are = f"There are {listed(view.servers)}." if view.servers else "Leave it out."
        problems.append(f"There is no server {one_line(str(value), LABEL_CHARACTERS)!r}. {there_are}")
    return server


def _limit(value: Any, default: int, problems: list[str]) -> int:
    if value is None:
        return default
    if isinstance(value, str) and len(value) < _LIMIT_CHARACTERS and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_LIMIT:
        problems.append(f"'limit' must be a whole number from 1 to {MAX_LIMIT}.")
        return default
    return value
