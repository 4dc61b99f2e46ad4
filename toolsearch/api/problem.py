"""Problem documents of RFC 9457."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from toolsearch.api.base import Documented

PROBLEM_TYPE = "application/problem+json"
PREFIX = "urn:toolsearch:problem:"


class Problem(Documented):
    """Why a request was not carried out; beside these fields there may be facts of the kind of problem.

    Attributes:
        type: ``urn:toolsearch:problem:`` and the kind of problem.
        title: The kind in words.
        detail: What was wrong with which thing, and what to do.
        request_id: As in the header ``X-Request-Id``, to be found in the logs.
        status: That of the response.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": f"{PREFIX}unknown-tool",
                    "title": "Unknown tool",
                    "status": 404,
                    "detail": "Unknown tool 'send_mail'. Did you mean 'send_email'?",
                    "request_id": "8b4f0f6c1f0a4a52",
                    "near": ["send_email"],
                }
            ]
        },
    )

    type: str = "about:blank"
    title: str = ""
    status: int = 0
    detail: str = ""
    request_id: str = ""

    @property
    def kind(self) -> str:
        return self.type.removeprefix(PREFIX)

    @property
    def facts(self) -> dict[str, Any]:
        return dict(self.model_extra or {})
