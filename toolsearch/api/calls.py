"""Calls of tools that the service can run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Name, SessionId, Text


class CallBody(Asked):
    """A call. With a session only what it was offered may run, as in a tool-calling loop."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "mail__send_email", "arguments": {"to": "ada@example.org"}}]}
    )

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    session_id: SessionId | None = None
    call_id: Annotated[Text, Field(max_length=200)] = ""


class CallResult(Answered):
    """The result of a call; what is wrong with the call itself is an error result, for the model."""

    text: str
    is_error: bool = False
    structured: Any = None
