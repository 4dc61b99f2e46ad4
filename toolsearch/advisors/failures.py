"""What becomes of an exception in a tool: who is told, and in which words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolsearch.exceptions import ToolCallError
from toolsearch.messages import ToolCall, ToolResult

_MAX_MESSAGE = 500
_HIDDEN = "[hidden]"
_NAMES = r"[\w-]*(?:api[-_ ]?key|secret|token|passw(?:or)?d|credentials?)"
_AFTER_A_SECRET_WORD = re.compile(rf"(?i)\b({_NAMES}['\"]?\s*[:=]\s*)(?:\"[^\"]*\"|'[^']*'|[^\s,;&]+)")
_AUTHORIZATION = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]+")
_IN_A_URL = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_KNOWN_KEYS = re.compile(
    r"\b(?:(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abps])[-_][\w-]{8,}|AKIA[A-Z0-9]{12,}|eyJ[\w-]{8,}\.[\w.-]+)"
)


@dataclass(frozen=True)
class ToolFailure:
    """An exception in a tool, in full: for the caller and the trace, never for the model."""

    call: ToolCall
    error: Exception


@dataclass(frozen=True)
class ErrorPolicy:
    """Which exceptions of a tool the model reads, and which end the run.

    An error whose text is meant for the model (`ToolRetry`, `ToolFailed`, arguments that were not accepted)
    always reaches it as it is. One of `tell` reaches it as its message on one line, without traceback and
    with what looks like a secret taken out. Any other is reported to it in neutral words, which name the
    tool. The caller has every exception in full, in the response's ``metadata["tool_failures"]``.

    ``tell=(Exception,)`` shows the model every message, ``tell=()`` only those meant for it,
    ``rethrow=(Exception,)`` always throws. `asyncio.CancelledError` and `KeyboardInterrupt` are no errors of
    a tool and end the run in any case.

    Attributes:
        tell: `ValueError` by default: it says what was wrong with the arguments, which the model can mend.
            The text of others tells of the inside of the program: paths, queries, addresses.
        rethrow: Raised to the caller as they are, once the other calls of the answer have finished; wins over
            `tell`. Arguments that were not accepted are never raised: nothing ran.
    """

    tell: tuple[type[Exception], ...] = (ValueError,)
    rethrow: tuple[type[Exception], ...] = ()

    def result(self, tool: str, error: Exception) -> ToolResult:
        """What the model is told."""
        if isinstance(error, ToolCallError):
            return ToolResult.error(str(error) or f"Tool {tool!r} failed.")
        if isinstance(error, self.tell):
            message = " ".join(redacted(str(error)).split()) or type(error).__name__
            shown = message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}…"
            return ToolResult.error(f"Tool {tool!r} failed: {shown}")
        return ToolResult.error(
            f"Tool {tool!r} failed for a reason that cannot be shown. Go on without it, or say so."
        )


def redacted(text: str) -> str:
    """`text` without what looks like a secret: keys, passwords and tokens by their usual shapes and names.

    A help against accidents, no guarantee: a secret of no known shape passes.
    """
    text = _AUTHORIZATION.sub(rf"\1 {_HIDDEN}", text)
    text = _AFTER_A_SECRET_WORD.sub(rf"\1{_HIDDEN}", text)
    text = _IN_A_URL.sub(_HIDDEN, text)
    return _KNOWN_KEYS.sub(_HIDDEN, text)
