"""Tool search in somebody else's loop."""

from toolsearch.adapters.caller import conversation

__all__ = ["conversation"]
