"""What becomes of an exception in a tool: who is told, and in which words."""

from __future__ import annotations

from dataclasses import dataclass

from toolsearch.exceptions import ToolCallError
from toolsearch.http.secret_shapes import redacted
from toolsearch.messages import ToolCall, ToolResult

_MAX_MESSAGE = 500


@dataclass(frozen=True)
class ToolFailure:
    """An exception in a tool, in full: for the caller and the trace, never for the model."""

    call: ToolCall
    error: BaseException


@dataclass(frozen=True)
class ErrorPolicy:
    """Which exceptions of a tool the model reads, and which end the run.

    An error whose text is meant for the model (`ToolRetry`, `ToolFailed`, arguments that were not accepted)
    always reaches it as it is. One of `tell` reaches it as its message on one line, without traceback and
    with what looks like a secret taken out. Any other is reported to it in neutral words, which name the
    tool. The caller has every exception in full, in the response's ``metadata["tool_failures"]``.

    ``tell=(Exception,)`` shows the model every message, ``tell=()`` only those meant for it,
    ``rethrow=(Exception,)`` always throws. `KeyboardInterrupt` and the cancellation of the run are no errors
    of a tool and end it in any case; `SystemExit` is one, and so is an `asyncio.CancelledError` that nobody
    asked for.

    Attributes:
        tell: `ValueError` by default: it says what was wrong with the arguments, which the model can mend.
            The text of others tells of the inside of the program: paths, queries, addresses.
        rethrow: Raised to the caller as they are, once the other calls of the answer have finished; wins over
            `tell`. Arguments that were not accepted are never raised: nothing ran.
    """

    tell: tuple[type[Exception], ...] = (ValueError,)
    rethrow: tuple[type[Exception], ...] = ()

    def result(self, tool: str, error: BaseException) -> ToolResult:
        """What the model is told."""
        if isinstance(error, ToolCallError):
            return ToolResult.error(_text_of(error) or f"Tool {tool!r} failed.")
        if isinstance(error, self.tell):
            message = " ".join(redacted(_text_of(error)).split()) or type(error).__name__
            shown = message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}…"
            return ToolResult.error(f"Tool {tool!r} failed: {shown}")
        return ToolResult.error(
            f"Tool {tool!r} failed for a reason that cannot be shown. Go on without it, or say so."
        )


def _text_of(error: BaseException) -> str:
    """What the error says; nothing of one that fails when it is asked."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is somebody's code, and one bad error must not end the run
        return ""
