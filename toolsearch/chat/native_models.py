"""Which models have tool search of their own, by their names, and how one is given ours."""

from __future__ import annotations

import re

from toolsearch.tools import JsonObject

# Models from before version 4.5 take `defer_loading` without an error, and never show the tool.
WITHOUT_SEARCH = (
    *("claude-2", "claude-3", "claude-instant"),
    *("claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-2025"),
    *("claude-sonnet-4-0", "claude-sonnet-4-2025"),
)
_FIRST_WITH_SEARCH = (5, 4)


def claude_knows_search(model: str) -> bool:
    """Whether a model of Anthropic follows references to tools."""
    return model.startswith("claude-") and not model.startswith(WITHOUT_SEARCH)


def gpt_knows_search(model: str) -> bool:
    """Whether a model of OpenAI takes part in ``tool_search``, by its name."""
    found = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    return found is not None and (int(found[1]), int(found[2] or 0)) >= _FIRST_WITH_SEARCH


def search_record(record: JsonObject) -> JsonObject:
    """The search tool as one that the client executes, of its definition as a function."""
    return {
        "type": "tool_search",
        "execution": "client",
        "description": record["description"],
        "parameters": record["parameters"],
    }
