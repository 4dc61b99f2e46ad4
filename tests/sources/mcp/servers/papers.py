"""A server of resources and prompts: ``python -m tests.sources.mcp.servers.papers``."""

import os
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

server = MCPServer("papers")


@server.tool()
def read_paper(name: str) -> str:
    """Read a paper."""
    return name


@server.resource("shop://terms")
def terms() -> str:
    """The terms of the shop."""
    return "No refunds after 30 days."


@server.resource("shop://orders/{number}")
def order(number: str) -> str:
    """An order."""
    return f"order {number}"


@server.prompt()
def apology(customer: str) -> str:
    """An apology to a customer."""
    return f"Apologise to {customer}."


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    known = ["Ann", "Amir", "Bo"] if isinstance(ref, PromptReference) else ["17", "18", "4"]
    return Completion(values=[value for value in known if value.startswith(argument.value)])


if __name__ == "__main__":
    if "STARTED" in os.environ:
        mark = Path(os.environ["STARTED"])
        mark.write_text(str(int(mark.read_text()) + 1 if mark.exists() else 1))
    server.run("stdio")
