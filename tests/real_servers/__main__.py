"""Installs the servers into a folder of their own: ``python -m tests.real_servers install``."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.real_servers.installed import FOLDER, PYTHON

HERE = Path(__file__).parent
PINS = ("requirements.txt", "package.json", "package-lock.json")
STAMP = FOLDER / "installed"


def main(arguments: Sequence[str]) -> int:
    """Installs what is pinned, unless it is there already; 0 when it is there in the end."""
    if list(arguments) != ["install"]:
        print("usage: python -m tests.real_servers install", file=sys.stderr)
        return 2
    npm = shutil.which("npm")
    digest = _digest(with_npm=npm is not None)
    if STAMP.is_file() and STAMP.read_text(encoding="utf-8") == digest:
        print(f"{FOLDER.name}: installed already")
        return 0
    started = time.perf_counter()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    running = []
    if npm is None:
        print("There is no npm: the servers from there are left out, and their tests are skipped.")
    else:
        for name in PINS[1:]:
            shutil.copy(HERE / name, FOLDER)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        running.append(subprocess.Popen([npm, "ci", *quiet], cwd=FOLDER))
    venv.create(FOLDER / "venv", with_pip=True)
    pip = (str(PYTHON), "-m", "pip", "install", "-q", "--disable-pip-version-check")
    running.append(subprocess.Popen([*pip, "-r", str(HERE / PINS[0])]))
    failed = [process.args for process in running if process.wait() != 0]
    if failed:
        print(f"failed: {failed}", file=sys.stderr)
        return 1
    STAMP.write_text(digest, encoding="utf-8")
    print(f"{FOLDER.name}: installed in {time.perf_counter() - started:.0f} s")
    return 0


def _digest(*, with_npm: bool) -> str:
    pins = b"".join((HERE / name).read_bytes() for name in PINS)
    return hashlib.sha256(pins + sys.version.encode() + bytes([with_npm])).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
