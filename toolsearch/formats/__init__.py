"""Reading and writing tool definitions in every wire form that is in use."""

from toolsearch.formats.base import Format, ToolReading
from toolsearch.formats.registry import FORMATS, Entry, format_named, read_entries, read_tools, write_tools

__all__ = [
    "FORMATS",
    "Entry",
    "Format",
    "ToolReading",
    "format_named",
    "read_entries",
    "read_tools",
    "write_tools",
]
