"""A loop ends at its limits, in a way that can be told."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.advisors.runs import call, results, stream
from tests.clock import Clock
from toolsearch.advisors.limits import LimitBreach, LoopLimits
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatRequest, ChatResponse, Usage
from toolsearch.exceptions import LimitExceededError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, ToolCall
from toolsearch.testing import ScriptedChatModel, tool_call

ran: list[int] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
async def step(n: int = 0) -> int:
    """Takes a step."""
    ran.append(n)
    return n


@tool
async def other() -> str:
    """Does something else."""
    return "done"


def endless(name: str = "step", *, same: bool = False, usage: Usage | None = None) -> ScriptedChatModel:
    """Calls a tool in every round, with another argument each time unless `same`."""
    count = itertools.count()

    def answer(request: ChatRequest) -> ChatResponse:
        n = 0 if same else next(count)
        message = AssistantMessage(content=(tool_call(name, {"n": n}, id=f"c{len(request.messages)}"),))
        return ChatResponse(message, "tool_calls", usage or Usage())

    return ScriptedChatModel(answer)


def limited(
    model: ScriptedChatModel, clock: Callable[[], float] = lambda: 0.0, **limits: Any
) -> ChatResponse:
    return call(model, (step, other), [ToolCallingAdvisor(limits=LoopLimits(**limits), clock=clock)])


def is_sound(response: ChatResponse) -> bool:
    """Whether every call of the run has its result."""
    messages = response.metadata["messages"]
    asked = [each.id for m in messages if isinstance(m, AssistantMessage) for each in m.tool_calls]
    return asked == [each.call_id for each in results(messages)]


def test_a_loop_without_end_stops_after_25_rounds() -> None:
    """(E108)"""
    model = endless()
    response = limited(model)
    assert (response.finish_reason, response.text) == ("limit", "The limit of 25 rounds is reached.")
    assert response.metadata["limit"] == LimitBreach("rounds", 25)
    assert len(model.requests) == 25
    assert len(ran) == 24
    assert is_sound(response)


def test_the_same_call_with_the_same_result_stops_sooner() -> None:
    """(E108)"""
    response = limited(endless(same=True))
    assert response.metadata["limit"] == LimitBreach("repeats", 5, "step")
    assert len(ran) == 5
    assert "5 times with the same arguments and the same result" in response.text


def test_a_repeated_call_whose_result_changes_is_no_repetition() -> None:
    count = itertools.count()

    @tool(name="step")
    async def poll(n: int = 0) -> int:
        """Says something new each time."""
        return next(count)

    response = call(endless(same=True), (poll,))
    assert response.metadata["limit"].kind == "rounds"


def test_the_order_of_arguments_does_not_hide_a_repetition() -> None:
    texts = itertools.cycle(['{"n": 1, "m": 2}', '{"m":2,"n":1}'])
    model = ScriptedChatModel(lambda request: ToolCall(id="", name="unknown", arguments=next(texts)))
    assert limited(model).metadata["limit"].kind == "repeats"


def test_calls_per_tool_are_looked_at_before_all_calls() -> None:
    """Statements 25 and 27 of docs/spring-ai.md."""
    assert limited(endless(), rounds=None).metadata["limit"] == LimitBreach("calls_per_tool", 40, "step")
    assert len(ran) == 40
    response = limited(endless(), rounds=-1, calls_per_tool=-1)
    assert response.metadata["limit"] == LimitBreach("calls", 150)
    assert limited(endless(), calls=3, calls_per_tool=3).metadata["limit"].kind == "calls_per_tool"


def test_a_tool_has_its_own_limit_or_none() -> None:
    """Statement 25 of docs/spring-ai.md. A tool without a limit still counts among all calls."""
    limits: dict[str, Any] = {"rounds": None, "per_tool": {"step": None}, "calls": 60}
    assert limited(endless(), **limits).metadata["limit"] == LimitBreach("calls", 60)
    assert limited(endless(), per_tool={"step": 2}).metadata["limit"] == LimitBreach(
        "calls_per_tool", 2, "step"
    )


def test_each_run_counts_anew() -> None:
    """Statement 26 of docs/spring-ai.md."""
    advisor = ToolCallingAdvisor(limits=LoopLimits(calls=2))
    for _ in range(3):
        model = ScriptedChatModel([tool_call("other", id="1"), tool_call("other", id="2"), "Done."])
        assert call(model, (other,), [advisor]).finish_reason == "stop"


def test_time_is_looked_at_after_each_round() -> None:
    clock = Clock()

    def answer(request: ChatRequest) -> ToolCall:
        clock.now_s += 10
        return tool_call("step", {"n": int(clock.now_s)}, id=f"c{len(request.messages)}")

    response = limited(ScriptedChatModel(answer), clock=clock, wall_time_s=35)
    assert response.metadata["limit"] == LimitBreach("wall_time_s", 35)
    assert response.metadata["rounds"] == 4
    assert len(ran) == 3


def test_tokens_are_summed_over_the_rounds() -> None:
    response = limited(endless(usage=Usage(30, 10)), tokens=100)
    assert response.metadata["limit"] == LimitBreach("tokens", 100)
    assert response.metadata["rounds"] == 3
    assert response.usage == Usage(90, 30)


def test_an_answer_in_the_last_round_is_an_answer() -> None:
    model = ScriptedChatModel([tool_call("other"), "Done."])
    response = limited(model, rounds=2, tokens=1)
    assert (response.text, response.finish_reason) == ("Done.", "stop")
    assert "limit" not in response.metadata


def test_a_batch_that_goes_too_far_does_not_run_at_all() -> None:
    """Statement 7 of docs/spring-ai.md."""
    calls = [tool_call("step", {"n": n}, id=str(n)) for n in range(3)]
    response = limited(ScriptedChatModel([calls]), calls=2)
    assert ran == []
    assert response.finish_reason == "limit"
    refused = results(response.metadata["messages"])
    assert [each.call_id for each in refused] == ["0", "1", "2"]
    assert all(
        each.text == "This was not run. The limit of 2 tool calls is reached. The run ends here."
        for each in refused
    )


def test_raising_carries_what_the_run_had_done() -> None:
    with pytest.raises(LimitExceededError, match="The limit of 3 rounds is reached") as caught:
        limited(endless(), rounds=3, on_limit="raise")
    assert (caught.value.kind, caught.value.limit, len(ran)) == ("rounds", 3, 2)
    assert len(results(caught.value.messages)) == 3


def test_telling_refuses_only_the_calls_that_go_too_far() -> None:
    """Statement 27 of docs/spring-ai.md."""
    calls = [tool_call("step", {"n": n}, id=str(n)) for n in range(3)]
    model = ScriptedChatModel([[*calls, tool_call("other", id="o")], "Two will do."])
    response = limited(model, per_tool={"step": 2}, on_limit="tell")
    assert (response.text, response.finish_reason) == ("Two will do.", "stop")
    assert [each.is_error for each in results(model.requests[1].messages)] == [False, False, True, False]
    assert ran == [0, 1]


def test_telling_of_a_repetition_does_not_let_it_begin_anew() -> None:
    """(E108)"""
    response = limited(endless(same=True), repeats=2, rounds=9, on_limit="tell")
    told = [each.text for each in results(response.metadata["messages"])]
    assert ["not run" in text for text in told[:8]] == [False, False, *[True] * 6]
    assert len(ran) == 2


def test_telling_asks_for_an_answer_in_the_last_round() -> None:
    script = [tool_call("step", {"n": n}, id=str(n)) for n in range(2)]
    model = ScriptedChatModel([*script, "As far as I know."])
    response = limited(model, rounds=3, on_limit="tell")
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert (response.text, response.finish_reason) == ("As far as I know.", "stop")
    assert response.metadata["limit"] == LimitBreach("rounds", 3)
    assert ran == [0, 1]


def test_telling_of_tokens_leaves_one_round_for_an_answer() -> None:
    spent = ChatResponse(AssistantMessage(content=(tool_call("step"),)), "tool_calls", Usage(99, 1))
    model = ScriptedChatModel([spent, "So far."])
    response = limited(model, tokens=100, on_limit="tell")
    (refused,) = results(model.requests[1].messages)
    assert refused.text.endswith("The limit of 100 tokens is reached. Answer with what you have.")
    assert model.requests[1].tool_choice == "none"
    assert (response.text, ran) == ("So far.", [])


def test_a_model_that_calls_on_after_it_was_told_is_stopped() -> None:
    model = endless()
    response = limited(model, rounds=3, on_limit="tell")
    assert (response.finish_reason, len(model.requests), len(ran)) == ("limit", 3, 2)
    assert is_sound(response)
    assert limited(endless(), rounds=1, on_limit="tell").finish_reason == "limit"


def test_none_sets_no_limit() -> None:
    calls = [tool_call("other", id=str(n)) for n in range(300)]
    model = ScriptedChatModel([*calls, "Done."])
    limits: dict[str, Any] = {"rounds": None, "calls": -1, "calls_per_tool": None, "repeats": None}
    assert limited(model, **limits).text == "Done."


@pytest.mark.parametrize(
    "limits",
    [{"rounds": 0}, {"tokens": -2}, {"per_tool": {"x": 0}}, {"wall_time_s": 0.0}, {"wall_time_s": math.nan}],
    ids=str,
)
def test_a_limit_that_allows_nothing_is_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match=r"it must be a (whole number of at least 1|number above 0), or None"
    ):
        LoopLimits(**limits)


@pytest.mark.parametrize("wrong", ["60", True, {}])
@pytest.mark.parametrize("setting", [name for name in LoopLimits.__dataclass_fields__ if name != "on_limit"])
def test_a_limit_that_is_no_number_is_named(setting: str, wrong: Any) -> None:
    """A text is no number, and neither is a bool, although Python counts it as one."""
    given: Any = {"x": wrong} if setting == "per_tool" else wrong
    with pytest.raises(TypeError, match=rf"^{setting}\S* is .*; it must be a (whole )?number"):
        LoopLimits(**{setting: given})


@pytest.mark.parametrize("setting", ["rounds", "calls", "calls_per_tool", "repeats", "tokens"])
def test_what_is_counted_has_a_whole_limit(setting: str) -> None:
    wrong: Any
    for wrong in (1.5, math.nan, math.inf):
        with pytest.raises(TypeError, match=f"{setting} is {wrong}; it must be a whole number"):
            LoopLimits(**{setting: wrong})
    assert LoopLimits(wall_time_s=math.inf).wall_time_s == math.inf


def test_streaming_stops_at_the_same_place() -> None:
    events = stream(endless(), (step,))
    assert events[-1].response.metadata["limit"] == LimitBreach("rounds", 25)  # type: ignore[union-attr]
