"""Errors of the web framework in our own words: what is wrong with the request, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, get_args

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from toolsearch.exceptions import (
    InvalidRequestError,
    MediaTypeError,
    NoSuchPathError,
    NotJsonError,
    ToolSearchError,
    WrongMethodError,
)
from toolsearch.naming import near_names
from toolsearch.server.paths import allowed_methods, elsewhere

if TYPE_CHECKING:
    from starlette.requests import Request

_JSON = "application/json"
_SHOWN = 100
_MEANT: Mapping[str, tuple[str, ...]] = {
    "filter": ("allow",),
    "format": ("form",),
    "limit": ("max_k",),
    "max_results": ("max_k",),
    "n": ("k",),
    "name": ("tool", "names"),
    "prompt": ("queries",),
    "q": ("queries", "query"),
    "query": ("queries",),
    "server": ("sources",),
    "servers": ("sources",),
    "session": ("session_id",),
    "source": ("sources",),
    "text": ("queries", "query"),
    "tool": ("name", "names"),
    "tool_name": ("name", "tool", "names"),
    "tools": ("names",),
    "top_k": ("k",),
}
"""What people call our fields, and which of them they may mean."""


def explained(request: Request, error: Exception) -> Exception:
    """What `error` means for `request`; itself where it says that already. What was given is not repeated."""
    if isinstance(error, RequestValidationError):
        return _invalid(request, error)
    if isinstance(error, HTTPException):
        return _unanswered(request, error) or error
    return error


def _unanswered(request: Request, error: HTTPException) -> ToolSearchError | None:
    if error.status_code == 404:
        return NoSuchPathError(elsewhere(request) or "There is nothing at this path.")
    if error.status_code == 405:
        return WrongMethodError(allowed_methods(request))
    if isinstance(error.__cause__, UnicodeDecodeError):
        return NotJsonError("it is not UTF-8")
    if isinstance(error.__cause__, RecursionError):
        return NotJsonError("it is nested too deeply to be read")
    return None


def _invalid(request: Request, error: RequestValidationError) -> ToolSearchError:
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return NotJsonError(_why_not_json(request.state.body))
    is_untyped = request.state.body and not _says_json(request)
    if is_untyped and any(fault["loc"] == ("body",) for fault in faults):
        return MediaTypeError()
    route = request.scope.get("route")
    return InvalidRequestError(
        [
            (
                ".".join(map(str, fault["loc"])),
                str(fault["msg"]).removeprefix("Value error, ") + _meant(route, fault),
            )
            for fault in faults
        ]
    )


def _why_not_json(body: bytes) -> str:
    try:
        json.loads(body)
    except JSONDecodeError as exc:
        return f"{exc.msg} at character {exc.pos + 1}"
    except ValueError:
        pass
    return "it cannot be read"


def _says_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == _JSON or (kind.startswith("application/") and kind.endswith("+json"))


def _meant(route: object, fault: Mapping[str, Any]) -> str:
    """What a field that there is not may have meant."""
    if fault["type"] != "extra_forbidden" or not isinstance(route, APIRoute) or route.body_field is None:
        return ""
    *places, name = fault["loc"][1:]
    fields = _fields_at(route.body_field.field_info.annotation, places)
    called = str(name)[:_SHOWN].lower()
    near = [field for field in _MEANT.get(called, ()) if field in fields] or near_names(called, fields)
    return f". Did you mean {near[0]!r}?" if near else f". There are {', '.join(fields)}"


def _fields_at(annotation: Any, places: Iterable[str | int]) -> list[str]:
    """The fields of the body, or of the object in it that is at `places`."""
    model = _model_in(annotation)
    for place in places:
        if model is not None and place in model.model_fields:
            model = _model_in(model.model_fields[str(place)].annotation)
    return [] if model is None else list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)
