"""Tools from Python functions: their schemas, arguments and results."""

from toolsearch.functions.arguments import parse_arguments
from toolsearch.functions.decorator import tool
from toolsearch.functions.function_tool import FunctionTool
from toolsearch.functions.results import to_result

__all__ = ["FunctionTool", "parse_arguments", "to_result", "tool"]
