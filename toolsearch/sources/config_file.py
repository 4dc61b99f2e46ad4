"""`ConfigFile`: a configuration of tool sources on disk, to which entries are added and taken away."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsearch.exceptions import McpConfigError
from toolsearch.sources.json_members import with_member, without_member
from toolsearch.sources.mcp.config import SERVERS_KEYS, read_config
from toolsearch.sources.openapi.config import OPENAPI_KEY

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class ConfigFile:
    """A file of JSON that other programs may read and write too, so all but one entry of it is left as it is.

    Readers see the older file or the new one, whole. A link stays one, and the file keeps its permissions.
    """

    path: Path

    def entries(self) -> dict[str, tuple[str, Any]]:
        """Each source by name, with the key that it stands under; empty where there is no file.

        The file may also be YAML, which is read and not changed.

        Raises:
            McpConfigError: the file cannot be read, or is no JSON object.
        """
        data: Mapping[str, Any] = read_config(self.path) if self.path.exists() else {}
        keys = (self._servers_key(data), OPENAPI_KEY)
        return {
            name: (key, entry)
            for key in keys
            if isinstance(data.get(key), dict)
            for name, entry in data[key].items()
        }

    def add(self, name: str, entry: Mapping[str, Any], *, is_document: bool = False) -> None:
        """Writes a source, in place of one of this name and kind; the file is made if need be.

        Raises:
            McpConfigError: the file cannot be read, is not JSON, or was changed by another meanwhile.
            OSError: it cannot be written; what was there still is.
        """

        def added(text: str, data: Mapping[str, Any]) -> str:
            key = OPENAPI_KEY if is_document else self._servers_key(data)
            if key in data and not isinstance(data[key], dict):
                raise McpConfigError(f"its {key!r} is no object.", path=self.path)
            return with_member(text, (key, name), dict(entry))

        self._change(added)

    def remove(self, name: str) -> None:
        """Takes a source out.

        Raises:
            McpConfigError: as `add`; or there is no such source.
            OSError: as `add`.
        """

        def removed(text: str, data: Mapping[str, Any]) -> str:
            for key in (self._servers_key(data), OPENAPI_KEY):
                if isinstance(data.get(key), dict) and name in data[key]:
                    # A key that was there twice still is, once.
                    while name in self._parsed(text.encode())[key]:
                        text = without_member(text, (key, name))
                    return text
            raise McpConfigError("there is no such source.", server=name, path=self.path)

        self._change(removed)

    def _servers_key(self, data: Mapping[str, Any]) -> str:
        return next((key for key in SERVERS_KEYS if isinstance(data.get(key), dict)), SERVERS_KEYS[0])

    def _change(self, change: Callable[[str, Mapping[str, Any]], str]) -> None:
        content = self._content()
        text = "{}\n" if content is None else self._decoded(content)
        changed = change(text, self._parsed(text.encode())).encode()
        if content is not None and content.startswith(_BOM):
            changed = _BOM + changed
        replace_file(self.path, changed, before=content)

    def _content(self) -> bytes | None:
        return content_of(self.path)

    def _decoded(self, content: bytes) -> str:
        try:
            return content.removeprefix(_BOM).decode()
        except UnicodeDecodeError as exc:
            raise McpConfigError("it is not UTF-8.", path=self.path) from exc

    def _parsed(self, content: bytes) -> dict[str, Any]:
        text = self._decoded(content)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as exc:
            line = f" (line {exc.lineno}: {exc.msg})" if isinstance(exc, json.JSONDecodeError) else ""
            raise McpConfigError(
                f"it is no JSON{line}, so nothing can be added to it or taken out. Edit it by hand.",
                path=self.path,
            ) from exc
        if not isinstance(value, dict):
            raise McpConfigError("it is no JSON object.", path=self.path)
        return value


def content_of(path: Path) -> bytes | None:
    """What is in a file; None where there is none.

    Raises:
        McpConfigError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise McpConfigError(f"cannot be read: {exc.strerror or exc}.", path=path) from exc


def replace_file(path: Path, content: bytes, *, before: bytes | None) -> None:
    """Puts `content` into a file that holds `before`, in one step; None is that it is not there.

    A link stays one, the file keeps its permissions, and a new one is for its owner alone.

    Raises:
        McpConfigError: it holds something else by now, or cannot be read.
        OSError: it cannot be written; what was there still is.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            written.chmod(target.stat().st_mode & 0o7777)
        _check_unchanged(path, before)
        written.replace(target)
    except BaseException:
        with suppress(OSError):
            written.unlink(missing_ok=True)
        raise


def _check_unchanged(path: Path, before: bytes | None) -> None:
    if content_of(path) != before:
        raise McpConfigError("another program changed it meanwhile. Try again.", path=path)
