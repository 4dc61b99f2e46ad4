"""A peer in its own environment: ``python -m benchmarks.peers.worker MODULE PACKAGE ...``.

Speaks `benchmarks.peers.protocol` on standard input and output for the ``build(tools, k, embed)`` of the
module, and says the versions of the packages.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from typing import IO, Any

from benchmarks.peers.protocol import EmbedAs, PeerTool, Search, decode_vectors, write_message


def main(module: str, packages: Sequence[str]) -> int:
    """Answer until standard input ends."""
    # What a peer prints must not end up between the lines of the protocol.
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    build = importlib.import_module(module).build
    versions = {package: importlib.metadata.version(package) for package in packages}
    write_message(out, {"versions": {"python": platform.python_version(), **versions}})
    search: Search | None = None
    embed = _Asking(sys.stdin, out)
    for line in sys.stdin:
        message = json.loads(line)
        started, cpu = time.perf_counter(), time.process_time()
        try:
            if "tools" in message:
                search = build([PeerTool(**tool) for tool in message["tools"]], message["k"], embed)
                answer: dict[str, Any] = {"ready_s": time.perf_counter() - started}
            elif search is None:
                answer = {"error": "A query came before any tools."}
            else:
                names = search(message["query"])
                answer = {
                    "names": names,
                    "ms": (time.perf_counter() - started) * 1000,
                    "cpu_ms": (time.process_time() - cpu) * 1000,
                }
        except Exception as exc:  # noqa: BLE001 the run decides what a failing peer means
            answer = {"error": f"{type(exc).__name__}: {exc}"}
        write_message(out, answer)
    return 0


class _Asking:
    """`Embed` that asks the run."""

    def __init__(self, answers: IO[str], questions: IO[str]) -> None:
        self._answers = answers
        self._questions = questions

    def __call__(self, texts: Sequence[str], embed_as: EmbedAs) -> list[list[float]]:
        write_message(self._questions, {"embed": list(texts), "as": embed_as})
        return decode_vectors(json.loads(self._answers.readline()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
