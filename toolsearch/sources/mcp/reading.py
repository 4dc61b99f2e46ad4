"""Whether a file configures MCP servers."""

from toolsearch.sources.configured import is_config_file as is_mcp_config_file

__all__ = ["is_mcp_config_file"]
