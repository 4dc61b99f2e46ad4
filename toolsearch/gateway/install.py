"""A gateway in the configuration of a client: first a plan that can be shown, then what is in the files."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from toolsearch.exceptions import McpConfigError
from toolsearch.gateway.client_files import ClientFile, taken_over
from toolsearch.gateway.commented_json import changed_json, plain_json
from toolsearch.gateway.sources import starts_gateway
from toolsearch.sources.config_file import content_of, replace_file
from toolsearch.sources.json_members import with_member, without_member
from toolsearch.sources.mcp.config import SERVERS_KEYS, read_mcp_config
from toolsearch.tools import JsonObject

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class FileChange:
    """What becomes of one file.

    Attributes:
        path: The file.
        before: What is in it; None where there is none.
        after: What will be.
    """

    path: Path
    before: bytes | None
    after: bytes

    def apply(self) -> Path | None:
        """Writes the file in one step, and gives the copy that was made of what was there.

        Raises:
            McpConfigError: it was changed since the plan was made.
            OSError: it cannot be written; what was there still is.
        """
        backup = None if self.before is None else _backup(self.path)
        replace_file(self.path, self.after, before=self.before)
        return backup


@dataclass(frozen=True)
class InstallPlan:
    """What is to be written, and nothing of it is.

    Attributes:
        changes: In the order of writing; none where everything is so already.
        taken: Servers that the gateway takes over from the client.
        left: Servers that stay in the client, and why.
        unsigned: Of those that are taken, the ones that are reached by a URL without any credential: if the
            client has signed in there, the gateway has not.
    """

    changes: tuple[FileChange, ...]
    taken: tuple[str, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    unsigned: tuple[str, ...] = ()


def plan_install(
    client: ClientFile,
    config: Path,
    sources: Sequence[str] = (),
    *,
    name: str = "toolsearch",
    options: Sequence[str] = (),
    take_over: bool = False,
    keep: Collection[str] = (),
) -> InstallPlan:
    """How a gateway comes into the configuration of a client.

    Args:
        client: The configuration of the client.
        config: Where the servers are kept that the gateway takes over.
        sources: Further sources of the gateway.
        name: Of the gateway in the client.
        options: Of the command, such as ``--mode``.
        take_over: Whether it takes over the servers that the client has.
        keep: Those that it does not.

    Raises:
        McpConfigError: a file cannot be read, the name is taken by another server, or the gateway would have
            no source.
    """
    text, before = _read(client.path)
    servers = _servers(text, client.key, client.path)
    ours = {each for each, entry in servers.items() if _is_gateway(entry)}
    if name in servers and name not in ours and (not take_over or name in keep):
        raise McpConfigError(
            "there is another server of this name. Give the gateway another one.",
            server=name,
            path=client.path,
        )
    taken: dict[str, JsonObject] = {}
    left: dict[str, str] = {}
    changes: list[FileChange] = []
    if take_over:
        there, before_there = _read(config)
        key = next((key for key in SERVERS_KEYS if key in _parsed(there, config)), SERVERS_KEYS[0])
        known = _servers(there, key, config)
        for each in servers.keys() - ours - set(keep):
            found = _usable(each, taken_over(servers[each], client.client), known)
            if isinstance(found, str):
                left[each] = found
            else:
                taken[each] = found
        taken = {each: taken[each] for each in servers if each in taken}
        for each, entry in taken.items():
            if known.get(each) != entry:
                there = changed_json(there, partial(with_member, keys=(key, each), value=entry))
        if name in left:
            raise McpConfigError(
                f"it has the gateway's name, and {left[name]}.", server=name, path=client.path
            )
        if taken:
            changes.append(FileChange(config, before_there, _encoded(there, before_there)))
        for each in taken:
            text = changed_json(text, partial(without_member, keys=(client.key, each)))
    located = [*map(_absolute, sources)]
    if taken or not located:
        located.append(os.fspath(config.absolute()))
    if not sources and not taken and content_of(config) is None:
        raise McpConfigError(
            f"the gateway would have no source. Give one, take over those of the client (--import), or write "
            f"{config}."
        )
    entry = client.entry(*_command([*located, *options]))
    text = changed_json(text, partial(with_member, keys=(client.key, name), value=entry))
    changes.append(FileChange(client.path, before, _encoded(text, before)))
    return InstallPlan(
        tuple(change for change in changes if change.before != change.after),
        tuple(taken),
        left,
        tuple(each for each, found in taken.items() if "url" in found and "headers" not in found),
    )


def _usable(name: str, found: JsonObject | str, known: JsonObject) -> JsonObject | str:
    """The entry, or why it must stay in the client."""
    if isinstance(found, str):
        return found
    try:
        read_mcp_config({"mcpServers": {name: found}})
    except McpConfigError as exc:
        return exc.reason.rstrip(".")
    if known.get(name, found) != found:
        return "the gateway has another server of this name"
    return found


def _command(arguments: list[str]) -> tuple[str, list[str]]:
    """What starts a gateway, by absolute paths: clients do not know the search path of a shell."""
    script = Path(sys.executable).with_name("toolsearch.exe" if os.name == "nt" else "toolsearch")
    if script.exists():
        return os.fspath(script), ["gateway", *arguments]
    return sys.executable, ["-m", "toolsearch", "gateway", *arguments]


def _is_gateway(entry: Any) -> bool:
    args = entry.get("args") if isinstance(entry, dict) else None
    return isinstance(args, list) and starts_gateway(str(entry.get("command")), [str(each) for each in args])


def _read(path: Path) -> tuple[str, bytes | None]:
    """The text of a file, an empty object where there is none, and what is in it."""
    content = content_of(path)
    if content is None or not content.strip():
        return "{}\n", content
    try:
        return content.removeprefix(_BOM).decode(), content
    except UnicodeDecodeError as exc:
        raise McpConfigError("it is not UTF-8.", path=path) from exc


def _encoded(text: str, before: bytes | None) -> bytes:
    return (_BOM if before is not None and before.startswith(_BOM) else b"") + text.encode()


def _parsed(text: str, path: Path) -> JsonObject:
    try:
        value = json.loads(plain_json(text))
    except (ValueError, RecursionError) as exc:
        line = f" (line {exc.lineno}: {exc.msg})" if isinstance(exc, json.JSONDecodeError) else ""
        raise McpConfigError(f"it is no JSON{line}. Mend it first.", path=path) from exc
    if not isinstance(value, dict):
        raise McpConfigError("it is no JSON object.", path=path)
    return value


def _servers(text: str, key: str, path: Path) -> JsonObject:
    servers = _parsed(text, path).get(key, {})
    if not isinstance(servers, dict):
        raise McpConfigError(f"its {key!r} is no object.", path=path)
    return servers


def _absolute(source: str) -> str:
    return source if "://" in source else os.fspath(Path(source).absolute())


def _backup(path: Path) -> Path:
    """A copy beside the file, whose name no other has."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        more = "" if number == 1 else f"-{number}"
        copy = path.with_name(f"{path.name}.{stamp}{more}.backup")
        try:
            with copy.open("xb"):
                break
        except FileExistsError:
            number += 1
    shutil.copy2(path, copy)
    return copy
