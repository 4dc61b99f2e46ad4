"""Where the servers are, and how each is started."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from toolsearch.tools import JsonObject

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".real-servers"
PYTHON = FOLDER / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
NODE_MODULES = FOLDER / "node_modules"
OPENAPI_DOCUMENT = NODE_MODULES / "@octokit" / "openapi" / "generated" / "api.github.com.json"

ADVICE = "run: python -m tests.real_servers install"


def of_npm(name: str, *args: str, **more: object) -> JsonObject:
    """The configuration of a reference server from npm; skips the test where it is not installed."""
    program = NODE_MODULES / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    if not program.is_file():
        pytest.skip(f"the reference servers of npm are not installed; {ADVICE}")
    if shutil.which("node") is None:
        pytest.skip("there is no node, which the reference servers of npm need")
    return {"command": "node", "args": [str(program), *args], **more}


def of_pypi(module: str, *args: str, **more: object) -> JsonObject:
    """The configuration of a server that a Python module is; skips the test where it is not installed."""
    if not PYTHON.exists():
        pytest.skip(f"the reference servers of PyPI are not installed; {ADVICE}")
    return {"command": str(PYTHON), "args": ["-m", module, *args], **more}
