"""A client that is FastMCP's: ``python fastmcp_client.py '{"url": ..., "calls": [[NAME, ARGUMENTS], ...]}'``.

In place of ``url`` may stand ``command``, ``args``, ``env`` and ``cwd``. Prints the names of the tools, the
results and the progress as JSON. It runs in an environment of its own, without this package.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


async def used(script: dict[str, Any]) -> dict[str, Any]:
    """What the server offers, and what it answers to each call."""
    if "url" in script:
        transport: Any = StreamableHttpTransport(script["url"], headers=script.get("headers"))
    else:
        transport = StdioTransport(
            script["command"], script["args"], env=script.get("env"), cwd=script.get("cwd")
        )
    progress: list[float] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    results = []
    async with Client(transport, progress_handler=on_progress) as client:
        names = [tool.name for tool in await client.list_tools()]
        for name, arguments in script["calls"]:
            result = await client.call_tool(name, arguments, raise_on_error=False)
            text = "".join(getattr(part, "text", "") for part in result.content)
            results.append(
                {"text": text, "is_error": result.is_error, "structured": result.structured_content}
            )
    return {"tools": names, "results": results, "progress": progress}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(used(json.loads(sys.argv[1])))))
