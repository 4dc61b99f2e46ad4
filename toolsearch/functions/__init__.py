"""Tools from Python functions: their schemas, arguments and results."""

from toolsearch.functions.arguments import parse_arguments
from toolsearch.functions.augment import Augmentation, augment
from toolsearch.functions.data import tool_from_schema
from toolsearch.functions.decorator import tool
from toolsearch.functions.function_tool import FunctionTool
from toolsearch.functions.members import tools_from
from toolsearch.functions.results import to_result

__all__ = [
    "Augmentation",
    "FunctionTool",
    "augment",
    "parse_arguments",
    "to_result",
    "tool",
    "tool_from_schema",
    "tools_from",
]
