"""`ApprovalAdvisor`: has a person, or a program, decide on calls before they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection

from toolsearch.advisors.base import APPROVAL, Approve, Deny, Edit, PendingCall, Wait
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.chat.base import ChatEvent, ChatRequest


class ApprovalAdvisor:
    """Lets a call run, run with other arguments, or not run; or pauses the run until that is decided.

    A call needs approval when its tool is named, has one of the tags, or the predicate says so; with none of
    the three, every call does. Arguments are what the model wrote: an edit is validated by the tool as they
    are. Stands inside the tool-calling loop, which asks it (see `base.CallGate`).

    Without `decide` the run pauses: it ends with finish reason ``paused`` and a `PausedRun` under
    ``metadata["paused_run"]``. Calls of the same answer that need no approval have run by then, and their
    results are kept in it.
    """

    def __init__(
        self,
        *,
        tools: Collection[str] = (),
        tags: Collection[str] = (),
        when: Callable[[PendingCall], bool] | None = None,
        decide: Callable[[PendingCall], Awaitable[Approve | Edit | Deny | Wait]] | None = None,
        reason: str = "This call needs approval.",
        name: str = "approval",
        order: int = APPROVAL,
    ) -> None:
        """Asks nobody yet.

        Args:
            tools: Public names.
            tags: Of tools.
            when: Whether a call needs approval; sees tool, arguments and context.
            decide: Decides on a call while the run waits; `Wait` pauses it all the same.
            reason: Why a call waits, in the paused run.
        """
        for what, given in (("tools", tools), ("tags", tags)):
            if isinstance(given, str):
                raise TypeError(f"{what} is the text {given!r}. Give a collection, such as [{given!r}].")
        self.name = name
        self.order = order
        self._tools = frozenset(tools)
        self._tags = frozenset(tags)
        self._when = when
        self._decide = decide
        self._reason = reason

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """The rest of the chain as it is: what matters comes between the rounds."""
        async with closing(chain.next(request)) as events:
            async for event in events:
                yield event

    async def review(self, pending: PendingCall) -> Approve | Edit | Deny | Wait:
        """`Approve` for a call that needs no approval; else what `decide` says, or `Wait`."""
        if not self._concerns(pending):
            return Approve()
        if self._decide is None:
            return Wait(reason=self._reason)
        return await self._decide(pending)

    def _concerns(self, pending: PendingCall) -> bool:
        if not self._tools and not self._tags and self._when is None:
            return True
        return (
            pending.tool.name in self._tools
            or not self._tags.isdisjoint(pending.tool.tags)
            or (self._when is not None and self._when(pending))
        )
