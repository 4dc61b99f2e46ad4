"""What all bodies of requests and answers have in common."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Form: TypeAlias = Literal[
    "own", "openai_chat", "openai_responses", "anthropic", "mcp", "gemini", "langchain", "pydantic_ai"
]
"""Wire forms of definitions, as `toolsearch.formats.FORMATS` names them."""


class Asked(BaseModel):
    """The body of a request; a field that there is not is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answered(BaseModel):
    """The body of an answer; a client passes over fields that a newer service adds."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _can_be_written(text: str) -> str:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("it holds half a character (a lone surrogate)")
    return text


Text: TypeAlias = Annotated[str, AfterValidator(_can_be_written)]
"""Text that every encoding can carry."""

Name: TypeAlias = Annotated[Text, Field(min_length=1, max_length=200)]
"""A name of a tool, a source, a tag, or a glob over them."""

SESSION_ID = r"^[A-Za-z0-9_:~-][A-Za-z0-9._:~-]{0,127}$"
"""Without a dot at the beginning: clients and proxies take ``/sessions/..`` for another path."""

SessionId: TypeAlias = Annotated[str, Field(pattern=SESSION_ID)]
