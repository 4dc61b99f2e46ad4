"""What is said where a server cannot listen."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from toolsearch.cli.errors import ExitCode
from toolsearch.cli.output import say


@contextmanager
def telling_what_is_taken(host: str, port: int, option: str) -> Iterator[None]:
    """Ends the command in one line where uvicorn, run within, cannot listen; `option` sets the port."""
    found: list[OSError] = []

    def note(record: logging.LogRecord) -> bool:
        if not isinstance(record.msg, OSError):
            return True
        found.append(record.msg)
        return False

    logger = logging.getLogger("uvicorn.error")
    logger.addFilter(note)
    try:
        yield
    except SystemExit:
        # How uvicorn ends where it could not begin; of anything but the address it has said why.
        for exc in found:
            why = os.strerror(exc.errno) if exc.errno and exc.errno > 0 else str(exc)
            say(f"Error: Cannot listen at {host} on port {port}: {why}. Choose another: {option}")
        raise typer.Exit(ExitCode.FAILED) from None
    finally:
        logger.removeFilter(note)
