"""Keeps the SDK from logging what servers answered.

Where it cannot read an answer, it logs parts of it at a level that is shown by default. Whoever asked is told
of that in any case.
"""

from __future__ import annotations

import logging

THREAD = "toolsearch-mcp"
"""The name of the threads of `McpServers`; what is logged in others is none of our business."""

_LOGGERS = (
    "client",
    "mcp.client.sse",
    "mcp.client.streamable_http",
    "mcp.client.subscriptions",
    "mcp.shared.jsonrpc_dispatcher",
)

_log = logging.getLogger(__name__)


def keep_quiet() -> None:
    """From now on what the SDK logs in our threads is a line at the level of debugging, without its data."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_quietly)


def _quietly(record: logging.LogRecord) -> bool:
    if record.threadName != THREAD:
        return True
    _log.debug("%s said something in %s, line %d", record.name, record.filename, record.lineno)
    return False
