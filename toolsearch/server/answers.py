"""Responses: JSON of a model, versions of what is shown, and pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from fastapi import Depends, Header, Query
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from starlette.responses import Response

from toolsearch.exceptions import PreconditionError, RequestRefusedError

JSON_TYPE = "application/json"
LINES_TYPE = "application/x-ndjson"
MAX_NUMBER = 2**63 - 1
"""The largest whole number of both databases."""

Cursor: TypeAlias = Annotated[str | None, Query(max_length=400)]
"""Of a query: the place in a list where its next page begins; None for the first."""

IF_MATCH = "If-Match"
IF_NONE_MATCH = "If-None-Match"

Known: TypeAlias = Annotated[
    str | None,
    Header(alias=IF_NONE_MATCH, description="Versions that the client has; 304 where that is still so."),
]
"""Of a request: what the client has already."""


@dataclass(frozen=True)
class Conditions:
    """Which version a write is for."""

    if_match: str | None = None
    if_none_match: str | None = None

    def check(self, version: str | None, forms: Collection[str] = ()) -> None:
        """Does nothing where the request is for whatever there is, or for `version`, None for nothing yet.

        With `forms`, `version` as `version_in` has it in one of them is that version, too.

        Raises:
            PreconditionError: it is for another.
        """
        versions = () if version is None else (version, *(version_in(form, version) for form in forms))
        if self.if_match is not None and not _names(self.if_match, *versions):
            raise PreconditionError("It has changed since, or is gone. Get it again.")
        if self.if_none_match is not None and _names(self.if_none_match, *versions):
            raise PreconditionError("It exists already.")


async def _conditions(
    if_match: Annotated[
        str | None, Header(alias=IF_MATCH, description="The version that is to be written over; else 412.")
    ] = None,
    if_none_match: Annotated[
        str | None, Header(alias=IF_NONE_MATCH, description="``*`` to write over nothing; else 412.")
    ] = None,
) -> Conditions:
    return Conditions(if_match, if_none_match)


Conditional: TypeAlias = Annotated[Conditions, Depends(_conditions)]

VERSIONED = {"Cache-Control": "private, no-cache"}
"""For what has a version: it may be kept, and is to be asked for again before it is used."""


def answer(model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """`model` as JSON, without fields that are None by default and were not set."""
    return Response(json_bytes(model), status, dict(headers or {}), media_type=JSON_TYPE)


def versioned(known: str | None, model: BaseModel, version: str) -> Response:
    """`model` with its version as ``ETag``, or that the client has it already."""
    headers = {**VERSIONED, "ETag": f'"{version}"'}
    if is_known(known, version):
        return Response(status_code=304, headers=headers)
    return answer(model, headers=headers)


def is_known(known: str | None, version: str) -> bool:
    """Whether `version` is one of those that the client has already."""
    return known is not None and _names(known, version)


def version_in(form: str, version: str) -> str:
    """The version of what is written in a form: two forms of one thing are not the same bytes."""
    return f"{version}.{form}"


def json_bytes(model: BaseModel) -> bytes:
    """`model` as JSON in UTF-8."""
    try:
        return model.model_dump_json().encode()
    except (PydanticSerializationError, UnicodeEncodeError):
        # A lone surrogate in a definition, which only an escape can carry.
        return json.dumps(model.model_dump(mode="python"), default=list).encode()


def cursor_of(place: str) -> str:
    """An opaque text that leads back to `place`."""
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def place_of(cursor: str | None) -> str:
    """The place that a cursor leads to; empty for none.

    Raises:
        RequestRefusedError: it is no cursor.
    """
    if not cursor:
        return ""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        return base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        raise RequestRefusedError("The cursor is none of this service. Begin without one.") from None


def number_of(cursor: str | None, *, default: int = 0) -> int:
    """The number that a cursor leads to, one that every database can hold; `default` for none.

    Raises:
        RequestRefusedError: it is no such cursor.
    """
    place = place_of(cursor)
    if not place:
        return default
    # Read in full it would take as long as a client likes.
    number = int(place) if place.isascii() and place.isdecimal() and len(place) < 20 else MAX_NUMBER + 1
    if number > MAX_NUMBER:
        raise RequestRefusedError("The cursor is none of this list. Begin without one.")
    return number


def _names(header: str, *versions: str) -> bool:
    """Whether a list of entity tags names one of `versions`; a weak one does, too, and ``*`` any."""
    tags = (tag.strip().removeprefix("W/") for tag in header.split(","))
    named = {f'"{version}"' for version in versions} | ({"*"} if versions else set())
    return any(tag in named for tag in tags)
