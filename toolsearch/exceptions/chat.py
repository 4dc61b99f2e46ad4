"""Errors of chat models: requests that are refused, and providers that refuse or fail."""

from __future__ import annotations

from typing import NamedTuple

from toolsearch.exceptions.base import ToolSearchError


class RequestProblem(NamedTuple):
    """One thing that a provider would refuse: the `rule` it breaks, the `name` of the thing, and why."""

    rule: str
    name: str
    reason: str


class ChatRequestError(ToolSearchError, ValueError):
    """A request that the model's provider would refuse, found before it was sent; `problems` says why."""

    def __init__(self, provider: str, problems: tuple[RequestProblem, ...]) -> None:
        self.provider = provider
        self.problems = problems
        shown = " ".join(problem.reason for problem in problems[:5])
        more = f" And {len(problems) - 5} more." if len(problems) > 5 else ""
        super().__init__(f"{provider} would refuse this request. {shown}{more}")


class ChatModelError(ToolSearchError):
    """A model's provider refused or failed.

    Attributes:
        provider: The model's id, such as ``openai:gpt-5``.
        status: Of the HTTP answer; None where there was none, or the failure came within a stream.
        body: What the provider said, without secrets of the request.
        retry_after_s: Seconds that it asks to wait, where it does.
    """

    def __init__(
        self,
        provider: str,
        reason: str,
        *,
        status: int | None = None,
        body: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        self.provider = provider
        self.reason = reason
        self.status = status
        self.body = body
        self.retry_after_s = retry_after_s
        answered = "" if status is None else f" (HTTP {status})"
        super().__init__(f"{provider}: {reason}{answered}")


class ModelUnreachableError(ChatModelError):
    """No connection to the provider, or one that broke or was silent for too long."""


class RateLimitedError(ChatModelError):
    """Too many requests or tokens for the account."""


class OverloadedError(ChatModelError):
    """The provider is too busy, or failing."""


class AuthenticationError(ChatModelError):
    """The provider refuses the key, or the key may not do this."""


class BadRequestError(ChatModelError):
    """The provider refuses the request."""


class ContextTooLongError(BadRequestError):
    """The conversation and its tools do not fit the model."""


class MalformedAnswerError(ChatModelError):
    """The provider answered something that is no answer."""
