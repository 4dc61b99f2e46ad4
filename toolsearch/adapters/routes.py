"""Which requests of a client are answered with tool search, and which tools the others would send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolsearch.adapters.anthropic import Anthropic
from toolsearch.adapters.api import WireApi
from toolsearch.adapters.openai_chat import OpenAIChat
from toolsearch.adapters.openai_responses import OpenAIResponses
from toolsearch.adapters.recall import plain
from toolsearch.tokens import count_tokens
from toolsearch.tools import JsonObject


@dataclass(frozen=True)
class Route:
    """An endpoint; `counts` if no model answers there, and only the tokens of the request are counted."""

    api: WireApi
    counts: bool = False


_ROUTES = {
    "/chat/completions": Route(OpenAIChat()),
    "/responses": Route(OpenAIResponses()),
    "/responses/input_tokens": Route(OpenAIResponses(), counts=True),
    "/v1/messages": Route(Anthropic()),
    "/v1/messages/count_tokens": Route(Anthropic(), counts=True),
}
# What a conversation says may look like anything, and a choice only names tools.
_NO_DEFINITIONS = frozenset({"messages", "input", "items", "content", "metadata", "tool_choice"})
_TOOLS = frozenset({"tools", "functions"})
_CONVERSATIONS = frozenset({"input", "items"})


def route_of(method: str, url: str) -> Route | None:
    """The endpoint behind a path as the clients write it; None for one without tool search."""
    return _ROUTES.get(url.partition("?")[0]) if method.lower() == "post" else None


def solid(body: Any) -> Any:
    """`body` to be read more than once: with lists for iterators, and without what was not given."""
    if isinstance(body, str | bytes | bytearray | int | float):
        return body
    if isinstance(body, Mapping):
        return {key: solid(value) for key, value in body.items() if not _is_omitted(value)}
    if hasattr(body, "read") or hasattr(body, "model_dump"):
        return body
    return [solid(item) for item in body] if isinstance(body, Iterable) else body


def tools_within(body: Any) -> Iterator[JsonObject]:
    """The definitions of tools that the caller runs, wherever a body has them; what is said in it apart."""
    if isinstance(body, Mapping):
        for key, value in body.items():
            if key in _TOOLS and isinstance(value, list):
                yield from filter(_is_run_by_caller, map(plain, value))
            elif key not in _NO_DEFINITIONS:
                yield from tools_within(value)
            elif key in _CONVERSATIONS and isinstance(value, list):
                yield from tools_within([item for item in map(plain, value) if _brings_tools(item)])
    elif isinstance(body, list):
        for item in body:
            yield from tools_within(item)


def namespaces(tools: Sequence[Any]) -> list[JsonObject]:
    """Those of `tools` that hold many tools under one name, unless the provider is to search in them."""
    records = [record for record in map(plain, tools) if isinstance(record, dict)]
    kinds = {str(record.get("type")) for record in records}
    if any(kind.startswith("tool_search") for kind in kinds):
        return []
    return [record for record in records if record.get("type") == "namespace"]


def tokens_of(tools: Iterable[JsonObject]) -> int:
    """About what the definitions cost."""
    return sum(count_tokens(json.dumps(tool, ensure_ascii=False, default=repr)) for tool in tools)


def _brings_tools(item: Any) -> bool:
    """Whether an item of a conversation is there to give the model tools."""
    return isinstance(item, dict) and item.get("type") == "additional_tools"


def _is_run_by_caller(record: Any) -> bool:
    """Tools that a provider runs have a type of their own, and no schema."""
    if not isinstance(record, dict):
        return False
    kind = record.get("type")
    return kind in ("function", "custom", "namespace") or (kind is None and "name" in record)


def _is_omitted(value: Any) -> bool:
    # The clients' signs for arguments that were not given.
    return type(value).__name__ in {"Omit", "NotGiven"}
