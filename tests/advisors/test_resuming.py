"""A resumed run asks every gate, and tells of each call what it did, whatever is decided later."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from tests.advisors.runs import call, question, results
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve, Deny, Edit, PendingCall, Wait
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal, SqliteCallJournal
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.paused import PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatResponse
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, Message
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

paid: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_paid() -> None:
    paid.clear()


@tool
async def pay(amount: int) -> str:
    """Pays."""
    paid.append(amount)
    return f"paid {amount}"


def state(response: ChatResponse) -> PausedRun:
    """What another process reads of a run that has paused."""
    assert response.finish_reason == "paused"
    return PausedRun.model_validate_json(response.metadata["paused_run"].model_dump_json())


def asked(amount: int, call_id: str = "p") -> AssistantMessage:
    return AssistantMessage(content=(tool_call("pay", {"amount": amount}, id=call_id),))


async def at_most_100(pending: PendingCall) -> Approve | Deny:
    return Approve() if pending.arguments["amount"] <= 100 else Deny(reason="Too much.")


def shown(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """The arguments of each call of the last answer that has some, and its result."""
    answer = [each for each in messages if isinstance(each, AssistantMessage) and each.tool_calls][-1]
    texts = {each.call_id: each.text for each in results(messages)}
    return [(each.arguments, texts[each.id]) for each in answer.tool_calls]


@pytest.mark.parametrize("name", ["policy", "human"])
@pytest.mark.parametrize(
    ("wanted", "decision", "runs"),
    [
        (50_000, Approve(), []),
        (50, Edit(arguments={"amount": 99_999}), []),
        (50_000, Edit(arguments={"amount": 99}), [99]),
        (50, Approve(), [50]),
    ],
)
def test_after_a_decision_the_gates_that_come_next_are_asked(
    name: str, wanted: int, decision: Approve | Edit, runs: list[int]
) -> None:
    """Also where two of them have one name."""
    advisors: list[Advisor] = [
        ToolCallingAdvisor(),
        ApprovalAdvisor(tools=["pay"], name="human"),
        ApprovalAdvisor(decide=at_most_100, name=name, order=360),
    ]
    paused = state(call(ScriptedChatModel([asked(wanted)]), (pay,), advisors))
    model = ScriptedChatModel(["Done."])
    call(model, (pay,), advisors, paused.resume({"p": decision}))
    assert paid == runs
    ((_, text),) = shown(model.requests[0].messages)
    assert text == (f"paid {runs[0]}" if runs else "This was not run: it was not allowed. Too much.")


def test_gates_that_have_let_a_call_through_are_not_asked_again() -> None:
    said: list[tuple[str, int]] = []

    def gate(name: str, order: int, verdict: Approve | Edit | Wait) -> ApprovalAdvisor:
        async def decide(pending: PendingCall) -> Approve | Edit | Wait:
            said.append((name, pending.arguments["amount"]))
            return verdict

        return ApprovalAdvisor(decide=decide, name=name, order=order)

    advisors: list[Advisor] = [
        ToolCallingAdvisor(),
        gate("first", 351, Edit(arguments={"amount": 1})),
        gate("second", 352, Wait(reason="Second.")),
        gate("third", 353, Wait(reason="Third.")),
        gate("fourth", 354, Approve()),
    ]
    paused = state(call(ScriptedChatModel([asked(0)]), (pay,), advisors))
    assert [each.reason for each in paused.waiting] == ["Second."]
    paused = state(
        call(ScriptedChatModel([]), (pay,), advisors, paused.resume({"p": Edit(arguments={"amount": 2})}))
    )
    assert [(each.reason, each.call.arguments) for each in paused.waiting] == [("Third.", '{"amount": 2}')]
    assert paid == []
    call(ScriptedChatModel(["Done."]), (pay,), advisors, paused.resume({"p": Approve()}))
    assert said == [("first", 0), ("second", 1), ("third", 2), ("fourth", 2)]
    assert paid == [2]


def test_a_gate_that_is_only_there_when_the_run_is_resumed_is_asked() -> None:
    human = ApprovalAdvisor(tools=["pay"], name="human")
    paused = state(call(ScriptedChatModel([asked(500)]), (pay,), [ToolCallingAdvisor(), human]))
    policy = ApprovalAdvisor(decide=at_most_100, name="policy", order=310)
    model = ScriptedChatModel(["Done."])
    call(model, (pay,), [ToolCallingAdvisor(), human, policy], paused.resume({"p": Approve()}))
    assert paid == []


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize(
    "decisions",
    [
        {"a": Deny(), "b": Edit(arguments={"amount": 99})},
        {"a": Edit(arguments={"amount": 99})},
        {"b": Deny()},
    ],
)
def test_a_call_that_ran_keeps_its_arguments_and_result_whatever_is_decided_later(
    decisions: Mapping[str, Edit | Deny], kind: str, tmp_path: Path
) -> None:
    journal: CallJournal = MemoryCallJournal()
    if kind == "sqlite":
        journal = SqliteCallJournal(tmp_path / "calls.sqlite")
    advisors: list[Advisor] = [ToolCallingAdvisor(journal=journal), ApprovalAdvisor()]
    calls = [tool_call("pay", {"amount": n}, id=each) for n, each in enumerate("ab")]
    paused = state(call(ScriptedChatModel([calls]), (pay,), advisors))
    both = paused.resume({"a": Approve(), "b": Edit(arguments={"amount": 7})})
    with pytest.raises(OSError, match="gone"):
        call(ScriptedChatModel([OSError("gone")]), (pay,), advisors, both)
    model = ScriptedChatModel(["Done."])
    response = call(model, (pay,), advisors, paused.resume(decisions))
    assert sorted(paid) == [0, 7]
    told = [('{"amount": 0}', "paid 0"), ('{"amount": 7}', "paid 7")]
    assert shown(model.requests[0].messages) == told
    assert shown(response.metadata["messages"]) == told


@pytest.mark.parametrize(
    "value",
    [math.nan, -math.inf, 1e999, Decimal(1), "\ud800", {1, 2}, b"x", object(), {"a": [math.nan]}],
    ids=repr,
)
def test_an_edit_with_what_json_does_not_have_is_refused_when_it_is_made(value: object) -> None:
    with pytest.raises(ValueError, match="they have no JSON form"):
        Edit(arguments={"amount": value})
    with pytest.raises(ValueError, match="they have no JSON form"):
        TypeAdapter[Edit](Edit).validate_python({"arguments": {"amount": value}})


def test_an_edit_runs_with_what_the_conversation_shows() -> None:
    edit = Edit(arguments={"amounts": (1, 2), "names": {3: "é"}})
    assert edit.arguments == {"amounts": [1, 2], "names": {"3": "é"}}
    assert Edit.model_validate_json(edit.model_dump_json()) == edit


@pytest.mark.parametrize("order", [200, 500])
@pytest.mark.parametrize("delivery", ["append", "bridge"])
def test_a_tool_that_was_discovered_can_be_run_by_another_process(order: int, delivery: str) -> None:
    """Neither memory inside the loop nor a session store of another process tells what was discovered."""
    store = MemoryConversationStore()

    def advisors() -> list[Advisor]:
        embedder = HashingEmbedder()
        searcher = ToolSearcher(build_index(Catalog([pay]), embedder), embedder)
        return [
            ToolCallingAdvisor(),
            ApprovalAdvisor(tools=["pay"]),
            ToolSearchAdvisor(searcher, delivery=delivery),  # type: ignore[arg-type]
            MemoryAdvisor(store, order=order),
        ]

    wanted = {"name": "pay", "arguments": {"amount": 5}}
    then = tool_call("pay", {"amount": 5}) if delivery == "append" else tool_call("call_tool", wanted)
    script = ScriptedChatModel([tool_call("tool_search", {"queries": ["select:pay"]}), then])
    paused = state(call(script, (), advisors(), question("Pay.", session_id="s")))
    (waiting,) = paused.waiting
    model = ScriptedChatModel([tool_call("pay", {"amount": 6}) if delivery == "append" else "Done.", "Done."])
    response = call(model, (), advisors()[:1] + advisors()[2:], paused.resume({waiting.call.id: Approve()}))
    assert paid == ([5, 6] if delivery == "append" else [5])
    assert response.text == "Done."
    if delivery == "append":
        assert [each.name for each in model.requests[0].tools] == ["tool_search", "pay"]
