"""What is at a path: its methods, and for one with nothing at it, where that may be which was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.routing import Match

if TYPE_CHECKING:
    from starlette.requests import Request

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_API = re.compile(
    r"(?:/openai)?(?:/v1)?(?P<openai>/(?:chat/completions|responses|embeddings)(?:/.*)?)"
    r"|(?:/anthropic)?(?:/v1)?(?P<anthropic>/messages(?:/.*)?)"
)
"""Paths of the providers, however much of what begins them was left out."""
_SESSION = re.compile(r"/v1/sessions/[^/]*/[^/]*/")


def allowed_methods(request: Request) -> tuple[str, ...]:
    """The methods that the path of a request takes."""
    return tuple(method for method in _METHODS if _takes(request, method))


def elsewhere(request: Request) -> str:
    """Where that is which was meant by a path with nothing at it, or what it needs; empty if nobody knows."""
    path: str = request.scope["path"]
    if api := _API.fullmatch(path.rstrip("/")):
        name = api.lastgroup or ""
        right = f"/{name}/v1{api[name]}"
        if path.startswith(f"/{name}/v1/"):
            return (
                "The service does not stand in front of this provider. Start it with --proxy, "
                f"or with --{name}-upstream URL."
            )
        return f"There is nothing at this path. The provider's is {right}, where the service has --proxy."
    if path.rstrip("/") == "/v1/calls":
        return "The service calls no tools. Start it with --call MODULE, which names those that it may."
    raw_path: bytes = request.scope.get("raw_path") or b""
    if path.startswith("/v1/sessions/") and (b"%2f" in raw_path.lower() or _SESSION.match(path)):
        return "There is nothing at this path. The id of a session may have no '/' in it."
    return ""


def _takes(request: Request, method: str) -> bool:
    scope = {**request.scope, "method": method}
    return any(route.matches(dict(scope))[0] is Match.FULL for route in request.app.routes)
