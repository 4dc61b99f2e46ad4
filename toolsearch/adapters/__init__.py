"""Tool search in somebody else's loop."""

from toolsearch.adapters.turn import conversation

__all__ = ["conversation"]
