"""Follows the console blocks of a page as a reader does, and compares what they print."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8400"
START_S = 120
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SET_UP = re.compile(r"pip install|python3 -m venv|\. \.venv|cd ")


@dataclass(frozen=True)
class Example:
    """A command, and what the page shows of its output; ``…`` stands for anything."""

    command: str
    shown: str

    @property
    def is_set_up(self) -> bool:
        return _SET_UP.match(self.command) is not None


def examples(page: Path) -> list[Example]:
    """What the console blocks of a page show, in their order."""
    blocks = "\n".join(_BLOCK.findall(page.read_text(encoding="utf-8")))
    parts = re.split(r"^\$ ", blocks.replace("\\\n", " "), flags=re.MULTILINE)
    return [Example(*(part.strip() for part in text.partition("\n")[::2])) for text in parts if text.strip()]


def matches(shown: str, printed: str) -> bool:
    """Whether what was printed is what the page shows, line by line."""
    pattern = r"\s*\n\s*".join(
        r"[^\n]*".join(re.escape(part.strip()) + r"\s*" for part in line.split("…"))
        for line in shown.splitlines()
    )
    return re.fullmatch(pattern, printed.replace("\\n", " ").strip()) is not None


@dataclass
class Console:
    """A folder that looks like a checkout, and a terminal in it."""

    folder: Path
    environment: dict[str, str]
    url: str = ""
    services: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def of(cls, page: Path, folder: Path) -> Console:
        (folder / "indexes").symlink_to(ROOT / "indexes")
        for name, text in _FILE.findall(page.read_text(encoding="utf-8")):
            (folder / name).write_text(text, encoding="utf-8")
        programs = folder / "bin"
        programs.mkdir()
        for name, command in (("python", ""), ("toolsearch", "-m toolsearch")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
            (programs / name).chmod(0o755)
        environment = os.environ | {
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}",
            "TOOLSEARCH_CACHE_DIR": str(folder / "cache"),
            "COLUMNS": "120",
        }
        return cls(folder, environment)

    def follow(self, example: Example) -> str:
        """What a command prints; of a service, up to where it is."""
        if example.is_set_up:
            return example.shown
        if example.command.startswith("toolsearch serve"):
            return self._serve(example.command)
        if assigned := re.match(r"(\w+)=", example.command):
            name = assigned[1]
            self.environment[name] = self._run(f'{example.command}; printf %s "${name}"')
            assert self.environment[name], example.command
            return ""
        return self._run(example.command.replace(ADDRESS, self.url))

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout

    def _serve(self, command: str) -> str:
        self.stop()
        port = free_port()
        service = subprocess.Popen(
            ["bash", "-c", f"exec {command} --port {port}"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.services.append(service)
        assert service.stdout is not None
        said = ""
        for line in service.stdout:
            said += line
            if line.startswith("Serving "):
                break
        self.url = f"http://127.0.0.1:{port}"
        assert any(self._is_ready(service) for _ in range(START_S * 10)), f"{command}\n{said}"
        return said.replace(self.url, ADDRESS)

    def _is_ready(self, service: subprocess.Popen[str]) -> bool:
        try:
            if httpx.get(f"{self.url}/readyz", timeout=5).status_code == httpx.codes.OK:
                return True
        except httpx.TransportError:
            assert service.poll() is None
        time.sleep(0.1)
        return False

    def stop(self) -> None:
        while self.services:
            service = self.services.pop()
            service.terminate()
            service.communicate(timeout=60)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
