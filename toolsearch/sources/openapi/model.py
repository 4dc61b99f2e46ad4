"""What an operation is, in one form for every version of OpenAPI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from toolsearch.tools import JsonObject

Location: TypeAlias = Literal["path", "query", "header", "cookie"]
Style: TypeAlias = Literal[
    "matrix", "label", "simple", "form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"
]


@dataclass(frozen=True)
class Serialization:
    """How a value that is no text becomes one.

    Attributes:
        style: As OpenAPI names it; ``tabDelimited`` is the ``tsv`` of Swagger 2.
        explode: Whether each element and member stands by itself.
        allow_reserved: Whether ``/`` and the like stay as they are in a query.
        media_type: Of a value that is written in it as a whole, such as ``application/json``; else empty.
    """

    style: Style = "form"
    explode: bool = True
    allow_reserved: bool = False
    media_type: str = ""


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name and place in the request, and how its value is written there."""

    name: str
    location: Location
    schema: JsonObject
    required: bool = False
    serialization: Serialization = field(default_factory=Serialization)


@dataclass(frozen=True)
class Body:
    """The body of a request, in the media type that it is sent in.

    Attributes:
        media_type: As it is sent, in lower case without parameters.
        schema: Of its value; of a binary one that of base64 text.
        required: Whether there must be one.
        encoding: How each member of a form is written, where that is stated.
    """

    media_type: str
    schema: JsonObject
    required: bool = False
    encoding: Mapping[str, Serialization] = field(default_factory=dict)


@dataclass(frozen=True)
class SecurityScheme:
    """A way to prove who asks.

    Attributes:
        name: As the document names it.
        kind: How the credential is sent; ``other`` for ways that are not known here.
        parameter: Of which name, for a key.
    """

    name: str
    kind: Literal["header", "query", "cookie", "bearer", "basic", "other"]
    parameter: str = ""


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    Attributes:
        method: In upper case.
        path: The template, as it stands in the document.
        server: Where it is served, with ``{variables}`` filled in; not always with a host.
        parameters: In the document's order.
        body: None for none.
        security: Ways to be let in, the first that can be used is; each names schemes that go together.
            Empty for an operation that lets everybody in.
        accept: Media types that it answers with, JSON first.
    """

    method: str
    path: str
    server: str
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    security: tuple[tuple[SecurityScheme, ...], ...] = ()
    accept: tuple[str, ...] = ()
