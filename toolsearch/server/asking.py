"""`Asking`: a request as routers see it: the service, and who asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ParamSpec, TypeAlias, TypeVar

from fastapi import Depends, Request

from toolsearch.api.scopes import KeyScope
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.discovery.discovery import Discovery
from toolsearch.exceptions import AccessDeniedError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.server.keys import Caller
from toolsearch.server.service import Service
from toolsearch.server.visible import Visible
from toolsearch.session.base import Session
from toolsearch.tools import Tool

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Asking:
    """Who asks, and what answers."""

    service: Service
    caller: Caller
    request_id: str

    async def run(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function gives, run in a thread; see `Work.run`."""
        return await self.service.work.run(work, *args, **kwargs)

    async def change(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`run`, after other changes of the catalog."""
        return await self.service.changing.run(work, *args, **kwargs)

    async def change_long(self, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """`change`, for as long as it takes."""
        return await self.service.changing.run_long(work, *args, **kwargs)

    def visible(self) -> Visible:
        """The tools that the caller may know of."""
        return self.service.catalog.visible(self.caller.rule)

    def session(self, session_id: str) -> Session:
        return Session(self.service.sessions, session_id, self.caller.tenant)

    def discovery(
        self, session_id: str, delivery: Delivery = APPEND, *, wanted: tuple[str, ...] = ()
    ) -> Discovery:
        """Where a session stands."""
        return self.service.catalog.discoverer.open(
            self.session(session_id), delivery, filters=self.caller.filters, wanted=wanted
        )

    def check_may_change(self, *tools: Tool) -> None:
        """Does nothing where the caller may change the catalog, and know of all these tools.

        Raises:
            AccessDeniedError: it may not.
        """
        if self.service.settings.read_only:
            raise AccessDeniedError("The catalog of this service is not to be changed.", is_known=True)
        for tool in tools:
            if not self.caller.rule.permits(tool):
                raise _untouchable(tool.name)

    def check_may_replace(self, index: ToolIndex, tools: Iterable[Tool]) -> None:
        """Does nothing where the caller may know of what `index` has under the names of `tools`.

        Several pairs of source and name make one public name, so a tool that the caller may put can have a
        namesake that it may not know of. The refusal is the one for a tool that it may not put: it tells that
        the name is taken, which nothing but overwriting that tool could hide, and no more.

        Raises:
            AccessDeniedError: it may not.
        """
        if not self.caller.filters:
            return
        for tool in tools:
            row = index.row_of(tool.name)
            if row is not None and not self.caller.rule.permits(index.tool(row)):
                raise _untouchable(tool.name)


def _untouchable(name: str) -> AccessDeniedError:
    return AccessDeniedError(f"This key may not change the tool {name!r}.", is_known=True)


def _asking(scope: KeyScope) -> Any:
    # A coroutine, as a function would take a thread of its own.
    async def asking(request: Request) -> Asking:
        state = request.state
        state.caller.require(scope)
        return Asking(request.app.state.service, state.caller, state.request_id)

    return Depends(asking)


Searching: TypeAlias = Annotated[Asking, _asking(KeyScope.SEARCH)]
Managing: TypeAlias = Annotated[Asking, _asking(KeyScope.MANAGE)]
Calling: TypeAlias = Annotated[Asking, _asking(KeyScope.CALL)]
Administering: TypeAlias = Annotated[Asking, _asking(KeyScope.ADMIN)]
