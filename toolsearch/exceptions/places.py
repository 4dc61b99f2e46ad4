"""`place_of`: what a log may say of an error that anybody's code raised."""

from __future__ import annotations

import traceback

_FRAMES = 6


def place_of(error: BaseException) -> str:
    """The type of `error` and the six innermost places that it came through, innermost first.

    Not its message, which may repeat a query, the arguments of a tool or what a tool gave back.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = " < ".join(f"{frame.name} ({frame.filename}:{frame.lineno})" for frame in reversed(frames))
    return f"{type(error).__name__} in {where}" if where else type(error).__name__
