"""What all bodies of requests and answers have in common."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

Form: TypeAlias = Literal[
    "own", "openai_chat", "openai_responses", "anthropic", "mcp", "gemini", "langchain", "pydantic_ai"
]
"""Wire forms of definitions, as `toolsearch.formats.FORMATS` names them."""


class Documented(BaseModel):
    """Is described in the OpenAPI document by its docstring: fields by what ``Attributes`` says of them."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        written = handler(core_schema)
        schema = handler.resolve_ref_schema(written)
        told: dict[str, str] = {}
        for each in reversed(cls.__mro__):
            told |= _attributes(each.__doc__ or "")
        for name, field in schema.get("properties", {}).items():
            if name in told:
                field.setdefault("description", told[name])
        if cls.__doc__:
            schema["description"] = _markdown(cleandoc(cls.__doc__).partition(_ATTRIBUTES)[0])
        return written


_ATTRIBUTES = "\n\nAttributes:\n"
_ATTRIBUTE = re.compile(r" {4}(?P<names>\w+(?:, \w+)*): (?P<text>.+(?:\n {5,}.+)*)")


def _attributes(docstring: str) -> dict[str, str]:
    """What the section ``Attributes`` says of each."""
    section = cleandoc(docstring).partition(_ATTRIBUTES)[2]
    return {
        name: _markdown(match["text"])
        for match in _ATTRIBUTE.finditer(section)
        for name in match["names"].split(", ")
    }


def _markdown(text: str) -> str:
    return re.sub(r"[ \n]+", " ", re.sub(r"\bNone\b", "null", text).replace("``", "`")).strip()


class Asked(Documented):
    """The body of a request; a field that there is not is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answered(Documented):
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
