"""`LogObserver`: runs in the log, without a word of what was said in them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.exceptions import ToolCallError
from toolsearch.messages import ToolResult
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, RunObserver, Within

_log = logging.getLogger("toolsearch")


class LogObserver:
    """Writes a DEBUG line to the logger ``toolsearch`` at the end of each round, call and run.

    A call whose tool raised what is not meant for the model is a WARNING: else only the response's
    ``metadata["tool_failures"]`` would tell of it.

    They tell names, ids, numbers and kinds of errors; no message, argument, result, query or key.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Seconds are those of `clock`."""
        self._clock = clock

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        if not _log.isEnabledFor(logging.WARNING):
            yield RunObserver()
            return
        session = seen.request.context.get("session_id", "")
        started = self._clock()
        error = ""
        try:
            yield _RunLog(self._clock, session)
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            response = seen.response
            _log.debug(
                "run of session %r with %s: %s, %s rounds, %.3f s",
                session,
                seen.model_id,
                error or (response.finish_reason if response else "left"),
                response.metadata.get("rounds", 1) if response else "?",
                self._clock() - started,
            )


class _RunLog(RunObserver):
    def __init__(self, clock: Callable[[], float], session: str) -> None:
        self._clock = clock
        self._session = session

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        started = self._clock()
        error = ""
        try:
            yield nullcontext
        except BaseException as exc:
            error = type(exc).__name__
            raise
        finally:
            response = seen.response
            usage = response.usage if response else None
            _log.debug(
                "round %d of session %r: %d tools offered, %s, calls of %s, tokens %s, %.3f s",
                seen.number,
                self._session,
                len(seen.request.tools),
                error or (response.finish_reason if response else "left"),
                [call.name for call in response.message.tool_calls] if response else [],
                f"{usage.input_tokens} in ({usage.cached_tokens} cached), {usage.output_tokens} out"
                if usage
                else "?",
                self._clock() - started,
            )

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        started = self._clock()
        ending, level = "left", logging.DEBUG
        try:
            yield
            result = seen.result
            ending = "error result" if isinstance(result, ToolResult) and result.is_error else "done"
        except BaseException as exc:
            ending = type(exc).__name__
            if isinstance(exc, Exception) and not isinstance(exc, ToolCallError):
                level = logging.WARNING
            raise
        finally:
            _log.log(
                level,
                "call %s of %s in session %r: %s, %.3f s%s",
                seen.context.call_id,
                seen.tool.name,
                self._session,
                ending,
                self._clock() - started,
                _found(seen),
            )


def _found(seen: ObservedCall) -> str:
    if seen.tool.name != SEARCH_TOOL or not isinstance(seen.result, ToolResult):
        return ""
    return f", found {list(seen.result.discovered)}"
