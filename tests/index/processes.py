"""Child processes for the tests of the index: they start in milliseconds, and where fork is not safe too."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable

from toolsearch.tokens import count_tokens

if sys.platform == "win32":
    processes = multiprocessing.get_context("spawn")
else:
    # Children of a server that has imported all and started no threads.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload([__name__, "tests.index.test_folder", "tests.index.test_tool_index"])

# The vocabulary takes half a second to load: once for all children.
count_tokens("")


def run(target: Callable[..., None], *args: object) -> int | None:
    """The exit code of a child that calls `target`; minus the signal that killed it."""
    process = processes.Process(target=target, args=args)
    process.start()
    process.join()
    return process.exitcode


STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.scandir", "shutil.rmtree"}


def on_each_step(act: Callable[[], object]) -> None:
    """Call `act` before each request to the file system, from now on to the end of the process."""
    sys.addaudithook(lambda event, _: act() if event in STEPS else None)


def die_at_step(step: int, *, delay_s: float = 0) -> None:
    """Have this process killed at its `step`-th request to the file system, or so long after it."""

    def die() -> None:
        if next(countdown) == 0:
            if delay_s:
                # Nobody handles this signal, so it ends the process like SIGKILL, wherever it is.
                signal.setitimer(signal.ITIMER_REAL, delay_s)
            else:
                os.kill(os.getpid(), signal.SIGKILL)

    countdown = iter(range(step - 1, -(10**9), -1))
    on_each_step(die)
