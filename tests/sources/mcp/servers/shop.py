"""A server written with the SDK: ``python -m tests.sources.mcp.servers.shop``."""

from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("shop", instructions="Ask for orders first.")


@server.tool()
def refund_order(order: str, amount: float = 0.0) -> str:
    """Pay money of an order back to the customer."""
    return f"refunded {amount:g} of {order}"


@server.tool(name="orders.find")
def orders_find(customer: str) -> dict[str, Any]:
    """Find the orders of a customer."""
    return {"customer": customer, "orders": ["A-17", "B-4"]}


@server.tool()
def fail(reason: str) -> str:
    """Fail for a reason."""
    raise ValueError(reason)


@server.tool()
async def count_slowly(steps: int, context: Context) -> str:
    """Count up to a number and tell of the progress."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"step {step + 1}")
    return f"counted to {steps}"


@server.tool()
def what_is_told(context: Context) -> str:
    """Say what the client told beside the arguments."""
    meta = context.request_context.meta
    return str((dict(meta) if meta else {}).get("toolsearch/context"))


@server.resource("shop://terms")
def terms() -> str:
    """The terms of the shop."""
    return "No refunds after 30 days."


@server.prompt()
def apology(customer: str) -> str:
    """An apology to a customer."""
    return f"Apologise to {customer}."


if __name__ == "__main__":
    server.run("stdio")
