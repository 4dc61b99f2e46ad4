"""Where MCP clients keep their configuration, and how each writes a server.

Sources, of 2026: https://code.claude.com/docs/en/mcp, https://modelcontextprotocol.io/docs/develop/connect-local-servers,
https://cursor.com/docs/context/mcp, https://code.visualstudio.com/docs/agents/reference/mcp-configuration,
https://docs.windsurf.com/windsurf/cascade/mcp, https://zed.dev/docs/ai/mcp, https://geminicli.com/docs/tools/mcp-server.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from toolsearch.sources.settings_folder import settings_folder
from toolsearch.tools import JsonObject

ClientName: TypeAlias = Literal[
    "claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "zed", "gemini-cli", "lm-studio"
]


@dataclass(frozen=True)
class ClientFile:
    """The configuration of one client.

    Attributes:
        client: Its name.
        path: The file; it need not be there.
        key: Of the object of servers in it.
        restart: What people have to do for a change to count.
    """

    client: ClientName
    path: Path
    key: str
    restart: str

    def entry(self, command: str, args: list[str]) -> JsonObject:
        """A server that is started so, as the client writes it."""
        kind = {"type": "stdio"} if self.client in {"vscode", "claude-code"} else {}
        return {**kind, "command": command, "args": args}


def client_file(client: ClientName, *, home: Path | None = None, platform: str = sys.platform) -> ClientFile:
    """The file in which a client keeps the servers of a user, for all projects.

    `home` is for another user than the one who runs this.
    """
    settings = settings_folder(home, platform)
    base = Path.home() if home is None else home
    again = "Restart {} for it to count."
    match client:
        case "claude-desktop":
            path = settings / "Claude" / "claude_desktop_config.json"
            return ClientFile(client, path, "mcpServers", again.format("Claude Desktop"))
        case "claude-code":
            return ClientFile(
                client, base / ".claude.json", "mcpServers", "It counts for sessions that begin from now on."
            )
        case "cursor":
            return ClientFile(client, base / ".cursor" / "mcp.json", "mcpServers", again.format("Cursor"))
        case "vscode":
            path = settings / "Code" / "User" / "mcp.json"
            return ClientFile(client, path, "servers", "Start it with 'MCP: List Servers' in VS Code.")
        case "windsurf":
            path = base / ".codeium" / "windsurf" / "mcp_config.json"
            return ClientFile(client, path, "mcpServers", again.format("Windsurf"))
        case "zed":
            path = (
                settings / "Zed" if platform == "win32" else _zed(base, settings, platform)
            ) / "settings.json"
            return ClientFile(client, path, "context_servers", "Zed starts it by itself.")
        case "gemini-cli":
            return ClientFile(
                client, base / ".gemini" / "settings.json", "mcpServers", again.format("Gemini CLI")
            )
        case "lm-studio":
            return ClientFile(
                client, base / ".lmstudio" / "mcp.json", "mcpServers", "LM Studio reads it by itself."
            )


def _zed(base: Path, settings: Path, platform: str) -> Path:
    return (base / ".config" if platform == "darwin" else settings) / "zed"


def taken_over(entry: Any, client: ClientName) -> JsonObject | str:
    """An entry of a client as this package reads it, or why it must stay where it is."""
    if not isinstance(entry, dict):
        return "it is no object"
    if isinstance(entry.get("command"), dict):
        # Zed wrote it so until 2025.
        inner = entry["command"]
        entry = {**entry, **{key: inner[key] for key in ("args", "env") if key in inner}}
        entry["command"] = inner.get("path")
    url = entry.get("url") or entry.get("serverUrl") or entry.get("httpUrl")
    if not entry.get("command") and not url:
        return "it has no command and no url, so only the client knows how to start it"
    kept = {key: entry[key] for key in _KEPT if entry.get(key)}
    if url:
        kept["url"] = url
    if entry.get("httpUrl"):
        kept["type"] = "http"
    if entry.get("enabled") is False:
        kept["disabled"] = True
    told: JsonObject = _translated(kept, bare=client == "gemini-cli")
    foreign = next(
        (found for text in _texts(told) for found in _REFERENCE.findall(text) if _is_foreign(found)), ""
    )
    return f"it uses {foreign}, which only the client knows" if foreign else told


_KEPT = ("type", "command", "args", "env", "cwd", "headers", "disabled", "toolsearch")
_REFERENCE = re.compile(r"\$\{[^}]*\}")
_OURS = re.compile(r"\$\{[A-Za-z_]\w*(?::-[^}]*)?\}")
_OF_ENVIRONMENT = re.compile(r"\$\{env:([A-Za-z_]\w*)\}")
_BARE = re.compile(r"\$([A-Za-z_]\w*)")
_OF_CLIENTS = ("workspaceFolder", "workspaceFolderBasename", "pathSeparator", "CLAUDE_PROJECT_DIR")


def _is_foreign(reference: str) -> bool:
    return not _OURS.fullmatch(reference) or reference[2:-1] in _OF_CLIENTS


def _translated(value: Any, *, bare: bool) -> Any:
    """With ``${NAME}`` for ``${env:NAME}`` and, if `bare`, for ``$NAME``; and the home folder by its path."""
    if isinstance(value, str):
        text = _OF_ENVIRONMENT.sub(r"${\1}", value).replace("${userHome}", os.fspath(Path.home()))
        return _BARE.sub(r"${\1}", text) if bare else text
    if isinstance(value, list):
        return [_translated(each, bare=bare) for each in value]
    if isinstance(value, Mapping):
        return {key: _translated(each, bare=bare) for key, each in value.items()}
    return value


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = list(value.values()) if isinstance(value, Mapping) else value
    return [text for each in parts for text in _texts(each)] if isinstance(parts, list) else []
