"""Calls of tools that the service can run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Name, SessionId, Text


class CallBody(Asked):
    """A call. With a session only what it was offered may run, as in a tool-calling loop.

    Attributes:
        name: The public name of the tool.
        arguments: As its input schema has them.
        session_id: Of the conversation that calls; without it any tool that can be called may be.
        call_id: The id of the call, as the model gave it.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "mail__send_email", "arguments": {"to": "ada@example.org"}}]}
    )

    name: Name
    arguments: dict[str, Any] = Field(default_factory=dict)
    session_id: SessionId | None = None
    call_id: Annotated[Text, Field(max_length=200)] = ""


class CallResult(Answered):
    """The result of a call; what is wrong with the call itself is an error result, for the model.

    Attributes:
        text: The result, or what was wrong, for the model.
        is_error: Whether it tells what was wrong.
        structured: The result as JSON, from a tool that has an output schema.
    """

    text: str
    is_error: bool = False
    structured: Any = None
