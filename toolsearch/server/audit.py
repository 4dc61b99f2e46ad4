"""The audit log: who changed keys and the catalog, and who tried to."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Scope

LOGGER = "toolsearch.audit"

_PATHS = ("/v1/keys", "/v1/tools", "/v1/sources", "/v1/catalogs")
_METHODS = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_log = logging.getLogger(LOGGER)


def audit(scope: Scope, route: str, status: int) -> None:
    """Log a request that would change keys or the catalog: key, what, to what, with which outcome.

    It has ids of keys, and names of what was changed; no body, so no secret and no definition.
    """
    if scope["method"] not in _METHODS or not route.startswith(_PATHS):
        return
    state = scope["state"]
    is_done = 200 <= status < 300
    # What was refused may name anything, a secret in the wrong place too.
    subjects = {**scope.get("path_params", {}), **state.get("subject", {})} if is_done else {}
    # Names are anybody's text; repr keeps a line one line.
    about = " ".join(f"{name}={str(value)!r}" for name, value in subjects.items())
    key_id = state["caller"].key_id or "-"
    outcome = "done" if is_done else "refused"
    _log.info(
        "audit: key %s, %s %s %s, %s with %d, request %s",
        key_id,
        scope["method"],
        route,
        about or "-",
        outcome,
        status,
        state["request_id"],
    )
