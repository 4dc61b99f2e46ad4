"""The streams of messages of a server, by what its configuration says."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2

from toolsearch.sources.mcp.auth import client_credentials
from toolsearch.sources.mcp.child_log import ChildLog
from toolsearch.sources.mcp.config import McpServerConfig, Transport
from toolsearch.sources.mcp.environment import child_environment
from toolsearch.sources.mcp.http import http_streams, sse_streams
from toolsearch.sources.mcp.stdio import stdio_streams


def streams(
    config: McpServerConfig, transport: Transport, *, log: ChildLog, auth: httpx2.Auth | None
) -> AbstractAsyncContextManager[Any]:
    """What opens them; `config` has the values of its variables in it, and `transport` is not ``auto``."""
    settings = config.settings
    if transport == "stdio":
        return stdio_streams(
            config.name,
            (config.command, *config.args),
            env=child_environment(os.environ, config.env, settings.inherit_env),
            cwd=config.cwd or None,
            log=log,
            max_bytes=settings.max_message_bytes,
        )
    if auth is None and settings.oauth:
        auth = client_credentials(config.url, settings.oauth)
    opened = sse_streams if transport == "sse" else http_streams
    return opened(
        config.url,
        headers=config.headers,
        auth=auth,
        connect_timeout_s=settings.connect_timeout_s,
        max_bytes=settings.max_message_bytes,
    )
