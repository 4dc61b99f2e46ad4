"""`ApprovalAdvisor`: has a person, or a program, decide on calls before they run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping

from toolsearch.advisors.base import APPROVAL, Approve, PendingCall, Verdict, Wait
from toolsearch.advisors.chain import AdvisorChain, closing
from toolsearch.chat.base import ChatEvent, ChatRequest
from toolsearch.checks import check_collection
from toolsearch.exceptions import ChainError
from toolsearch.functions.running import run
from toolsearch.naming import near_names
from toolsearch.tool_names import ToolName, ToolNames
from toolsearch.tools import Tool


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
        tools: Iterable[ToolName] = (),
        tags: Iterable[str] = (),
        when: Callable[[PendingCall], bool] | None = None,
        decide: Callable[[PendingCall], Verdict | Awaitable[Verdict]] | None = None,
        reason: str = "This call needs approval.",
        name: str = "approval",
        order: int = APPROVAL,
    ) -> None:
        """Asks nobody yet.

        Args:
            tools: Names, globs, functions or tools: see `ToolName`. `ToolRouter` and `check_names` look
                whether each is of some tool.
            tags: Of tools.
            when: Whether a call needs approval; sees tool, arguments and context.
            decide: Decides on a call while the run waits, in a thread where it is no coroutine function;
                `Wait` pauses the run all the same.
            reason: Why a call waits, in the paused run.

        Raises:
            TypeError: `tools` or `tags` is one text, or names no tool.
        """
        check_collection("tags", tags)
        self.name = name
        self.order = order
        self._tools = ToolNames(tools)
        self._tags = frozenset(tags)
        self._when = when
        self._decide = decide
        self._reason = reason

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        """The rest of the chain as it is: what matters comes between the rounds."""
        async with closing(chain.next(request)) as events:
            async for event in events:
                yield event

    async def review(self, pending: PendingCall) -> Verdict:
        """`Approve` for a call that needs no approval; else what `decide` says, or `Wait`."""
        if not self._concerns(pending):
            return Approve()
        if self._decide is None:
            return Wait(reason=self._reason)
        verdict: Verdict = await run(self._decide, pending)
        return verdict

    def check_names(self, tools: Mapping[str, Tool]) -> None:
        """Does nothing where every name and tag is of one of `tools`: a call of it can then be held.

        Raises:
            UnknownToolError: a name is of none.
            ChainError: a tag is of none.
        """
        self._tools.check_in(tools)
        missing = set(self._tags)
        for tool in tools.values() if missing else ():
            missing.difference_update(tool.tags)
            if not missing:
                return
        for tag in sorted(missing):
            known = sorted({each for tool in tools.values() for each in tool.tags})
            near = near_names(tag, known) or known[:5]
            hint = f" There are tools tagged {', '.join(map(repr, near))}." if near else ""
            raise ChainError(
                f"{self.name!r} holds calls of tools tagged {tag!r}, and no tool is.{hint}", (self.name,)
            )

    def _concerns(self, pending: PendingCall) -> bool:
        if not self._tools and not self._tags and self._when is None:
            return True
        return (
            pending.tool in self._tools
            or not self._tags.isdisjoint(pending.tool.tags)
            or (self._when is not None and self._when(pending))
        )
