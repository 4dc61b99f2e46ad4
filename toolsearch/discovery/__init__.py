"""Finding tools in the middle of a conversation: the `tool_search` tool and what follows from its results."""
