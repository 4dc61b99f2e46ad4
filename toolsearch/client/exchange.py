"""What both clients do around sending: the request, the answer or its error, and whether to ask again."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import httpx
from pydantic import ValidationError

from toolsearch.api.problem import Problem
from toolsearch.client.calls import ApiCall
from toolsearch.exceptions import ServiceError, ServiceUnreachableError
from toolsearch.http.address import sendable
from toolsearch.http.retries import RetryPolicy, asked_wait_s

T = TypeVar("T")

_AGAIN = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True)
class Exchange:
    """How requests are made and answers are read; `api_key` is in no repr and no error."""

    retries: RetryPolicy

    def request(self, client: httpx.Client | httpx.AsyncClient, call: ApiCall[T]) -> httpx.Request:
        return client.build_request(
            call.method, call.path, params=dict(call.query), content=call.body, headers=dict(call.headers)
        )

    def answer(self, call: ApiCall[T], response: httpx.Response) -> T:
        """The answer of a response that was read.

        Raises:
            ServiceError: it tells of a problem, or is no answer.
        """
        # A page to log in at, or a step to another address, may stand in front of the service.
        if not response.is_success:
            raise _told(response)
        if call.answer is type(None) and response.content:
            raise _other_form(call, response)
        try:
            return call.read(response.content)
        except ValidationError as exc:
            raise _other_form(call, response) from exc

    def wait_s(self, call: ApiCall[T], error: ServiceError, failures: int) -> float | None:
        """Seconds until the call may be sent again; None where it may not."""
        may = call.repeatable and failures < self.retries.attempts
        if not may or (error.status not in _AGAIN and not isinstance(error, ServiceUnreachableError)):
            return None
        return self.retries.wait_s(failures, error.retry_after_s, random=random.random())  # noqa: S311


def unreachable(exc: httpx.RequestError) -> ServiceUnreachableError:
    """The error of a request that got no response."""
    where = shown(exc.request.url.copy_with(raw_path=b"/")).rstrip("/")
    what = (
        "cannot be reached" if isinstance(exc, httpx.ConnectError) else "gave no answer in time or broke off"
    )
    return ServiceUnreachableError(
        0, f"The service at {where} {what} ({type(exc).__name__}). Look at the address, and whether it runs."
    )


def headers_with(api_key: str) -> Mapping[str, str]:
    """What every request carries.

    Raises:
        ValueError: no header can carry the key, which the error does not show.
    """
    key = sendable(api_key, what="The key", remedy="Check the argument api_key.")
    return {"Authorization": f"Bearer {key}"} if key else {}


def shown(url: httpx.URL) -> str:
    """The address of a service without a password."""
    return str(url.copy_with(userinfo=b""))


def _other_form(call: ApiCall[T], response: httpx.Response) -> ServiceError:
    return ServiceError(response.status_code, f"its answer to {call.method} {call.path} has another form")


def _told(response: httpx.Response) -> ServiceError:
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        problem = Problem(detail=response.reason_phrase)
    return ServiceError(
        response.status_code,
        problem.detail,
        problem="" if problem.kind == "about:blank" else problem.kind,
        facts=problem.facts,
        retry_after_s=asked_wait_s(response.headers, now=time.time()),
    )
