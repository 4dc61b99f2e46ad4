"""What to do about a server that cannot be started or reached, by why it cannot."""

from __future__ import annotations

import re

from toolsearch.sources.mcp.config import McpServerConfig
from toolsearch.sources.mcp.shown_command import shown_command

_PROGRAMS = {
    "npx": "Install Node.js, which brings npx.",
    "npm": "Install Node.js, which brings npm.",
    "node": "Install Node.js.",
    "uvx": "Install uv, which brings uvx.",
    "uv": "Install uv.",
    "docker": "Install Docker.",
}
_HINTS = (
    (
        r"answered 401",
        'Give it what it asks for: "headers": {"Authorization": "Bearer ${TOKEN}"}, with TOKEN in the '
        'environment, or "oauth" under "toolsearch".',
    ),
    (r"answered 403", "Use credentials that may do this: those that were sent may not."),
    (r"answered 40[45]", 'Check the path of its url, often /mcp; one that ends in /sse needs "type": "sse".'),
    (r"answered 429", "Wait a little, and check again."),
    (r"HTTP status 5\d\d", "It fails by itself: look into its own log."),
    (
        r"certificate",
        "Let the system trust the authority of its certificate, or correct the host of its url.",
    ),
    (r"neither http nor https", "Begin its url with https:// or http://."),
    (r"cannot be reached", "Check that it is running, and the host and port of its url."),
)
_IN_TIME = re.compile(r"within [\d.]+ s")


def hint(config: McpServerConfig, reason: str) -> str:
    """A sentence for people; empty where the reason says it all.

    `reason` is that of the `McpError`, without the name of the server.
    """
    missing = re.search(r"there is no '([^']+)'", reason)
    if missing:
        program = missing[1].rpartition("/")[2]
        return _PROGRAMS.get(program, "Give the whole path of a program that is there.")
    if config.command and _IN_TIME.search(reason):
        return (
            "A first start may download the server: run it once by hand, or raise connect_timeout_s under "
            f'"toolsearch". {_by_hand(config)}'
        )
    if config.command:
        return _by_hand(config)
    if _IN_TIME.search(reason):
        return 'Check that it is an MCP server, or raise connect_timeout_s under "toolsearch".'
    return next((text for pattern, text in _HINTS if re.search(pattern, reason)), "")


def _by_hand(config: McpServerConfig) -> str:
    # As it is written, so that no value of a variable is shown.
    return f"To see what it says, run: {shown_command(config.command, config.args)}"
