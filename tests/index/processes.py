"""Child processes for the tests of the index: they start in milliseconds, and where fork is not safe too."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

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


def keep_reading(read: Callable[[Path], object], path: Path, reads: Connection) -> None:
    """Read again and again, and tell of each time; until there is nobody to tell."""
    try:
        while True:
            reads.send(read(path))
    except BrokenPipeError:
        return


def read_while_writing(
    read: Callable[[Path], object], path: Path, write: Callable[[], object]
) -> list[object]:
    """What three processes read at `path`, each ten times, while this one writes without a pause."""
    receivers, readers = [], []
    for _ in range(3):
        receiver, sender = processes.Pipe(duplex=False)
        readers.append(processes.Process(target=keep_reading, args=(read, path, sender)))
        readers[-1].start()
        sender.close()
        receivers.append(receiver)
    found: list[list[object]] = [[], [], []]
    try:
        while min(map(len, found)) < 10:
            write()
            for receiver, results in zip(receivers, found, strict=True):
                while receiver.poll():
                    # A reader that failed has closed its end, which is an EOFError here.
                    results.append(receiver.recv())
    finally:
        for receiver, reader in zip(receivers, readers, strict=True):
            receiver.close()
            reader.join()
    return [result for results in found for result in results]
