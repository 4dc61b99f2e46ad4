"""`UsageObserver`: teaches a searcher which tools served the searches that found them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from toolsearch.api.usage import Outcome
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.exceptions import ToolArgumentsError, ToolSearchError
from toolsearch.messages import ToolResult
from toolsearch.session.trail import SearchTrail
from toolsearch.telemetry.base import ObservedCall, ObservedRun, RunObserver

_log = logging.getLogger("toolsearch")


class Learner(Protocol):
    """What learns from calls, such as `ToolSearcher.learn`."""

    def __call__(
        self, queries: str, tool: str, outcome: Outcome = ..., *, session_id: str = ..., tenant: str = ...
    ) -> object: ...


class UsageObserver:
    """Tells `learn` of each call of a tool that the conversation has found by searching.

    A call succeeded unless it raised or gave an error; calls that were refused before they ran do not count.
    Runs without a session id each count as a conversation of their own, within the run.
    """

    def __init__(self, learn: Learner, *, trail: SearchTrail | None = None) -> None:
        self._learn = learn
        self._trail = trail or SearchTrail()

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        del seen
        yield _Lessons(self._learn, self._trail)


class _Lessons(RunObserver):
    def __init__(self, learn: Learner, trail: SearchTrail) -> None:
        self._learn = learn
        self._trail = trail
        self._found: dict[str, str] = {}

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        name = seen.tool.name
        if name in {SEARCH_TOOL, CALL_TOOL}:
            yield
            if name == SEARCH_TOOL and isinstance(seen.result, ToolResult):
                found = query_of(seen.result)
                self._found.update(found)
                self._trail.found(seen.context.session_id, seen.context.tenant, found)
            return
        try:
            yield
        except ToolArgumentsError:
            raise
        except Exception:
            self._tell(seen, "failed")
            raise
        else:
            is_error = isinstance(seen.result, ToolResult) and seen.result.is_error
            self._tell(seen, "failed" if is_error else "succeeded")

    def _tell(self, seen: ObservedCall, outcome: Outcome) -> None:
        context, name = seen.context, seen.tool.name
        query = self._found.get(name) or self._trail.query(context.session_id, context.tenant, name)
        if not query:
            return
        try:
            self._learn(query, name, outcome, session_id=context.session_id, tenant=context.tenant)
        except ToolSearchError as exc:
            # The run goes on; what it would have taught is lost.
            _log.debug("nothing was learned of a call of %s: %s", name, type(exc).__name__)


def query_of(result: ToolResult) -> dict[str, str]:
    """Which query of a call of `tool_search` found each tool that it made known or knew already, by name."""
    facts = result.structured if isinstance(result.structured, Mapping) else {}
    queries, found_by = facts.get("queries", ()), facts.get("found_by", {})
    names = (*result.discovered, *facts.get("already_loaded", ()))
    return {
        name: queries[found_by[name]] for name in names if found_by.get(name, len(queries)) < len(queries)
    }
