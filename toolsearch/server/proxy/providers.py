"""`Provider`: one whose API the service offers, and how its errors read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from toolsearch.exceptions import AccessDeniedError, RequestRefusedError
from toolsearch.server.problems import log_failure, problem_of
from toolsearch.server.proxy.said import json_text
from toolsearch.server.proxy.settings import ProxySettings
from toolsearch.tools import JsonObject

if TYPE_CHECKING:
    import httpx
    from starlette.types import Scope

    from toolsearch.adapters.routes import Route

KEY_HEADER = b"x-toolsearch-key"
"""Has the key of the service: ``Authorization`` and ``x-api-key`` belong to the provider."""

_PREFIXES: dict[str, str] = {"openai": "/openai/v1", "anthropic": "/anthropic"}
_TYPES: dict[str, dict[int, str]] = {
    "openai": {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_error",
    },
    "anthropic": {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
    },
}
_FAILED = {"openai": "server_error", "anthropic": "api_error"}
_NO_KEY = "A valid key of the service is needed: X-ToolSearch-Key: KEY."


@dataclass(frozen=True)
class Provider:
    """An API that is offered below `prefix` and is at `upstream`, as the SDK of the provider is told it."""

    name: str
    prefix: str
    upstream: httpx.URL

    def covers(self, path: str) -> bool:
        return path.startswith(self.prefix) and path[len(self.prefix) :][:1] in {"", "/"}

    def route(self, method: str, path: str) -> Route | None:
        """The endpoint where tools are searched; None for any other."""
        # A service without providers starts without the APIs.
        from toolsearch.adapters.routes import route_of

        return None if "?" in path else route_of(method, self.plain(path).removeprefix(self.prefix))

    def plain(self, path: str) -> str:
        """`path` as endpoints are written: servers take more slashes, and other letters, for the same."""
        rest = filter(None, path.removeprefix(self.prefix).lower().split("/"))
        return "/".join([self.prefix, *rest])

    def template(self, route: Route | None, path: str) -> str:
        """A name of the path, of which there are few."""
        return f"{self.prefix}/{{path}}" if route is None else self.plain(path)

    def response(self, error: Exception, scope: Scope) -> Response:
        """The response to a request that ended with `error`, as the provider's own errors read."""
        request_id: str = scope["state"]["request_id"]
        status, headers, record = self.told(error, request_id)
        if status >= 500 and not isinstance(error, RequestRefusedError):
            log_failure(error, request_id=request_id)
        return Response(json_text(record), status, headers, media_type="application/json")

    def told(self, error: Exception, request_id: str) -> tuple[int, dict[str, str], JsonObject]:
        """Status, headers and JSON of an error."""
        problem, headers = problem_of(error, request_id=request_id)
        headers.pop("WWW-Authenticate", None)
        denied = isinstance(error, AccessDeniedError) and not error.is_known
        message = f"{_NO_KEY if denied else problem.detail} (toolsearch)"
        kind = _TYPES[self.name].get(problem.status)
        kind = kind or (_FAILED[self.name] if problem.status >= 500 else "invalid_request_error")
        if self.name == "anthropic":
            told: JsonObject = {"type": "error", "error": {"type": kind, "message": message}}
            return problem.status, headers, {**told, "request_id": request_id}
        code = problem.type.rpartition(":")[2].replace("-", "_")
        error_record = {"message": message, "type": kind, "param": None, "code": code}
        return problem.status, headers, {"error": error_record}


def providers_of(settings: ProxySettings) -> tuple[Provider, ...]:
    """The providers that the settings name."""
    return tuple(Provider(name, _PREFIXES[name], url) for name, url in settings.upstreams.items())


def provider_at(providers: Sequence[Provider], path: str) -> Provider | None:
    """The provider whose API is offered at `path`; None for paths of the service itself."""
    return next((provider for provider in providers if provider.covers(path)), None)
