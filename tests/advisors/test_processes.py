"""A run pauses in one process and goes on in others, some of them killed or at once; no call runs twice."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GONE = {name: [f"{name} is gone.", False] for name in "abc"}
UNKNOWN = "It is not known whether this call ran"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


def command(folder: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.advisors.paused_process", str(folder), *arguments]


def start(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(folder, *arguments), cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )


def ran(folder: Path) -> list[str]:
    return (folder / "ran.txt").read_text().split()


@pytest.fixture(scope="module")
def paused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a process has left behind whose run waits for three decisions."""
    folder = tmp_path_factory.mktemp("paused")
    asked = start(folder, "ask")
    assert asked.returncode == 0, asked.stderr
    assert ran(folder) == ["look"]
    return folder


@pytest.fixture
def folder(paused: Path, tmp_path: Path) -> Path:
    return shutil.copytree(paused, tmp_path / "service")


def test_a_new_process_runs_what_waited_and_only_that(folder: Path) -> None:
    resumed = start(folder, "resume")
    assert ran(folder) == ["look", "a", "b", "c", "look"]
    told = json.loads(resumed.stdout)
    assert list(told) == ["s", "l", "a", "b", "c", "z"]
    assert told.items() > {"l": ["A mess.", False], "z": ["A mess.", False], **GONE}.items()
    again = start(folder, "resume")
    assert again.returncode == 1
    assert "PausedRunError: This run was resumed before" in again.stderr
    assert ran(folder) == ["look", "a", "b", "c", "look"]


@pytest.mark.parametrize(
    ("dies", "ran_by_then", "in_doubt"),
    [
        ("noted:a", ["a"], []),  # between two calls of the batch
        ("ran:b", ["a", "b"], ["b"]),  # within the second, after its effect
        ("model", ["a", "b", "c"], []),
        ("ran:z", ["a", "b", "c", "look"], ["z"]),  # in a later round
        ("last", ["a", "b", "c", "look"], []),
    ],
)
def test_a_call_that_ran_in_a_process_that_was_killed_does_not_run_again(
    folder: Path, dies: str, ran_by_then: list[str], in_doubt: list[str]
) -> None:
    """Whoever resumes the run after that says that it is to be taken over."""
    assert start(folder, "resume", dies).returncode == -signal.SIGKILL
    assert ran(folder) == ["look", *ran_by_then]
    resumed = start(folder, "take_over")
    assert ran(folder) == ["look", "a", "b", "c", "look"]
    told = json.loads(resumed.stdout)
    for name in "abcz":
        text, is_error = told[name]
        assert (text.startswith(UNKNOWN), is_error) == ((True, True) if name in in_doubt else (False, False))
        assert name in in_doubt or told[name] == GONE.get(name, ["A mess.", False])


@pytest.mark.parametrize("stops", ["ran:b", "last"])
def test_a_run_that_was_taken_over_from_a_living_process_ends_there(folder: Path, stops: str) -> None:
    with subprocess.Popen(
        command(folder, "stop", stops), cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as first:
        os.waitpid(first.pid, os.WUNTRACED)
        refused = start(folder, "resume")
        taken = start(folder, "take_over")
        first.send_signal(signal.SIGCONT)
        _, told = first.communicate(timeout=120)
    assert "PausedRunError: This run is being resumed already" in refused.stderr
    assert list(json.loads(taken.stdout)) == ["s", "l", "a", "b", "c", "z"]
    assert first.returncode == 1
    assert "PausedRunError: This run was taken over by another resume" in told
    assert ran(folder) == ["look", "a", "b", "c", "look"]
