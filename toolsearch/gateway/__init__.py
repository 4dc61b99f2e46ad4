"""Gateway: many tool sources behind one MCP server, whose clients search their tools."""
