"""Why a database cannot be connected to, in words that repeat nothing of its address or of what it says."""

from __future__ import annotations

import logging
from typing import NamedTuple

POOL = "toolsearch"
"""The name of our pools of connections."""


class Cause(NamedTuple):
    """What is wrong, and what to do about it."""

    reason: str
    remedy: str


# libpq tells these apart by its words alone: no server has answered with a state yet.
_CAUSES = (
    ("connection refused", Cause("refuses connections", "Is it running? Look at the host and the port.")),
    ("resolve host", Cause("is on a host that is not known", "Look at the host.")),
    ("translate host name", Cause("is on a host that is not known", "Look at the host.")),
    ("no such file or directory", Cause("has no socket there", "Is it running? Look at the host.")),
    ("password authentication failed", Cause("takes no such user or password", "Look at both.")),
    ("no password supplied", Cause("wants a password", "Put it into PGPASSWORD.")),
    ("no pg_hba.conf entry", Cause("lets nobody in from here", "Allow it in its pg_hba.conf.")),
    ("too many clients", Cause("has no free connection", "Try again in a moment.")),
    ("remaining connection slots", Cause("has no free connection", "Try again in a moment.")),
    ("starting up", Cause("is starting", "Try again in a moment.")),
)
_ITS_NAME = Cause("does not exist on its server", "Look at the name, or make it: createdb NAME")
_ITS_ROLE = Cause("knows no such user", "Look at the user.")


def cause_of(error: BaseException | None) -> Cause | None:
    """Why no connection could be made; None where that is not known, or took too long."""
    said = str(error or "").lower()
    for words, cause in _CAUSES:
        if words in said:
            return cause
    if "does not exist" in said:
        return _ITS_ROLE if "role " in said else _ITS_NAME
    return None


def keep_pools_quiet() -> None:
    """Have the pool log no failure of ours: it names the host, which may be part of a mistyped password.

    Whoever asked is told by an exception.
    """
    logging.getLogger("psycopg.pool").addFilter(_is_of_others)


def _is_of_others(record: logging.LogRecord) -> bool:
    return not (
        record.levelno >= logging.WARNING and isinstance(record.args, tuple) and POOL in record.args[:1]
    )
