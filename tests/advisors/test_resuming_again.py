"""A run is resumed by one at a time, and goes on from where it broke off: nothing is asked or run again."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.advisors.runs import call, question, results, stream
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve, Deny, Edit, PendingCall
from toolsearch.advisors.chain import AdvisorChain, response_of
from toolsearch.advisors.failures import ErrorPolicy
from toolsearch.advisors.journal import CallJournal, MemoryCallJournal, SqliteCallJournal, Taken
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.paused import Decision, PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RunFinished, Usage
from toolsearch.exceptions import PausedRunError
from toolsearch.functions import tool
from toolsearch.messages import MESSAGES, AssistantMessage, Message, OpaquePart, TextPart, ToolCall
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> CallJournal:
    return MemoryCallJournal() if request.param == "memory" else SqliteCallJournal(tmp_path / "calls.sqlite")


@tool
async def pay(to: str) -> str:
    """Pays."""
    ran.append(f"pay {to}")
    return f"{to} is paid"


@tool
async def look(at: str) -> str:
    """Looks."""
    ran.append(f"look {at}")
    return f"{at} is there"


@tool
async def climb(on: str) -> str:
    """Climbs."""
    ran.append(f"climb {on}")
    raise PermissionError(on)


TOOLS = (pay, look, climb)


def pays(*whom: str) -> list[ToolCall]:
    return [tool_call("pay", {"to": each}, id=each) for each in whom]


def looks(at: str) -> ChatResponse:
    message = AssistantMessage(content=(tool_call("look", {"at": at}, id=at),))
    return ChatResponse(message, "tool_calls", Usage(10, 1))


def loop(journal: CallJournal, **options: Any) -> list[Advisor]:
    return [ToolCallingAdvisor(journal=journal, **options), ApprovalAdvisor(tools=["pay"])]


def state(response: ChatResponse) -> PausedRun:
    """What another process reads of a run that has paused."""
    assert response.finish_reason == "paused"
    return PausedRun.model_validate_json(response.metadata["paused_run"].model_dump_json())


def paused(calls: Sequence[ToolCall], advisors: Sequence[Advisor]) -> PausedRun:
    return state(call(ScriptedChatModel([list(calls)]), TOOLS, advisors))


def at_once(*runs: tuple[list[Advisor], ChatRequest, Sequence[Any]]) -> list[Any]:
    """What came of runs that go on side by side: responses or errors."""

    async def all_of_them() -> list[Any]:
        chains = [AdvisorChain(ScriptedChatModel(script), advisors, TOOLS) for advisors, _, script in runs]
        asked = (chain.call(request) for chain, (_, request, _) in zip(chains, runs, strict=True))
        return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(all_of_them())


def one_of(outcomes: list[Any]) -> ChatResponse:
    """The response of the one run that went on; the other is told, while it does or after that."""
    (went_on,) = (each for each in outcomes if isinstance(each, ChatResponse))
    (told,) = (str(each) for each in outcomes if isinstance(each, PausedRunError))
    assert told.startswith(("This run is being resumed already.", "This run was resumed before"))
    return went_on


def test_of_two_that_decide_on_a_part_of_the_calls_at_once_one_goes_on(journal: CallJournal) -> None:
    run = paused(pays("x", "y"), loop(journal))
    again = state(one_of(at_once(*((loop(journal), run.resume({each: Approve()}), ()) for each in "xy"))))
    (left,) = (waiting.call.id for waiting in again.waiting)
    call(ScriptedChatModel(["Done."]), TOOLS, loop(journal), again.resume({left: Approve()}))
    for each in "xy":
        with pytest.raises(PausedRunError, match="resume the paused_run of that response"):
            call(ScriptedChatModel([]), TOOLS, loop(journal), run.resume({each: Approve()}))
    assert sorted(ran) == ["pay x", "pay y"]


@pytest.mark.parametrize("decisions", [(Approve(), Deny()), (Deny(), Approve())])
def test_of_approve_and_deny_at_once_one_stands(
    journal: CallJournal, decisions: tuple[Decision, ...]
) -> None:
    run = paused(pays("x"), loop(journal))
    response = one_of(at_once(*((loop(journal), run.resume({"x": each}), ["Done."]) for each in decisions)))
    (told,) = results(response.metadata["messages"])
    assert told.text in {"x is paid", "This was not run: it was not allowed."}
    assert ran == (["pay x"] if told.text == "x is paid" else [])


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (Deny("Too much."), Approve(), "This was not run: it was not allowed. Too much."),
        (Approve(), Deny("Too much."), "x is paid"),
        (Edit({"to": "y"}), Approve(), "y is paid"),
    ],
)
def test_the_decision_that_the_model_was_to_be_told_of_stands(
    journal: CallJournal, first: Decision, second: Decision, told: str
) -> None:
    run = paused(pays("x"), loop(journal))
    with pytest.raises(OSError, match="gone"):
        call(ScriptedChatModel([OSError("gone")]), TOOLS, loop(journal), run.resume({"x": first}))
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, loop(journal), run.resume({"x": second}))
    assert [each.text for each in results(model.requests[0].messages)] == [told]
    assert len(ran) == (told != "This was not run: it was not allowed. Too much.")


@pytest.mark.parametrize("memory_order", [None, 200, 500])
@pytest.mark.parametrize("breaks_in", [(1,), (2,), (3,), (1, 2, 2, 3)])
def test_a_resumed_run_that_breaks_off_goes_on_as_one_that_does_not(
    journal: CallJournal, breaks_in: tuple[int, ...], memory_order: int | None
) -> None:
    """The model is sent the same, and answers the same; each round is asked for and each call run once."""
    rounds = [looks("a"), looks("b"), ChatResponse(AssistantMessage.of("Done."), usage=Usage(5, 5))]

    def whole(breaks: Sequence[int], of: CallJournal) -> tuple[ChatResponse, list[ChatRequest], list[str]]:
        ran.clear()
        store = MemoryConversationStore()

        def advisors() -> list[Advisor]:
            if memory_order is None:
                return loop(of)
            return [*loop(of), MemoryAdvisor(store, order=memory_order)]

        asked = question("Go.", session_id="s")
        run = state(call(ScriptedChatModel([pays("x")]), TOOLS, advisors(), asked))
        request, sent, left = run.resume({"x": Approve()}), list[ChatRequest](), list[Any](rounds)
        for number in breaks:
            until = number - 1 - (len(rounds) - len(left))
            model = ScriptedChatModel([*left[:until], OSError("gone")])
            with pytest.raises(OSError, match="gone"):
                call(model, TOOLS, advisors(), request)
            sent += model.requests[:until]
            left = left[until:]
        model = ScriptedChatModel(left)
        response = call(model, TOOLS, advisors(), request)
        kept = [] if memory_order is None else list(store.messages("s", ""))
        return response, [*sent, *model.requests], [*ran, *map(repr, kept)]

    response, sent, did = whole(breaks_in, journal)
    expected, expected_sent, expected_did = whole((), MemoryCallJournal())
    assert did[:3] == ["pay x", "look a", "look b"]
    assert did == expected_did
    assert [each.messages for each in sent] == [each.messages for each in expected_sent]
    assert (response.text, response.usage) == (expected.text, expected.usage)
    assert response.metadata["messages"] == expected.metadata["messages"]
    assert response.metadata["rounds"] == expected.metadata["rounds"] == 4


def test_the_calls_of_a_later_round_that_broke_off_are_told_as_they_ran(journal: CallJournal) -> None:
    """Those that were refused stay so, though the next process would let them run."""
    asked: list[str] = []

    def decide(pending: PendingCall) -> Approve | Edit | Deny:
        asked.append(pending.call.id)
        verdicts: dict[str, Approve | Edit | Deny] = {"e": Edit({"at": "edited"}), "d": Deny()}
        return verdicts.get(pending.call.id, Approve())

    def advisors(*rethrow: type[Exception]) -> list[Advisor]:
        manager = ToolCallingManager(errors=ErrorPolicy(rethrow=rethrow))
        gate = ApprovalAdvisor(tools=["look", "climb"], decide=decide, name="other")
        return [*loop(journal, manager=manager), gate]

    run = paused(pays("x"), advisors())
    request = run.resume({"x": Approve()})
    calls = [
        tool_call("look", {"at": "as asked"}, id="e"),
        tool_call("look", {"at": "denied"}, id="d"),
        tool_call("climb", {"on": "it"}, id="c"),
        ToolCall(id="i", name="look", arguments="{"),
    ]
    with pytest.raises(PermissionError):
        call(ScriptedChatModel([calls]), TOOLS, advisors(PermissionError), request)
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, advisors(PermissionError), request)
    assert asked == ["e", "d", "c"]
    assert sorted(ran) == ["climb it", "look edited", "pay x"]
    e, d, c, i = results(model.requests[0].messages)[-4:]
    assert (e.text, d.text) == ("edited is there", "This was not run: it was not allowed.")
    assert "failed for a reason that cannot be shown" in c.text
    assert "JSON" in i.text


def test_what_waits_in_a_later_round_that_broke_off_waits_after_it(journal: CallJournal) -> None:
    run = paused(pays("x"), loop(journal))
    manager = ToolCallingManager(errors=ErrorPolicy(rethrow=(PermissionError,)))
    calls = [*pays("y"), tool_call("climb", {"on": "it"}, id="c")]
    with pytest.raises(PermissionError):
        call(ScriptedChatModel([calls]), TOOLS, loop(journal, manager=manager), run.resume({"x": Approve()}))
    again = state(call(ScriptedChatModel([]), TOOLS, loop(journal), run.resume({"x": Approve()})))
    assert [waiting.call.id for waiting in again.waiting] == ["y"]
    assert [each.call_id for each in again.results] == ["c"]
    call(ScriptedChatModel(["Done."]), TOOLS, loop(journal), again.resume({"y": Approve()}))
    assert ran == ["pay x", "climb it", "pay y"]


def test_about_a_call_of_a_later_round_that_had_not_begun_only_new_gates_are_asked() -> None:
    is_full = True

    class Journal(MemoryCallJournal):
        def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
            if name == "1/a" and is_full:
                raise OSError("disk full")
            return super().note(run_id, holder, name, text)

    asked: list[tuple[str, str]] = []

    def gate(name: str, verdict: Edit | Deny) -> ApprovalAdvisor:
        def decide(pending: PendingCall) -> Edit | Deny:
            asked.append((name, pending.arguments["at"]))
            return verdict

        return ApprovalAdvisor(tools=["look"], decide=decide, name=name)

    advisors = [*loop(Journal()), gate("old", Edit({"at": "b"}))]
    request = paused(pays("x"), advisors).resume({"x": Approve()})
    with pytest.raises(OSError, match="disk full"):
        call(ScriptedChatModel([looks("a")]), TOOLS, advisors, request)
    is_full = False
    model = ScriptedChatModel(["Done."])
    call(model, TOOLS, [*advisors, gate("policy", Deny("Policy."))], request)
    assert results(model.requests[0].messages)[-1].text == "This was not run: it was not allowed. Policy."
    assert asked == [("old", "a"), ("policy", "b")]
    assert ran == ["pay x"]


def test_a_run_that_is_taken_over_ends_where_it_was_and_runs_nothing_more(journal: CallJournal) -> None:
    request = paused(pays("x"), loop(journal))

    async def both() -> tuple[ChatResponse, ScriptedChatModel]:
        began, goes_on = asyncio.Event(), asyncio.Event()

        @tool(name="pay")
        async def slowly(to: str) -> str:
            """Pays."""
            ran.append(f"pay {to}")
            began.set()
            await goes_on.wait()
            return f"{to} is paid"

        slow = AdvisorChain(ScriptedChatModel([looks("never")]), loop(journal), (slowly, look))
        first = asyncio.create_task(slow.call(request.resume({"x": Approve()})))
        await began.wait()
        model = ScriptedChatModel(["Done."])
        second = AdvisorChain(model, loop(journal), TOOLS)
        with pytest.raises(PausedRunError, match="being resumed already"):
            await second.call(request.resume({"x": Deny()}))
        response = await second.call(request.resume({"x": Deny()}, take_over=True))
        goes_on.set()
        with pytest.raises(PausedRunError, match="taken over by another resume"):
            await first
        return response, model

    response, model = asyncio.run(both())
    assert response.text == "Done."
    assert "not known whether this call ran" in results(model.requests[0].messages)[0].text
    assert ran == ["pay x"]


def test_a_run_that_is_cancelled_may_be_resumed_again(journal: CallJournal) -> None:
    run = paused(pays("x"), loop(journal)).resume({"x": Approve()})

    async def main() -> ChatResponse:
        asked = asyncio.Event()

        class Hangs(ScriptedChatModel):
            async def complete(self, request: ChatRequest) -> ChatResponse:
                asked.set()
                await asyncio.Event().wait()
                return await super().complete(request)

        task = asyncio.create_task(AdvisorChain(Hangs([]), loop(journal), TOOLS).call(run))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await AdvisorChain(ScriptedChatModel(["Done."]), loop(journal), TOOLS).call(run)

    assert asyncio.run(main()).text == "Done."
    assert ran == ["pay x"]


def test_a_limit_that_was_reached_holds_when_the_run_is_resumed_again(journal: CallJournal) -> None:
    limits = LoopLimits(tokens=15, on_limit="tell")
    request = paused(pays("x"), loop(journal)).resume({"x": Approve()})
    script = ScriptedChatModel([looks("a"), looks("b"), OSError("gone")])
    with pytest.raises(OSError, match="gone"):
        call(script, TOOLS, loop(journal, limits=limits), request)
    model = ScriptedChatModel(["Done."])
    response = call(model, TOOLS, loop(journal, limits=limits), request)
    assert model.requests[0].tool_choice == "none"
    assert response.metadata["limit"].kind == "tokens"
    assert ran == ["pay x", "look a"]


def test_the_time_of_the_rounds_before_counts_when_the_run_is_resumed_again(journal: CallJournal) -> None:
    now = [0.0]

    @tool(name="look")
    async def slowly(at: str) -> str:
        """Looks."""
        now[0] += 8
        return f"{at} is there"

    def advisors() -> list[Advisor]:
        return loop(journal, limits=LoopLimits(wall_time_s=10), clock=lambda: now[0])

    request = paused(pays("x"), advisors()).resume({"x": Approve()})
    with pytest.raises(OSError, match="gone"):
        call(ScriptedChatModel([looks("a"), OSError("gone")]), (pay, slowly), advisors(), request)
    now[0] = 100
    response = call(ScriptedChatModel([looks("b"), looks("c")]), (pay, slowly), advisors(), request)
    assert (response.finish_reason, response.metadata["rounds"]) == ("limit", 4)


def test_a_tool_that_was_discovered_in_a_round_before_is_offered_by_another_process(
    journal: CallJournal,
) -> None:
    """Neither memory inside the loop nor a session store of another process tells what was discovered."""
    store = MemoryConversationStore()

    def advisors() -> list[Advisor]:
        embedder = HashingEmbedder()
        searcher = ToolSearcher(build_index(Catalog(TOOLS), embedder), embedder)
        search = ToolSearchAdvisor(searcher, delivery="append", pinned=["pay"])
        return [*loop(journal), search, MemoryAdvisor(store, order=500)]

    asked = question("Go.", session_id="s")
    request = state(call(ScriptedChatModel([pays("x")]), (), advisors(), asked)).resume({"x": Approve()})
    found = tool_call("tool_search", {"queries": ["select:look"]}, id="f")
    with pytest.raises(OSError, match="gone"):
        call(ScriptedChatModel([found, looks("a"), OSError("gone")]), (), advisors(), request)
    model = ScriptedChatModel([looks("b"), "Done."])
    call(model, (), advisors(), request)
    assert [each.name for each in model.requests[0].tools] == ["tool_search", "pay", "look"]
    assert ran == ["pay x", "look a", "look b"]


def test_a_journal_without_notes_is_used_though_it_is_falsy() -> None:
    class Notes(MemoryCallJournal):
        taken = 0

        def __len__(self) -> int:
            return self.taken

        def take(self, run_id: str, holder: str, *, over: bool = False) -> Taken:
            self.taken += 1
            return super().take(run_id, holder, over=over)

    journal = Notes()
    run = paused(pays("x"), loop(journal))
    call(ScriptedChatModel(["Done."]), TOOLS, loop(journal), run.resume({"x": Approve()}))
    assert journal.taken == 1


def test_a_run_whose_texts_hold_half_a_surrogate_pair_pauses_and_is_resumed(journal: CallJournal) -> None:
    """The half becomes U+FFFD in the user's text, the model's and the names and ids of calls."""
    half = "\udc80"

    def answer(call_id: str, name: str) -> ChatResponse:
        said = AssistantMessage(
            content=(
                TextPart(text=f"So {half}."),
                OpaquePart(provider="p", data={half: [half]}),
                tool_call(name, {"to": "x"}, id=call_id),
                ToolCall(id=half, name=f"no{half}", arguments=f'{{"to": "{half}"}}'),
            )
        )
        return ChatResponse(said, "tool_calls")

    first = call(ScriptedChatModel([answer("x", "pay")]), TOOLS, loop(journal), question(f"Go {half}."))
    run = state(first)
    assert "\ufffd" in run.messages[0].text
    assert run.answer.text == "So \ufffd."
    model = ScriptedChatModel([answer("l", "look"), f"Done {half}."])
    response = call(model, TOOLS, loop(journal), run.resume({"x": Approve()}))
    assert response.text == "Done \ufffd."
    MESSAGES.dump_json(response.metadata["messages"])


class FailsAtFirst:
    """An advisor outside the loop that raises once the loop is done, `times` times."""

    name = "outermost"

    def __init__(self, times: int, order: int = 100) -> None:
        self.times = times
        self.order = order

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        async for event in chain.next(request):
            if isinstance(event, RunFinished) and self.times:
                self.times -= 1
                raise OSError("gone")
            yield event


def ends(how: str) -> tuple[list[Any], dict[str, Any]]:
    """The answers of a run after its pause, and the options of its loop."""
    match how:
        case "return_direct":
            return [[tool_call("tell", {"of": "it"}, id="t")]], {}
        case "limit":
            return [looks("a"), looks("b")], {"limits": LoopLimits(calls=2)}
        case "paused":
            return [[*pays("y"), *looks("b").message.tool_calls]], {}
        case _:
            done = ChatResponse(AssistantMessage.of("Done."), "length", Usage(7, 7), "m")
            return [looks("a"), done], {}


@tool(return_direct=True)
async def tell(of: str) -> str:
    """Tells."""
    ran.append(f"tell {of}")
    return f"All of {of}"


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("memory_order", [None, 200, 500])
@pytest.mark.parametrize("how", ["stop", "return_direct", "limit", "paused"])
def test_a_run_whose_outer_advisor_fails_hands_it_the_same_answer_again(
    journal: CallJournal, how: str, memory_order: int | None, streamed: bool
) -> None:
    """No model is asked, no call runs and nothing is remembered twice; then the run has ended."""
    script, options = ends(how)
    tools = (*TOOLS, tell)

    def whole(of: CallJournal, n_failures: int) -> tuple[ChatResponse, list[str]]:
        ran.clear()
        store = MemoryConversationStore()

        def advisors(times: int = 0) -> list[Advisor]:
            memory = [] if memory_order is None else [MemoryAdvisor(store, order=memory_order)]
            return [FailsAtFirst(times), *loop(of, **options), *memory]

        def result(model: ScriptedChatModel, times: int) -> ChatResponse:
            if not streamed:
                return call(model, tools, advisors(times), request)
            last = stream(model, tools, advisors(times), request)[-1]
            assert isinstance(last, RunFinished)
            return last.response

        asked = question("Go.", session_id="s")
        request = state(call(ScriptedChatModel([pays("x")]), tools, advisors(), asked)).resume(
            {"x": Approve()}
        )
        left = script
        for _ in range(n_failures):
            with pytest.raises(OSError, match="gone"):
                result(ScriptedChatModel(left), 1)
            left = []
        response = result(ScriptedChatModel(left), 0)
        with pytest.raises(PausedRunError, match="was resumed before"):
            result(ScriptedChatModel([]), 0)
        return response, [*ran, *map(repr, store.messages("s", ""))]

    response, did = whole(journal, 2)
    expected, expected_did = whole(MemoryCallJournal(), 0)
    assert expected.finish_reason == ("length" if how == "stop" else how)
    assert did == expected_did
    assert (response.message, response.finish_reason) == (expected.message, expected.finish_reason)
    assert (response.usage, response.model) == (expected.usage, expected.model if how != "paused" else "")
    assert response.metadata.keys() == expected.metadata.keys()
    for key in ("messages", "rounds", "tool_failures", "tool_results", "limit"):
        assert response.metadata.get(key) == expected.metadata.get(key)


def test_a_run_whose_memory_cannot_be_written_is_remembered_when_it_is_resumed_again(
    journal: CallJournal,
) -> None:
    is_full = False

    class Store(MemoryConversationStore):
        def append(self, session_id: str, tenant: str, messages: Sequence[Message]) -> None:
            if is_full:
                raise OSError("disk full")
            super().append(session_id, tenant, messages)

    store = Store()
    advisors = [MemoryAdvisor(store), *loop(journal)]
    asked = question("Go.", session_id="s")
    request = state(call(ScriptedChatModel([pays("x")]), TOOLS, advisors, asked)).resume({"x": Approve()})
    is_full = True
    with pytest.raises(OSError, match="disk full"):
        call(ScriptedChatModel(["Done."]), TOOLS, advisors, request)
    is_full = False
    response = call(ScriptedChatModel([]), TOOLS, advisors, request)
    assert response.text == "Done."
    assert store.messages("s", "")[1:] == response.metadata["messages"]
    assert ran == ["pay x"]


def test_an_outer_advisor_may_try_a_resumed_run_again_within_one_call(journal: CallJournal) -> None:
    class TriesAgain(FailsAtFirst):
        async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
            with pytest.raises(OSError, match="gone"):
                await response_of(chain.next(request))
            async for event in chain.next(request):
                yield event

    advisors = [TriesAgain(0, order=50), FailsAtFirst(1), *loop(journal)]
    run = paused(pays("x"), loop(journal))
    assert call(ScriptedChatModel(["Done."]), TOOLS, advisors, run.resume({"x": Approve()})).text == "Done."
    assert ran == ["pay x"]


def test_no_other_goes_on_with_a_run_while_outer_advisors_are_at_work(journal: CallJournal) -> None:
    request = paused(pays("x"), loop(journal)).resume({"x": Approve()})

    class Slow(FailsAtFirst):
        async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
            async for event in chain.next(request):
                if isinstance(event, RunFinished):
                    with pytest.raises(PausedRunError, match="being resumed already"):
                        await AdvisorChain(ScriptedChatModel([]), loop(journal), TOOLS).call(again)
                yield event

    again = request
    assert call(ScriptedChatModel(["Done."]), TOOLS, [Slow(0), *loop(journal)], request).text == "Done."
