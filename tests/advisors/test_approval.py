"""Calls wait for a decision, in this process or another, and none runs twice."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.advisors.runs import call, question, results
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve, Deny, Edit, PendingCall, Wait
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal, SqliteCallJournal
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.paused import PausedRun, resumption_of
from toolsearch.advisors.record import NotedCall, record_of
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatResponse, Usage
from toolsearch.exceptions import PausedRunError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, UserMessage
from toolsearch.testing import ScriptedChatModel, tool_call
from toolsearch.tools import Tool

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool(tags=["read"])
async def read(path: str) -> str:
    """Reads."""
    ran.append(f"read {path}")
    return f"text of {path}"


@tool(tags=["danger"])
async def delete(path: str) -> str:
    """Deletes."""
    ran.append(f"delete {path}")
    return f"{path} is gone"


TOOLS: tuple[Tool, ...] = (read, delete)
BOTH = [tool_call("read", {"path": "a"}, id="r"), tool_call("delete", {"path": "b"}, id="d")]


def advisors(journal: CallJournal | None = None, **approval: Any) -> list[Advisor]:
    return [ToolCallingAdvisor(journal=journal), ApprovalAdvisor(**(approval or {"tools": ["delete"]}))]


def paused(response: ChatResponse) -> PausedRun:
    """The state of a paused run, read by another process."""
    assert response.finish_reason == "paused"
    return PausedRun.model_validate_json(response.metadata["paused_run"].model_dump_json())


@pytest.mark.parametrize(
    ("approval", "asked"),
    [
        ({"tools": ["delete"]}, ["d"]),
        ({"tags": ["danger", "other"]}, ["d"]),
        ({"when": lambda pending: pending.arguments["path"] == "a"}, ["r"]),
        ({"tools": ["delete"], "tags": ["read"]}, ["r", "d"]),
        ({"reason": "Every call."}, ["r", "d"]),
    ],
)
def test_approval_is_by_tool_by_tag_by_predicate_or_of_all(
    approval: dict[str, Any], asked: list[str]
) -> None:
    response = call(ScriptedChatModel([BOTH]), TOOLS, advisors(**approval))
    assert [waiting.call.id for waiting in paused(response).waiting] == asked
    assert [each.split()[0] for each in ran] == [name for name in ("read", "delete") if name[0] not in asked]


def test_a_decision_can_be_taken_while_the_run_waits() -> None:
    async def decide(pending: PendingCall) -> Approve | Edit | Deny:
        match pending.arguments["path"]:
            case "yes":
                return Approve()
            case "other":
                return Edit(arguments={"path": "this"})
            case _:
                return Deny(reason="Not that one.")

    calls = [tool_call("delete", {"path": path}, id=path) for path in ("yes", "other", "no")]
    model = ScriptedChatModel([calls, "Done."])
    response = call(model, TOOLS, advisors(decide=decide))
    assert (response.text, ran) == ("Done.", ["delete yes", "delete this"])
    asked, *answers = response.metadata["messages"]
    assert [each.arguments for each in asked.tool_calls] == [
        '{"path": "yes"}',
        '{"path": "this"}',
        '{"path": "no"}',
    ]
    assert [each.text for each in results(answers)] == [
        "yes is gone",
        "this is gone",
        "This was not run: it was not allowed. Not that one.",
    ]


def test_a_run_pauses_and_another_process_resumes_it() -> None:
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors(), question("Tidy up.", session_id="s")))
    assert ran == ["read a"]
    assert [(each.call.name, each.reason) for each in state.waiting] == [
        ("delete", "This call needs approval.")
    ]

    model = ScriptedChatModel(["Tidy."])
    response = call(model, TOOLS, advisors(), state.resume({"d": Approve()}))
    assert ran == ["read a", "delete b"]
    assert (response.text, response.finish_reason) == ("Tidy.", "stop")
    question_, asked, *answers = model.requests[0].messages
    assert question_ == UserMessage.of("Tidy up.")
    assert asked == AssistantMessage(content=tuple(BOTH))
    assert [(each.call_id, each.text) for each in results(answers)] == [
        ("r", "text of a"),
        ("d", "b is gone"),
    ]
    assert model.requests[0].context == {"session_id": "s", "tenant": ""}
    assert response.metadata["rounds"] == 2


def test_denying_and_editing_work_after_a_pause_too() -> None:
    calls = [tool_call("delete", {"path": path}, id=path) for path in ("x", "y")]
    state = paused(call(ScriptedChatModel([calls]), TOOLS, advisors()))
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, advisors(), state.resume({"x": Deny(), "y": Edit(arguments={"path": "z"})}))
    assert ran == ["delete z"]
    refused, done = results(model.requests[0].messages)
    assert (refused.text, refused.is_error) == ("This was not run: it was not allowed.", True)
    assert done.text == "z is gone"


def test_calls_without_a_decision_go_on_waiting() -> None:
    calls = [tool_call("delete", {"path": path}, id=path) for path in ("x", "y")]
    first = paused(call(ScriptedChatModel([calls]), TOOLS, advisors()))
    second = paused(call(ScriptedChatModel([]), TOOLS, advisors(), first.resume({"y": Approve()})))
    assert [each.call.id for each in second.waiting] == ["x"]
    response = call(ScriptedChatModel(["Done."]), TOOLS, advisors(), second.resume({"x": Approve()}))
    assert ran == ["delete y", "delete x"]
    assert [each.call_id for each in results(response.metadata["messages"])] == ["x", "y"]


def test_the_edited_arguments_are_validated_by_the_tool() -> None:
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, advisors(), state.resume({"d": Edit(arguments={"pfad": "b"})}))
    assert ran == ["read a"]
    assert results(model.requests[0].messages)[1].is_error


def test_a_call_whose_tool_is_gone_is_named_and_waits_for_a_chain_that_has_it() -> None:
    """Also where it is edited; nothing is used up, and a call that is denied needs no tool."""
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    shared = advisors()
    for decision in (Approve(), Edit(arguments={"path": "c"})):
        with pytest.raises(PausedRunError, match="to call 'delete', which this chain does not") as caught:
            call(ScriptedChatModel([]), (read,), shared, state.resume({"d": decision}))
        assert caught.value.call_ids == ("d",)
    assert ran == ["read a"]
    call(ScriptedChatModel(["Done."]), TOOLS, shared, state.resume({"d": Approve()}))
    assert ran == ["read a", "delete b"]
    model = ScriptedChatModel(["Done."])
    call(model, (read,), advisors(), state.resume({"d": Deny()}))
    assert "not allowed" in results(model.requests[0].messages)[1].text


def test_a_decision_on_another_call_is_refused() -> None:
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    with pytest.raises(PausedRunError, match="No call 'r' is waiting; there are 'd'") as caught:
        state.resume({"r": Approve()})
    assert caught.value.call_ids == ("r",)


def test_usage_rounds_and_limits_go_on_where_the_run_paused() -> None:
    def calls(name: str) -> ChatResponse:
        message = AssistantMessage(content=(tool_call(name, {"path": "a"}, id=name),))
        return ChatResponse(message, "tool_calls", Usage(10, 1))

    loop: list[Advisor] = [
        ToolCallingAdvisor(limits=LoopLimits(rounds=3)),
        ApprovalAdvisor(tools=["delete"]),
    ]
    state = paused(call(ScriptedChatModel([calls("read"), calls("delete")]), TOOLS, loop))
    assert (state.rounds, state.usage) == (2, Usage(20, 2))
    response = call(ScriptedChatModel([calls("read")]), TOOLS, loop, state.resume({"delete": Approve()}))
    assert (response.finish_reason, response.metadata["rounds"]) == ("limit", 3)
    assert response.usage == Usage(30, 3)
    assert len(results(response.metadata["messages"])) == 3


def test_the_last_round_is_the_last_after_a_pause_too() -> None:
    loop: list[Advisor] = [
        ToolCallingAdvisor(limits=LoopLimits(rounds=2, on_limit="tell")),
        ApprovalAdvisor(tools=["delete"]),
    ]
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, loop))
    model = ScriptedChatModel(["Done."])
    response = call(model, TOOLS, loop, state.resume({"d": Approve()}))
    assert model.requests[0].tool_choice == "none"
    assert response.metadata["limit"].kind == "rounds"


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_run_that_came_to_its_end_cannot_be_resumed_again(kind: str, tmp_path: Path) -> None:
    journal: CallJournal = MemoryCallJournal()
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    if kind == "sqlite":
        journal = SqliteCallJournal(tmp_path / "calls.sqlite")
    call(ScriptedChatModel(["Done."]), TOOLS, advisors(journal), state.resume({"d": Approve()}))
    if kind == "sqlite":
        journal = SqliteCallJournal(tmp_path / "calls.sqlite")
    with pytest.raises(PausedRunError, match="resumed before and went on from here, to its end"):
        call(ScriptedChatModel([]), TOOLS, advisors(journal), state.resume({"d": Approve()}))
    assert ran == ["read a", "delete b"]


def test_a_resumed_run_can_be_tried_again_after_the_model_failed() -> None:
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    loop = advisors()
    with pytest.raises(OSError, match="gone"):
        call(ScriptedChatModel([OSError("gone")]), TOOLS, loop, state.resume({"d": Approve()}))
    response = call(ScriptedChatModel(["Done."]), TOOLS, loop, state.resume({"d": Approve()}))
    assert (response.text, ran) == ("Done.", ["read a", "delete b"])


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_call_that_had_begun_when_the_process_died_is_not_run_again(kind: str, tmp_path: Path) -> None:
    journal = MemoryCallJournal() if kind == "memory" else SqliteCallJournal(tmp_path / "calls.sqlite")
    state = paused(call(ScriptedChatModel([BOTH]), TOOLS, advisors()))
    request = state.resume({"d": Approve()})

    async def begin() -> None:
        async with record_of(journal, resumption_of(request)) as record:
            assert record is not None
            await record.note_call(NotedCall(BOTH[1]))

    asyncio.run(begin())
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, advisors(journal), request)
    assert ran == ["read a"]
    assert "not known whether this call ran" in results(model.requests[0].messages)[1].text


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_run_in_a_journal_has_one_holder_who_alone_may_write_on_it(kind: str, tmp_path: Path) -> None:
    journal = MemoryCallJournal() if kind == "memory" else SqliteCallJournal(tmp_path / "calls.sqlite")
    assert not journal.note("run", "a", "x", "1")
    assert journal.take("run", "a") == {}
    assert journal.take("run", "b") == "held"
    assert journal.take("other", "b") == {}
    assert journal.note("run", "a", "x", "1")
    assert journal.note("run", "a", "x", "2")
    assert journal.note("run", "a", "", "3")
    assert not journal.note("run", "b", "y", "4")
    assert not journal.end("run", "b")
    journal.leave("run", "b")
    assert journal.take("run", "b") == "held"
    assert journal.take("run", "b", over=True) == {"x": "2", "": "3"}
    assert not journal.note("run", "a", "x", "5")
    assert not journal.end("run", "a")
    journal.leave("run", "b")
    assert not journal.note("run", "b", "x", "5")
    assert journal.take("run", "a") == {"x": "2", "": "3"}
    assert journal.end("run", "a")
    assert journal.take("run", "c") == journal.take("run", "c", over=True) == "ended"
    assert journal.take("other", "c") == "held"


def test_a_call_is_noted_when_it_is_done_not_when_all_are() -> None:
    noted = threading.Event()

    class Journal(MemoryCallJournal):
        def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
            if "gone" in text:
                noted.set()
            return super().note(run_id, holder, name, text)

    @tool
    def delete(path: str) -> str:
        """Deletes."""
        return "gone" if path == "x" or noted.wait(30) else "nothing was noted"

    calls = [tool_call("delete", {"path": path}, id=path) for path in "xy"]
    state = paused(call(ScriptedChatModel([calls]), [delete], advisors()))
    model = ScriptedChatModel(["Done."])
    call(model, [delete], advisors(Journal()), state.resume({"x": Approve(), "y": Approve()}))
    assert [each.text for each in results(model.requests[0].messages)] == ["gone", "gone"]


@pytest.mark.parametrize(("broken", "runs"), [(1, ["delete y"]), (2, ["delete x", "delete y"])])
def test_a_journal_that_fails_ends_the_run_once_the_other_calls_are_noted(
    broken: int, runs: list[str]
) -> None:
    """Whether it does before the call runs or after it; nothing runs again by that."""
    notes: list[str] = []

    class Journal(MemoryCallJournal):
        def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
            notes.append(name)
            if name == "0/x" and notes.count(name) == broken:
                raise OSError("disk full")
            return super().note(run_id, holder, name, text)

    calls = [tool_call("delete", {"path": path}, id=path) for path in "xy"]
    state = paused(call(ScriptedChatModel([calls]), TOOLS, advisors()))
    loop, request = advisors(Journal()), state.resume({"x": Approve(), "y": Approve()})
    with pytest.raises(OSError, match="disk full"):
        call(ScriptedChatModel([]), TOOLS, loop, request)
    assert sorted(ran) == runs
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, loop, request)
    assert sorted(ran) == ["delete x", "delete y"]
    x, y = results(model.requests[0].messages)
    assert y.text == "y is gone"
    assert ("not known whether" in x.text) == (broken == 2)


def test_a_journal_in_memory_is_bounded_but_for_runs_that_go_on() -> None:
    journal = MemoryCallJournal(max_runs=2)
    for run_id in ("a", "b", "c", "d"):
        assert journal.take(run_id, "x") == {}
        assert journal.note(run_id, "x", "n", "1")
        if run_id != "a":
            journal.leave(run_id, "x")
    assert journal.take("d", "y") == {"n": "1"}
    assert journal.take("b", "y") == {}
    assert journal.note("a", "x", "n", "1")


def test_gates_are_asked_in_order_and_the_first_objection_counts() -> None:
    asked: list[tuple[str, str]] = []

    def gate(name: str, verdict: Approve | Edit | Deny | Wait) -> ApprovalAdvisor:
        async def decide(pending: PendingCall) -> Approve | Edit | Deny | Wait:
            asked.append((name, pending.arguments["path"]))
            return verdict

        return ApprovalAdvisor(decide=decide, name=name)

    gates = [gate("1", Edit(arguments={"path": "x"})), gate("2", Deny(reason="No.")), gate("3", Approve())]
    call(ScriptedChatModel([BOTH[1], "Done."]), TOOLS, [ToolCallingAdvisor(), *gates])
    assert asked == [("1", "b"), ("2", "x")]
    assert ran == []


def test_a_call_that_cannot_run_asks_nobody() -> None:
    async def decide(pending: PendingCall) -> Approve:
        raise AssertionError(pending.call.name)

    model = ScriptedChatModel([tool_call("unknown"), "Done."])
    assert call(model, TOOLS, advisors(decide=decide, reason="all")).text == "Done."


@pytest.mark.parametrize("inside", [False, True])
def test_memory_holds_a_paused_run_once_and_whole(inside: bool) -> None:
    store = MemoryConversationStore()
    memory = MemoryAdvisor(store, order=500 if inside else 200)
    loop = [*advisors(), memory]
    request = question("Tidy up.", session_id="s")
    script = ScriptedChatModel([tool_call("read", {"path": "0"}, id="0"), BOTH])
    state = paused(call(script, TOOLS, loop, request))
    model = ScriptedChatModel(["Tidy.", "Yes."])
    call(model, TOOLS, loop, state.resume({"d": Approve()}))
    roles = [message.role for message in store.messages("s", "")]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    call(model, TOOLS, loop, replace(request, messages=(UserMessage.of("Really?"),)))
    assert [m.role for m in model.requests[1].messages] == [*roles, "user"]
    assert model.requests[0].messages == store.messages("s", "")[:6]


def test_text_in_the_place_of_names_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Give a collection, such as \['delete'\]"):
        ApprovalAdvisor(tools="delete")


def test_two_runs_may_wait_at_once() -> None:
    async def both() -> tuple[ChatResponse, ChatResponse]:
        chain = AdvisorChain(ScriptedChatModel([BOTH, BOTH]), advisors(), TOOLS)
        return await asyncio.gather(chain.call(question("a")), chain.call(question("b")))

    first, second = map(paused, asyncio.run(both()))
    assert first.id != second.id
    call(ScriptedChatModel(["Done."]), TOOLS, advisors(), first.resume({"d": Approve()}))
    assert ran.count("delete b") == 1
