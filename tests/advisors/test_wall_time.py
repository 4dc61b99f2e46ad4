"""A run that takes too long ends, in the middle of a round too, and leaves a sound conversation."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.advisors.runs import question, results
from tests.advisors.test_limits import is_sound
from tests.clock import Clock, run_by
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LimitBreach, LoopLimits, OnLimit
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatEvent, ChatRequest, ChatResponse, RunFinished, TextDelta, Usage
from toolsearch.exceptions import LimitExceededError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, TextPart
from toolsearch.testing import ScriptedChatModel, tool_call
from toolsearch.tools import Tool

REACHED = "The limit of 30 s is reached."
STREAMED = pytest.mark.parametrize("streamed", [False, True])


class SlowModel(ScriptedChatModel):
    """Answers from a script, and of the rounds in `hangs` never comes to the end, though it has begun to."""

    def __init__(self, script: Sequence[Any], clock: Clock, hangs: Sequence[int] = ()) -> None:
        super().__init__(script)
        self.clock, self.hangs = clock, hangs
        self.ended: list[str] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        response = await super().complete(request)
        await self._answer()
        return response

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        async for event in super().stream(request):
            if not isinstance(event, TextDelta):
                await self._answer()
            yield event

    async def _answer(self) -> None:
        self.clock.now_s += 10
        if len(self.requests) in self.hangs:
            try:
                await hang(self.clock)
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                raise


async def hang(clock: Clock) -> None:
    # What runs beside it begins, or even ends, before the time has passed.
    for _ in range(5):
        await asyncio.sleep(0)
    clock.now_s += 50
    await asyncio.Event().wait()


class Tools:
    """A quick one, and two that never come to their end."""

    def __init__(self, clock: Clock) -> None:
        self.ran: list[str] = []
        self.released = threading.Event()

        @tool
        async def quick() -> str:
            """Is done at once."""
            self.ran.append("quick")
            return "done"

        @tool
        async def slow() -> None:
            """Takes a minute."""
            self.ran.append("slow")
            try:
                await hang(clock)
            except asyncio.CancelledError:
                self.ran.append("slow was cancelled")
                raise

        @tool
        def thread() -> str:
            """Takes as long as nobody releases it."""
            self.ran.append("thread")
            self.released.wait(30)
            return "too late"

        self.all: tuple[Tool, ...] = (quick, slow, thread)


def run(
    model: SlowModel,
    tools: Sequence[Tool] = (),
    *advisors: Advisor,
    streamed: bool,
    on_limit: OnLimit = "stop",
    manager: ToolCallingManager | None = None,
    request: ChatRequest | None = None,
) -> ChatResponse:
    limits = LoopLimits(wall_time_s=30, on_limit=on_limit)
    loop = ToolCallingAdvisor(manager, limits=limits, clock=model.clock)
    chain = AdvisorChain(model, [loop, *advisors], tools)

    async def main() -> ChatResponse:
        if not streamed:
            return await chain.call(request or question(session_id="s"))
        events = [event async for event in chain.stream(request or question(session_id="s"))]
        assert isinstance(events[-1], RunFinished)
        return events[-1].response

    return run_by(model.clock, main())


@STREAMED
def test_a_model_that_takes_too_long_is_no_longer_waited_for(streamed: bool) -> None:
    model = SlowModel([tool_call("quick"), "I think that"], clock := Clock(), hangs=[2])
    response = run(model, Tools(clock).all, streamed=streamed)
    assert (response.finish_reason, response.text) == ("limit", REACHED)
    assert response.metadata["limit"] == LimitBreach("wall_time_s", 30)
    assert response.metadata["rounds"] == 2
    assert response.metadata["messages"][-1] == AssistantMessage(content=response.message.content)
    assert [each.text for each in results(response.metadata["messages"])] == ["done"]
    assert is_sound(response)
    assert model.ended == ["cancelled"]


@STREAMED
def test_calls_that_take_too_long_have_an_error_result_and_the_others_their_own(streamed: bool) -> None:
    calls = [tool_call(name, id=name) for name in ("slow", "quick", "thread")]
    tools = Tools(clock := Clock())
    model = SlowModel([calls], clock)
    response = run(model, tools.all, streamed=streamed)
    tools.released.set()
    slow, quick, thread = results(response.metadata["messages"])
    assert (quick.text, quick.is_error) == ("done", False)
    ended = f"This was ended before it gave a result. {REACHED} What it began may still take effect."
    assert [(each.text, each.is_error) for each in (slow, thread)] == [
        (f"{ended} The run ends here.", True)
    ] * 2
    assert (response.finish_reason, response.text) == ("limit", REACHED)
    assert response.metadata["tool_failures"] == ()
    assert response.metadata["rounds"] == len(model.requests) == 1
    assert is_sound(response)
    assert "slow was cancelled" in tools.ran


@STREAMED
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_call_that_catches_its_cancellation_is_ended_all_the_same(streamed: bool, goes_on: bool) -> None:
    clock = Clock()

    @tool(timeout_s=100)
    async def stubborn() -> str:
        """Does not let itself be cancelled."""
        try:
            await hang(clock)
        except asyncio.CancelledError:
            if goes_on:
                clock.now_s += 2
                await asyncio.Event().wait()
        return "too late"

    response = run(SlowModel([tool_call("stubborn")], clock), (stubborn,), streamed=streamed)
    (result,) = results(response.metadata["messages"])
    assert result.text.startswith(f"This was ended before it gave a result. {REACHED}")
    assert (result.is_error, response.text) == (True, REACHED)


@STREAMED
def test_calls_that_wait_for_room_do_not_begin_any_more(streamed: bool) -> None:
    calls = [tool_call(name, id=str(i)) for i, name in enumerate(("quick", "slow", "quick"))]
    tools = Tools(clock := Clock())
    manager = ToolCallingManager(max_concurrency=1)
    response = run(SlowModel([calls], clock), tools.all, streamed=streamed, manager=manager)
    last = results(response.metadata["messages"])[-1]
    assert last.text == f"This was not run. {REACHED} The run ends here."
    assert tools.ran == ["quick", "slow", "slow was cancelled"]


@STREAMED
def test_telling_leaves_as_long_again_for_an_answer(streamed: bool) -> None:
    calls = [tool_call(name, id=name) for name in ("slow", "quick")]
    model = SlowModel([calls, "Slowly."], clock := Clock())
    response = run(model, Tools(clock).all, streamed=streamed, on_limit="tell")
    assert (response.finish_reason, response.text) == ("stop", "Slowly.")
    assert response.metadata["limit"] == LimitBreach("wall_time_s", 30)
    assert model.requests[1].tool_choice == "none"
    slow, quick = results(model.requests[1].messages)
    assert slow.text.endswith(f"{REACHED} What it began may still take effect. Answer with what you have.")
    assert quick.text == "done"


@STREAMED
def test_a_model_that_takes_too_long_to_answer_after_it_was_told_is_ended(streamed: bool) -> None:
    model = SlowModel([tool_call("slow"), "Slowly."], clock := Clock(), hangs=[2])
    response = run(model, Tools(clock).all, streamed=streamed, on_limit="tell")
    assert (response.finish_reason, response.text) == ("limit", REACHED)
    assert is_sound(response)


@STREAMED
@pytest.mark.parametrize("what", ["model", "tool"])
def test_raising_carries_a_sound_conversation(streamed: bool, what: str) -> None:
    script = [tool_call("quick", id="q"), tool_call("slow", id="s")]
    model = SlowModel(script, clock := Clock(), hangs=[2] if what == "model" else [])
    with pytest.raises(LimitExceededError, match=REACHED) as caught:
        run(model, Tools(clock).all, streamed=streamed, on_limit="raise")
    assert (caught.value.kind, caught.value.limit) == ("wall_time_s", 30)
    ids = [each.call_id for each in results(caught.value.messages)]
    assert ids == (["q", "s"] if what == "tool" else ["q"])


@STREAMED
@pytest.mark.parametrize("order", [200, 500])
@pytest.mark.parametrize("what", ["model", "tool"])
def test_memory_keeps_the_whole_of_a_run_that_time_has_ended(streamed: bool, order: int, what: str) -> None:
    store = MemoryConversationStore()
    script = [tool_call("quick", id="q"), tool_call("slow", id="s")]
    model = SlowModel(script, clock := Clock(), hangs=[2] if what == "model" else [])
    request = question(session_id="s")
    response = run(
        model, Tools(clock).all, MemoryAdvisor(store, order=order), streamed=streamed, request=request
    )
    assert store.messages("s", "") == (*request.messages, *response.metadata["messages"])


@STREAMED
def test_a_resumed_run_has_the_time_that_was_left(streamed: bool) -> None:
    tools = Tools(clock := Clock())
    gate = ApprovalAdvisor(tools=["slow"])
    script = [tool_call("slow", id="s")]
    paused = run(SlowModel(script, clock), tools.all, gate, streamed=streamed).metadata["paused_run"]
    clock.now_s = 1000

    resumed = paused.resume({"s": Approve()})
    response = run(SlowModel([], clock), tools.all, gate, streamed=streamed, request=resumed)
    (slow,) = results(response.metadata["messages"])
    assert slow.text.startswith(f"This was ended before it gave a result. {REACHED}")
    assert (response.finish_reason, tools.ran) == ("limit", ["slow", "slow was cancelled"])

    late = paused.model_copy(update={"id": "late", "elapsed_s": 31}).resume({"s": Approve()})
    response = run(SlowModel([], clock), tools.all, gate, streamed=streamed, request=late)
    (slow,) = results(response.metadata["messages"])
    assert slow.text == f"This was not run. {REACHED} The run ends here."
    assert tools.ran.count("slow") == 1


@STREAMED
def test_a_timeout_of_the_models_own_stays_what_it_is(streamed: bool) -> None:
    model = SlowModel([TimeoutError("the server")], Clock())
    with pytest.raises(TimeoutError, match="the server"):
        run(model, streamed=streamed)


@STREAMED
def test_a_run_within_its_time_is_as_without_the_limit(streamed: bool) -> None:
    usage = Usage(5, 2)
    answer = ChatResponse(AssistantMessage(content=(TextPart(text="Fine."),)), usage=usage)
    model = SlowModel([tool_call("quick"), answer], clock := Clock())
    response = run(model, Tools(clock).all, streamed=streamed)
    assert (response.text, response.usage, "limit" in response.metadata) == ("Fine.", usage, False)


class StubbornModel(SlowModel):
    """Catches its cancellation, and goes on or answers all the same."""

    goes_on = False

    async def _answer(self) -> None:
        try:
            await hang(self.clock)
        except asyncio.CancelledError:
            if self.goes_on:
                self.clock.now_s += 2
                await asyncio.Event().wait()


@STREAMED
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_model_that_catches_its_cancellation_is_late_all_the_same(streamed: bool, goes_on: bool) -> None:
    model = StubbornModel(["Too late."], Clock())
    model.goes_on = goes_on
    response = run(model, streamed=streamed)
    assert (response.finish_reason, response.text) == ("limit", REACHED)
    assert is_sound(response)


def test_who_reads_a_stream_slowly_is_not_interrupted() -> None:
    """Its time passes for the run all the same, but what it does, in the same task, is left alone."""
    clock = Clock()
    model = SlowModel(["one two three"], clock)
    chain = AdvisorChain(model, [ToolCallingAdvisor(limits=LoopLimits(wall_time_s=30), clock=clock)])

    async def main() -> list[ChatEvent]:
        events = []
        async for event in chain.stream(question()):
            events.append(event)
            clock.now_s += 100
            for _ in range(5):
                await asyncio.sleep(0)
        return events

    first, *_, last = run_by(clock, main())
    assert first == TextDelta("one two ")
    assert isinstance(last, RunFinished)
    assert last.response.text == REACHED
