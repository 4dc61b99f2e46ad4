"""A server as a child process, with which messages are exchanged over its standard input and output.

The SDK has such a transport too. This one reads standard error, sets a limit to a message, passes over what a
server prints between messages, and notices the end of a server whose own children keep its pipes open.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from toolsearch.sources.mcp.child_log import LINE_LENGTH, ChildLog
from toolsearch.sources.mcp.lines import LineSplitter, LongLine
from toolsearch.sources.mcp.wire import message_of

Reader: TypeAlias = MemoryObjectReceiveStream[SessionMessage | Exception]
Writer: TypeAlias = MemoryObjectSendStream[SessionMessage]

EXIT_WAIT_S = 2.0
"""How long a server may take to end once its input is closed, and again once it is told to terminate."""

_DRAIN_S = 0.5
_POLL_S = 0.05
_CHUNK = 65_536

_log = logging.getLogger(__name__)


@asynccontextmanager
async def stdio_streams(
    server: str,
    command: Sequence[str],
    *,
    env: dict[str, str],
    cwd: Path | str | None = None,
    log: ChildLog,
    max_bytes: int,
) -> AsyncIterator[tuple[Reader, Writer]]:
    """The streams of messages of a child process, which has ended when this has.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    process = await anyio.open_process(
        _command(command), env=env, cwd=cwd, start_new_session=sys.platform != "win32"
    )
    # Nothing is awaited before the task group: a cancellation in between would leave the process behind.
    to_session, reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writer, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = _Pipes(
        server, process, log=log, to_session=to_session, from_session=from_session, max_bytes=max_bytes
    )
    async with anyio.create_task_group() as group:
        group.start_soon(pipes.read_output)
        group.start_soon(pipes.read_errors)
        group.start_soon(pipes.write_input)
        group.start_soon(pipes.watch)
        try:
            yield reader, writer
        finally:
            with anyio.CancelScope(shield=True):
                reader.close()
                writer.close()
                await _ended(process)
                to_session.close()
                from_session.close()
            group.cancel_scope.cancel()


class _Pipes:
    """What goes through the pipes of one process; each method is a task."""

    def __init__(
        self,
        server: str,
        process: Process,
        *,
        log: ChildLog,
        to_session: MemoryObjectSendStream[SessionMessage | Exception],
        from_session: MemoryObjectReceiveStream[SessionMessage],
        max_bytes: int,
    ) -> None:
        self._server = server
        self._process = process
        self._log = log
        self._to_session = to_session
        self._from_session = from_session
        self._lines = LineSplitter(max_bytes)
        self._is_read = anyio.Event()

    async def read_output(self) -> None:
        """Passes on every message; what is none is kept with the errors."""
        assert self._process.stdout is not None  # noqa: S101 - it is opened with pipes
        output = self._process.stdout
        try:
            with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                while True:
                    for line in self._lines.feed(await output.receive(_CHUNK)):
                        if not await self._take(line):
                            break
        finally:
            self._is_read.set()
            self._to_session.close()

    async def read_errors(self) -> None:
        assert self._process.stderr is not None  # noqa: S101 - it is opened with pipes
        errors = self._process.stderr
        lines = LineSplitter(LINE_LENGTH)
        with suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            while True:
                for line in lines.feed(await errors.receive(_CHUNK)):
                    self._keep(line)

    async def write_input(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is opened with pipes
        try:
            async for message in self._from_session:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._process.stdin.send(f"{text}\n".encode("utf-8", "replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            # A server that reads no more will answer no more; those who wait are told.
            self._to_session.close()

    async def watch(self) -> None:
        """Ends the reading soon after the process has: a child of its own may hold the pipe open."""
        while self._process.returncode is None:
            await anyio.sleep(_POLL_S)
        with anyio.move_on_after(_DRAIN_S):
            await self._is_read.wait()
        self._to_session.close()

    async def _take(self, line: bytes | LongLine) -> bool:
        """Whether there is still somebody to read messages."""
        message = message_of(line)
        if message is None:
            if line:
                _log.debug("MCP server %r wrote a line to standard output that is no message", self._server)
                self._keep(line)
            return True
        try:
            await self._to_session.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return False
        return True

    def _keep(self, line: bytes | LongLine) -> None:
        data = line.beginning if isinstance(line, LongLine) else line
        self._log.write(data[: 4 * LINE_LENGTH].decode("utf-8", "replace"))


def _command(command: Sequence[str]) -> list[str]:
    if sys.platform == "win32":
        from mcp.os.win32.utilities import get_windows_executable_command

        return [get_windows_executable_command(command[0]), *command[1:]]
    return list(command)


async def _ended(process: Process) -> None:
    """Returns when the process and those that it started are gone: asked, told, and at last killed."""
    assert process.stdin is not None  # noqa: S101 - it is opened with pipes
    with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        await process.stdin.aclose()
    if not await _has_exited(process, EXIT_WAIT_S):
        _signal(process, "SIGTERM")
        if not await _has_exited(process, EXIT_WAIT_S):
            _signal(process, "SIGKILL")
            if not await _has_exited(process, EXIT_WAIT_S):
                _log.warning("process %d of an MCP server does not end, and is left behind", process.pid)
    # Children of a server that ended by itself.
    _signal(process, "SIGKILL")
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stream.aclose()
    _close_transport(process)


async def _has_exited(process: Process, within_s: float) -> bool:
    # Not process.wait(), which also waits for the ends of pipes that others may hold open.
    ends = asyncio.get_running_loop().time() + within_s
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= ends:
            return False
        await anyio.sleep(_POLL_S / 5)
    return True


def _signal(process: Process, name: str) -> None:
    """Sends a signal to the process and all in its group."""
    if sys.platform == "win32":
        if process.returncode is None:
            process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, getattr(signal, name))


def _close_transport(process: Process) -> None:
    """Closes what asyncio keeps open as long as somebody else holds an end of a pipe."""
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()
