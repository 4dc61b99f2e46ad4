"""`build_request`: the request that an operation and its arguments make. Nothing is sent here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.exceptions import ToolArgumentsError
from toolsearch.sources.openapi.arguments import Inputs
from toolsearch.sources.openapi.bodies import encode_body
from toolsearch.sources.openapi.model import Operation, Parameter
from toolsearch.sources.openapi.styles import cookie_text, header_text, path_text, query_text
from toolsearch.tools import JsonObject

_TEMPLATE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True)
class BuiltRequest:
    """A request without credentials.

    Attributes:
        method, url: Where it goes; the URL is percent-encoded.
        shown: The URL without what arguments have put into it.
        headers: Without ``Cookie``.
        cookies: Each as ``name=value``.
        content: The body; None for none.
    """

    method: str
    url: str = field(repr=False)
    shown: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cookies: tuple[str, ...] = field(default=(), repr=False)
    content: bytes | None = field(default=None, repr=False)


def build_request(tool: str, operation: Operation, inputs: Inputs, arguments: JsonObject) -> BuiltRequest:
    """The request that `arguments` make, which fit the input schema. The same for the same arguments, but for
    the boundary of a multipart body.

    A parameter that is null is left out, unless it is required.

    Raises:
        ToolArgumentsError: a value that cannot stand where it belongs; `tool` is named in it.
    """
    problems: list[str] = []
    parts = _Parts()
    for name, parameter in inputs.parameters.items():
        value = arguments.get(name)
        if name not in arguments or (value is None and not parameter.required):
            continue
        try:
            parts.place(parameter, value)
        except ValueError as exc:
            problems.append(f"{name!r}: {exc}.")
    content = None
    try:
        content, media_type = _content(operation, inputs, arguments)
        if content is not None:
            parts.headers["Content-Type"] = media_type
    except ValueError as exc:
        problems.append(f"{exc}.")
    if problems:
        raise ToolArgumentsError(tool, tuple(problems))
    path = _TEMPLATE.sub(lambda found: parts.path[found[1]], operation.path)
    asked = "&".join(filter(None, parts.query))
    joiner = "&" if "?" in path else "?"
    return BuiltRequest(
        method=operation.method,
        url=f"{operation.server}{path}{joiner if asked else ''}{asked}",
        shown=f"{operation.server}{operation.path}",
        headers={"Accept": ", ".join((*operation.accept, "*/*;q=0.1")), **parts.headers},
        cookies=tuple(filter(None, parts.cookies)),
        content=content,
    )


def path_variables(path: str) -> tuple[str, ...]:
    """The names in braces of a path template, in order."""
    return tuple(_TEMPLATE.findall(path))


@dataclass
class _Parts:
    """What the parameters give to each part of a request; texts of path and query are percent-encoded."""

    path: dict[str, str] = field(default_factory=dict)
    query: list[str] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    cookies: list[str] = field(default_factory=list)

    def place(self, parameter: Parameter, value: Any) -> None:
        how = parameter.serialization
        match parameter.location:
            case "path":
                self.path[parameter.name] = path_text(parameter, value)
            case "query":
                self.query.append(query_text(parameter.name, value, how))
            case "header":
                self.headers[parameter.name] = header_text(value, how)
            case "cookie":
                self.cookies.append(cookie_text(parameter.name, value, how))


def _content(operation: Operation, inputs: Inputs, arguments: JsonObject) -> tuple[bytes | None, str]:
    body = operation.body
    if body is None:
        return None, ""
    if inputs.body:
        if inputs.body not in arguments:
            return None, ""
        return encode_body(body, arguments[inputs.body])
    value = {member: arguments[name] for name, member in inputs.members.items() if name in arguments}
    return encode_body(body, value) if value or body.required else (None, "")
