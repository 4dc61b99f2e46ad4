"""Errors of the HTTP service: what it refuses, and what its clients are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolsearch.exceptions.base import ToolSearchError

_TOLD = 5


class ServerSettingsError(ToolSearchError, ValueError):
    """Settings that the service cannot start with, or not safely."""


class RequestRefusedError(ToolSearchError):
    """A request that the service does not carry out."""


class AccessDeniedError(RequestRefusedError):
    """A request without a key, or with one that may not do this; `is_known` says whether the key is one."""

    def __init__(self, reason: str, *, is_known: bool) -> None:
        self.is_known = is_known
        super().__init__(reason)


class ForeignRequestError(RequestRefusedError):
    """A request that names another host, or comes from a page that may not ask."""


class NoSuchPathError(RequestRefusedError):
    """There is nothing at the path of a request."""


class WrongMethodError(RequestRefusedError):
    """A path that takes other methods: `allowed`."""

    def __init__(self, allowed: Sequence[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__(f"This path does not take the method. It takes {', '.join(self.allowed)}.")


class MediaTypeError(RequestRefusedError):
    """A body that does not say that it is JSON."""

    def __init__(self) -> None:
        super().__init__(
            "The body is read only where the request says that it is JSON. "
            "Send the header Content-Type: application/json."
        )


class NotJsonError(RequestRefusedError):
    """A body that should be JSON and is not."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The body is not JSON: {reason}.")


class InvalidRequestError(RequestRefusedError):
    """A request that is not of its form; `faults` say what should be otherwise, by place."""

    def __init__(self, faults: Sequence[tuple[str, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{at}: {problem}" for at, problem in self.faults[:_TOLD]))


class BodyTooLargeError(RequestRefusedError):
    """A body of more than `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The body is larger than {limit:,} bytes. Send less at once.")


class SlowRequestError(RequestRefusedError):
    """The body of a request did not come in time."""


class UnknownResourceError(RequestRefusedError):
    """There is no such thing for this caller; `kind` and `name` say what."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"There is no {kind} {name!r:.200}.")


class NotCallableError(RequestRefusedError):
    """A tool of the catalog that the service has nothing to run with, or that a session may not call yet."""


class PreconditionError(RequestRefusedError):
    """What is to be changed is no longer what the caller has seen."""


class UploadRefusedError(RequestRefusedError):
    """An upload of which nothing can be used, or a replacement of which a part cannot.

    `issues` have ``line``, ``tool``, ``reason``.
    """

    def __init__(self, issues: Sequence[Mapping[str, Any]], *, n_read: int, replaces: bool = True) -> None:
        """`replaces` if what is not in the upload would go."""
        self.issues = tuple(issues)
        told = "; ".join(_told(issue) for issue in self.issues[:_TOLD])
        more = f"; and {len(self.issues) - _TOLD:,} more" if len(self.issues) > _TOLD else ""
        lost = ", and the tools that they stand for would be removed" if replaces else ""
        super().__init__(
            f"Nothing was changed: {len(self.issues):,} of {n_read:,} definitions cannot be used{lost}. "
            f"{told}{more}. Correct them or leave them out."
        )


class IdempotencyError(RequestRefusedError):
    """An idempotency key that was used for another request, or whose request has not ended."""

    def __init__(self, reason: str, *, is_running: bool) -> None:
        self.is_running = is_running
        super().__init__(reason)


class TooBusyError(RequestRefusedError):
    """More requests than the service takes at once; try again after `retry_after_s`."""

    def __init__(self, retry_after_s: float = 1.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__("The service is busy. Try again in a moment.")


class TookTooLongError(RequestRefusedError):
    """A request that had no answer after `timeout_s`."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        super().__init__(f"There was no answer within {timeout_s:g} s.")


class NotReadyError(RequestRefusedError):
    """The service cannot search yet, or no longer."""


class UpstreamError(RequestRefusedError):
    """The provider behind a proxy gave no answer that could be passed on; `is_late` if none came in time.

    `is_final` says that the same request would come to the same again.
    """

    def __init__(self, reason: str, *, is_late: bool = False, is_final: bool = False) -> None:
        self.is_late = is_late
        self.is_final = is_final
        super().__init__(reason)


class ServiceError(ToolSearchError):
    """The service refused a request of its client, or failed.

    Attributes:
        status: Of the HTTP response; 0 where there was none.
        problem: What kind of problem, such as ``unknown-tool``; empty where the service did not say.
        detail: What was wrong, in the words of the service.
        facts: What else the problem document says.
        retry_after_s: When to ask again, where the service says so.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        problem: str = "",
        facts: dict[str, Any] | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.status = status
        self.problem = problem
        self.detail = detail
        self.facts = facts or {}
        self.retry_after_s = retry_after_s
        super().__init__(f"The service answered {status}: {detail}" if status else detail)


class ServiceUnreachableError(ServiceError):
    """No connection to the service, or one that broke."""


def _told(issue: Mapping[str, Any]) -> str:
    line = "" if issue["line"] is None else f"Line {issue['line']}: "
    about = f"{issue['tool']!r:.100}: " if issue["tool"] else ""
    return f"{line}{about}{issue['reason']}".rstrip(".")
