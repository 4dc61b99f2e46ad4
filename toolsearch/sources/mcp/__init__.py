"""MCP servers as tool sources: their configuration, their life, their tools and their answers."""
