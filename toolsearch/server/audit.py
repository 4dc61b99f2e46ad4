"""The audit log: who changed keys and the catalog, ran tools, or tried to."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.routing import BaseRoute
    from starlette.types import Scope

    from toolsearch.api.tools import UploadReport

LOGGER = "toolsearch.audit"

_PATHS = ("/v1/keys", "/v1/tools", "/v1/sources", "/v1/catalogs", "/v1/calls", "/v1/feedback")
_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_UNKNOWN = "/(unknown)"

_log = logging.getLogger(LOGGER)


class Audit:
    """Logs requests that would change something, or run a tool."""

    def __init__(self, routes: Iterable[BaseRoute] = ()) -> None:
        """`routes` name the paths of requests that were refused before they came to their route."""
        from starlette.routing import Route

        self._routes = [route for route in routes if isinstance(route, Route)]

    def answered(self, scope: Scope, status: int) -> None:
        """Log a request of that kind: key, what, to what, with which outcome.

        It has ids of keys, and names of what was changed; no body, so no secret and no definition.
        """
        method, path = scope["method"], scope["path"]
        if not _is_audited(method, path):
            return
        state = scope["state"]
        outcome, status = _outcome(state, status)
        # What was refused may name anything, a secret in the wrong place too.
        subjects = {**scope.get("path_params", {}), **state.get("subject", {})} if outcome == "done" else {}
        # Names are anybody's text; repr keeps a line one line.
        about = " ".join(f"{name}={str(value)!r}" for name, value in subjects.items())
        _log.info(
            "audit: key %s, %s %s %s, %s with %d, request %s",
            state["caller"].key_id or "-",
            method,
            self._template(method, path),
            about or "-",
            outcome,
            status,
            state["request_id"],
        )

    def _template(self, method: str, path: str) -> str:
        """The path as the API names it: nothing of what stands in it."""
        at_path = [route for route in self._routes if route.path_regex.match(path)]
        for route in (*(route for route in at_path if method in (route.methods or ())), *at_path):
            return route.path_format
        return next(known for known in _PATHS if path.startswith(known)) + _UNKNOWN


def uploaded(report: UploadReport) -> dict[str, int]:
    """What is told of an upload: how many tools it has changed."""
    return {name: getattr(report, name) for name in ("added", "changed", "unchanged", "removed")}


def keys_changed_elsewhere(made: Iterable[str], revoked: Iterable[str]) -> None:
    """Log keys, by their ids, that the command line or another process on the database has changed."""
    for what, key_ids in (("made", made), ("revoked", revoked)):
        for key_id in sorted(key_ids):
            _log.info("audit: key %s was %s by the command line, or by another process", key_id, what)


def _is_audited(method: str, path: str) -> bool:
    if method not in _METHODS or not path.startswith(_PATHS):
        return False
    return method == "DELETE" or not path.startswith("/v1/feedback")


def _outcome(state: dict[str, Any], status: int) -> tuple[str, int]:
    """What became of the request, and the status that says so."""
    if state.get("is_replayed"):
        return "answered again", status
    # Of an answer in lines the status is sent before the work is done.
    told = state.get("told_status", status)
    if told is None:
        return "left before its end", status
    return ("done" if 200 <= told < 300 else "refused"), told
