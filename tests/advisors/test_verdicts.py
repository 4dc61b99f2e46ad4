"""A decision on a call is `Approve`, `Edit` or `Deny`, wherever it comes from; anything else is told."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.advisors.runs import call, results
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve, Deny, Edit, PendingCall, Wait
from toolsearch.advisors.journal import SqliteCallJournal
from toolsearch.advisors.memory import MemoryConversationStore
from toolsearch.advisors.paused import PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.exceptions import PausedRunError, RunningLoopError
from toolsearch.functions.decorator import tool
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
def delete(path: str) -> str:
    """Delete a file."""
    ran.append(path)
    return f"{path} is gone"


CALLS = [tool_call("delete", {"path": path}, id=path) for path in ("a", "b")]
NO_DECISIONS: list[Any] = [True, None, "approve", Approve, {"kind": "approve"}, [Approve()]]
TOLD = r"Give Approve\(\), Edit\(arguments=\{\.\.\.\}\) or Deny\(reason='\.\.\.'\)\."


def asked(decide: Any) -> str:
    """What the model was told of its call."""
    advisors: list[Advisor] = [ToolCallingAdvisor(), ApprovalAdvisor(decide=decide)]
    response = call(ScriptedChatModel([CALLS[0], "Done."]), [delete], advisors)
    return results(response.metadata["messages"])[0].text


def paused() -> PausedRun:
    advisors: list[Advisor] = [ToolCallingAdvisor(), ApprovalAdvisor()]
    response = call(ScriptedChatModel([CALLS]), [delete], advisors)
    state: PausedRun = response.metadata["paused_run"]
    return state


@pytest.mark.parametrize("given", NO_DECISIONS, ids=str)
def test_what_is_no_decision_is_told_when_a_program_decides(given: Any) -> None:
    with pytest.raises(TypeError, match=f"What 'approval' decides is .*{TOLD}"):
        asked(lambda pending: given)
    assert not ran


@pytest.mark.parametrize("given", NO_DECISIONS, ids=str)
def test_what_is_no_decision_is_told_when_a_run_is_resumed(given: Any) -> None:
    with pytest.raises(TypeError, match=rf"decisions\['b'\] is .*{TOLD}"):
        paused().resume({"a": Approve(), "b": given})


def test_waiting_is_no_decision_on_a_call_that_waits() -> None:
    with pytest.raises(TypeError, match=r"decisions\['a'\] is a Wait. Leave out"):
        paused().resume({"a": Wait()})  # type: ignore[dict-item]


@pytest.mark.parametrize("given", [[Approve()], None, "approve", Approve()], ids=str)
def test_decisions_are_given_by_the_ids_of_calls(given: Any) -> None:
    with pytest.raises(TypeError, match=r"decisions is .* Give a dict by the ids of calls"):
        paused().resume(given)


def test_a_blocking_function_may_decide_and_does_not_block_the_event_loop() -> None:
    """(approval) ``decide=lambda pending: Approve()`` is enough."""
    threads = []

    def decide(pending: PendingCall) -> Edit:
        threads.append(threading.current_thread())
        return Edit(pending.arguments | {"path": "c"})

    assert asked(decide) == "c is gone"
    assert threads[0] is not threading.main_thread()


async def _deny(pending: PendingCall) -> Deny:
    return Deny(f"{pending.arguments['path']} is needed.")


def _deny_later(pending: PendingCall) -> Awaitable[Deny]:
    return _deny(pending)


@pytest.mark.parametrize("decide", [_deny, _deny_later])
def test_a_coroutine_function_may_decide(decide: Callable[[PendingCall], Awaitable[Deny]]) -> None:
    assert asked(decide) == "This was not run: it was not allowed. a is needed."


def test_decisions_are_written_shortly_or_by_name_and_read_from_json() -> None:
    assert Deny("too much") == Deny(reason="too much") == Deny.model_validate_json('{"reason": "too much"}')
    assert Edit({"a": 1}) == Edit(arguments={"a": 1}) == Edit.model_validate({"arguments": {"a": 1}})
    assert Wait("later") == Wait(reason="later")
    with pytest.raises(ValueError, match="extra"):
        Deny(why="too much")


def test_no_decision_at_all_leaves_the_run_as_it_is() -> None:
    state = paused()
    with pytest.raises(PausedRunError, match="Decide on at least one of the calls 'a', 'b'"):
        state.resume({})
    loop: list[Advisor] = [ToolCallingAdvisor(), ApprovalAdvisor()]
    decisions = {"a": Approve(), "b": Approve()}
    assert call(ScriptedChatModel(["Done."]), [delete], loop, state.resume(decisions)).text == "Done."


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_run_that_paused_again_goes_on_from_there_alone(kind: str, tmp_path: Any) -> None:
    journal = SqliteCallJournal(tmp_path / "calls.sqlite") if kind == "sqlite" else None
    loop: list[Advisor] = [ToolCallingAdvisor(journal=journal), ApprovalAdvisor()]
    first = paused()
    second = call(ScriptedChatModel([]), [delete], loop, first.resume({"a": Approve()}))
    with pytest.raises(PausedRunError, match="paused again, resume the paused_run of that response"):
        call(ScriptedChatModel([]), [delete], loop, first.resume({"b": Approve()}))
    state = second.metadata["paused_run"]
    assert call(ScriptedChatModel(["Done."]), [delete], loop, state.resume({"b": Approve()})).text == "Done."
    assert ran == ["a", "b"]


def router(*script: Any) -> ToolRouter:
    return ToolRouter(
        ScriptedChatModel(script),
        [delete],
        pinned=[delete],
        approval=ApprovalAdvisor(tools=[delete]),
        memory=MemoryConversationStore(),
        embedder=HashingEmbedder(),
    )


def test_a_run_is_resumed_without_an_event_loop() -> None:
    made = router(CALLS[0], "Done.")
    state = made.run_sync("Tidy up.", session_id="1").metadata["paused_run"]
    assert made.resume_sync(state, {"a": Approve()}).text == "Done."
    assert ran == ["a"]


def test_within_an_event_loop_resume_is_to_be_awaited() -> None:
    made = router(CALLS[0], "Done.")

    async def main() -> None:
        state = (await made.run("Tidy up.", session_id="1")).metadata["paused_run"]
        with pytest.raises(RunningLoopError, match=r"await resume\(...\), not resume_sync\(...\)"):
            made.resume_sync(state, {"a": Approve()})

    asyncio.run(main())
    assert not ran


def test_the_json_of_a_paused_run_must_be_read_first() -> None:
    made = router(CALLS[0])
    state = made.run_sync("Tidy up.", session_id="1").metadata["paused_run"]
    with pytest.raises(TypeError, match=r"paused is the text .*PausedRun\.model_validate_json reads one"):
        made.resume_sync(state.model_dump_json(), {"a": Approve()})


def test_a_run_that_is_being_resumed_goes_on_once_it_is_taken_over() -> None:
    async def main() -> None:
        began, goes_on = asyncio.Event(), asyncio.Event()

        @tool
        async def wipe() -> str:
            """Wipe the disk."""
            ran.append("wipe")
            began.set()
            await goes_on.wait()
            return "wiped"

        made = ToolRouter(
            ScriptedChatModel([tool_call("wipe", id="w"), "Done."]),
            [wipe],
            pinned=[wipe],
            approval=ApprovalAdvisor(),
            embedder=HashingEmbedder(),
        )
        state = (await made.run("Tidy up.")).metadata["paused_run"]
        first = asyncio.create_task(made.resume(state, {"w": Approve()}))
        await began.wait()
        with pytest.raises(PausedRunError, match="take_over=True"):
            await made.resume(state, {"w": Approve()})
        assert (await made.resume(state, {"w": Approve()}, take_over=True)).text == "Done."
        goes_on.set()
        with pytest.raises(PausedRunError, match="taken over"):
            await first

    asyncio.run(main())
    assert ran == ["wipe"]
