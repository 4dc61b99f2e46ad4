"""The environments that peers are installed into, one each: their needs conflict."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.data import REPOSITORY
from benchmarks.peers.registry import Peer
from toolsearch.exceptions import EvaluationError

ENVIRONMENTS = REPOSITORY / ".cache" / "benchmarks" / "peers"

_MARK = "installed.txt"


def install(peer: Peer, folder: Path = ENVIRONMENTS) -> bool:
    """Install the peer with pip; False where it is there already.

    Raises:
        EvaluationError: pip failed; says its last line.
    """
    if is_installed(peer, folder):
        return False
    environment = folder / peer.environment
    venv.create(environment, with_pip=True, clear=True)
    done = subprocess.run(
        [_python(environment), "-m", "pip", "install", "--quiet", *peer.requirements],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["pip said nothing"]
        raise EvaluationError(f"{peer.environment} cannot be installed: {lines[-1]}")
    (environment / _MARK).write_text(_listed(peer), encoding="utf-8")
    return True


def is_installed(peer: Peer, folder: Path = ENVIRONMENTS) -> bool:
    """Whether just these requirements were installed."""
    mark = folder / peer.environment / _MARK
    return mark.exists() and mark.read_text(encoding="utf-8") == _listed(peer)


def worker_command(peer: Peer, folder: Path = ENVIRONMENTS) -> list[str]:
    """What starts the peer's worker, from the root of the repository."""
    python = _python(folder / peer.environment)
    return [python, "-m", "benchmarks.peers.worker", peer.module, *peer.packages]


def _python(environment: Path) -> str:
    parts = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
    return str(environment.joinpath(*parts))


def _listed(peer: Peer) -> str:
    return "".join(f"{requirement}{os.linesep}" for requirement in peer.requirements)
