"""A server written with FastMCP: ``python orders.py`` over stdio, ``python orders.py http PORT``.

It runs in an environment of its own, without this package.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError


@dataclass
class Order:
    """An order of the shop."""

    number: int
    customer: str
    is_paid: bool


def find_order(number: int) -> Order:
    """Find an order by its number."""
    return Order(number, "Ann", is_paid=True)


def refund_order(number: int, reason: str = "") -> str:
    """Pay the money of an order back to the customer."""
    if number == 0:
        raise ToolError("There is no order 0.")
    return f"refunded {number} {reason}".rstrip()


async def pack_orders(numbers: list[int], context: Context) -> str:
    """Pack several orders, one after the other."""
    for done, number in enumerate(numbers, start=1):
        await context.report_progress(done, len(numbers), f"packed {number}")
    return f"packed {len(numbers)}"


def terms() -> str:
    """The terms of the shop."""
    return "No refunds after 30 days."


def apology(customer: str) -> str:
    """An apology to a customer."""
    return f"Apologise to {customer}."


server = FastMCP("orders", instructions="Ask for the number of the order first.")
server.tool(find_order, annotations={"readOnlyHint": True})
server.tool(refund_order, tags={"money"})
server.tool(pack_orders)
server.resource("orders://terms")(terms)
server.prompt(apology)

if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), show_banner=False)
    else:
        server.run(show_banner=False)
