"""`SavedDefinitions`: what servers listed when they last ran, so that they need not run to be searched."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from toolsearch.sources.mcp.config import McpServerConfig

_FORMAT = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


class SavedDefinitions:
    """A folder with a JSON file a server. Each counts only for the command or url that it was taken from."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def path_of(self, config: McpServerConfig) -> Path:
        """The file of a server, named after it and what it connects to."""
        return self.folder / f"{_UNSAFE.sub('_', config.name)[:60]}-{config.digest[:16]}.json"

    def load(self, config: McpServerConfig) -> list[Any] | None:
        """The tools as the server wrote them; None where they are not known, or cannot be read."""
        try:
            data = json.loads(self.path_of(config).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        is_ours = (
            isinstance(data, dict) and data.get("format") == _FORMAT and data.get("server") == config.name
        )
        tools = data.get("tools") if is_ours and data.get("digest") == config.digest else None
        return tools if isinstance(tools, list) else None

    def store(self, config: McpServerConfig, tools: list[Any]) -> None:
        """Keeps the tools of a server; readers see the older file or the new one, whole.

        Raises:
            OSError: the folder cannot be written.
        """
        data = {"format": _FORMAT, "server": config.name, "digest": config.digest, "tools": tools}
        text = json.dumps(data, ensure_ascii=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(self.path_of(config))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
