"""Tools for the tests of serving, also as a process of its own."""

import asyncio
import sys
from typing import Any

from toolsearch import Tool, ToolContext, ToolFailed, tool
from toolsearch.functions.function_tool import FunctionTool
from toolsearch.messages import ImagePart, TextPart, ToolResult

PIXEL = b"\x89PNG\r\n\x1a\n rest"
RUNNING = asyncio.Event()
CANCELLED = asyncio.Event()


@tool(read_only=True, title="Add numbers", tags=("math",))
def add(a: int, b: int = 1) -> dict[str, int]:
    """Add two numbers.

    Args:
        a: The first.
    """
    return {"sum": a + b}


def _counted(good: bool = True) -> Any:
    """Count something."""
    return {"n": 3} if good else {"n": "three"}


OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
counted = FunctionTool.of(_counted, name="counted", output_schema=OUTPUT)


@tool
def whoami(context: ToolContext) -> dict[str, Any]:
    """Tell who calls."""
    return {"session": context.session_id, "call": context.call_id, "who": context.state.get("who", "")}


@tool
def picture() -> ToolResult:
    """Give a text, a picture and a picture's address."""
    image = ImagePart.of(PIXEL)
    return ToolResult((TextPart(text="chart:"), image, ImagePart(url="https://example.org/a.png")))


@tool
def numbers() -> list[int]:
    """Give a list."""
    return [1, 2]


@tool(destructive=True)
def fail(how: str) -> str:
    """Fail."""
    if how == "said":
        raise ToolFailed("There is no such order.")
    raise RuntimeError("password=hunter2 at /srv/db")


@tool
def noisy() -> str:
    """Print to standard output, where the messages are."""
    print("not a message")
    sys.stdout.flush()
    return "quiet"


@tool
async def slow(context: ToolContext) -> str:
    """Report progress."""
    for step in (1, 2):
        await context.state["report_progress"](step, 2, f"step {step}")
    return "done"


@tool
async def forever() -> str:
    """Never end."""
    RUNNING.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        CANCELLED.set()
        raise
    return "never"


TOOLS: list[Tool] = [add, counted, whoami, picture, numbers, fail, noisy, slow, forever]
