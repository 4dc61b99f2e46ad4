"""Processes that serve over HTTP on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from tests.sources.mcp.support import until
from toolsearch.tools import JsonObject


@contextmanager
def running(entry: JsonObject, *args: str, env: Mapping[str, str] | None = None, port: int) -> Iterator[int]:
    """The port at which what the configuration starts listens, with more arguments; ended afterwards."""
    command: Sequence[str] = [shutil.which(entry["command"]) or entry["command"], *entry["args"], *args]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, env={**os.environ, **(env or {})}, stdout=said, stderr=said, stdin=subprocess.DEVNULL
        )
        try:
            until(lambda: process.poll() is not None or _listens(port), within_s=60)
            said.seek(0)
            assert process.poll() is None, said.read().decode(errors="replace")
            yield port
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _listens(port: int) -> bool:
    # Servers of Node listen at ::, which takes connections to 127.0.0.1 too.
    with socket.socket() as asking:
        asking.settimeout(1)
        return asking.connect_ex(("127.0.0.1", port)) == 0
