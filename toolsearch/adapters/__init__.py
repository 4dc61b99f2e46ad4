"""Tool search in somebody else's loop."""
