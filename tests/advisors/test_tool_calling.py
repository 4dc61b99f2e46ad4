"""The loop goes on until there is an answer, and says how it ended."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from tests.advisors.runs import call, question, results, stream
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.failures import ErrorPolicy
from toolsearch.advisors.hooks import LoopHooks
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import (
    ChatEvent,
    ChatRequest,
    ChatResponse,
    RoundFinished,
    TextDelta,
    ToolFinished,
    Usage,
)
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, SystemMessage, TextPart, ToolCall, ToolMessage, UserMessage
from toolsearch.testing import ScriptedChatModel, tool_call
from toolsearch.testing.chat import Answer
from toolsearch.tools import ToolContext


@tool
async def get_weather(city: str) -> str:
    """Tells the weather."""
    return f"sunny in {city}"


@tool
async def boom() -> None:
    """Fails."""
    raise RuntimeError("cannot reach db-7.internal")


@tool(return_direct=True)
async def receipt(n: int) -> str:
    """Gives a receipt."""
    if n < 0:
        raise ValueError("n is negative")
    return f"receipt {n}"


@tool
async def balance() -> int:
    """Tells the balance."""
    return 7


TOOLS = (get_weather, boom, receipt, balance)


def test_calls_are_run_until_there_is_an_answer() -> None:
    model = ScriptedChatModel([tool_call("get_weather", {"city": "Oslo"}), "Sunny."])
    response = call(model, TOOLS)
    assert (response.text, response.finish_reason) == ("Sunny.", "stop")
    asked, result = model.requests[1].messages[1:]
    assert asked == AssistantMessage(content=(tool_call("get_weather", {"city": "Oslo"}),))
    assert isinstance(result, ToolMessage)
    assert (result.call_id, result.text, result.is_error) == ("call_1", "sunny in Oslo", False)


def test_the_response_holds_what_the_run_added_and_how_often_it_asked() -> None:
    model = ScriptedChatModel([tool_call("balance"), tool_call("boom"), "Done."])
    response = call(model, TOOLS)
    messages = response.metadata["messages"]
    assert model.requests[2].messages[1:] == messages[:-1]
    assert messages[-1] == response.message
    assert response.metadata["rounds"] == 3
    (failure,) = response.metadata["tool_failures"]
    assert str(failure.error) == "cannot reach db-7.internal"


def test_usage_is_summed_over_the_rounds() -> None:
    """Statements 9 and 16 of docs/spring-ai.md."""
    script = [
        ChatResponse(AssistantMessage(content=(tool_call("balance"),)), usage=Usage(10, 2, 4)),
        ChatResponse(AssistantMessage(), usage=Usage(15, 3, 5)),
    ]
    chain = AdvisorChain(ScriptedChatModel([*script, *script]), [ToolCallingAdvisor()], TOOLS)
    for _ in range(2):
        assert asyncio.run(chain.call(question())).usage == Usage(25, 5, 9)


def test_an_unknown_tool_does_not_end_the_run() -> None:
    """(E95)"""
    model = ScriptedChatModel([tool_call("get_wether"), tool_call("get_weather", {"city": "Oslo"}), "Sunny."])
    assert call(model, TOOLS).text == "Sunny."
    (error,) = results(model.requests[1].messages)
    assert (error.call_id, error.is_error) == ("call_1", True)
    assert "There is no tool 'get_wether'. Did you mean 'get_weather'" in error.text
    assert len(model.requests) == 3


def test_a_tool_that_raises_does_not_end_the_run() -> None:
    """(E26)"""
    model = ScriptedChatModel([tool_call("receipt", {"n": -1}), "I could not."])
    response = call(model, TOOLS)
    (error,) = results(model.requests[1].messages)
    assert (error.text, error.is_error) == ("Tool 'receipt' failed: n is negative", True)
    assert (response.text, response.finish_reason) == ("I could not.", "stop")


def test_each_call_of_an_answer_has_its_result_right_after_it() -> None:
    """(E98)"""
    calls = [
        tool_call("balance", id="c1"),
        tool_call("boom", id="c2"),
        tool_call("unknown", id="c3"),
        ToolCall(id="c4", name="balance", arguments="{"),
    ]
    model = ScriptedChatModel([calls, "Done."])
    call(model, TOOLS)
    asked, *answers = model.requests[1].messages[1:]
    assert isinstance(asked, AssistantMessage)
    assert [each.id for each in asked.tool_calls] == ["c1", "c2", "c3", "c4"]
    assert [(each.call_id, each.is_error) for each in results(answers)] == [
        ("c1", False),
        ("c2", True),
        ("c3", True),
        ("c4", True),
    ]


def test_broken_arguments_are_answered_and_a_corrected_call_is_run() -> None:
    """(E85, E94)"""
    cut = ChatResponse(
        AssistantMessage(content=(ToolCall(id="c", name="get_weather", arguments='{"city": "Os'),)),
        finish_reason="length",
    )
    model = ScriptedChatModel([cut, tool_call("get_weather", {"city": "Oslo"}), "Sunny."])
    response = call(model, TOOLS)
    assert [result.is_error for result in results(response.metadata["messages"])] == [True, False]


def test_ids_are_unique_over_the_whole_run() -> None:
    """(E101)"""
    model = ScriptedChatModel(
        [
            [tool_call("balance", id=""), tool_call("get_weather", {"city": "A"}, id="")],
            [
                tool_call("get_weather", {"city": "B"}, id="1"),
                tool_call("get_weather", {"city": "C"}, id="1"),
            ],
            "Done.",
        ]
    )
    messages = call(model, TOOLS).metadata["messages"]
    asked = [
        each for message in messages if isinstance(message, AssistantMessage) for each in message.tool_calls
    ]
    answered = results(messages)
    assert [each.id for each in asked] == [each.call_id for each in answered]
    assert len({each.id for each in asked} - {""}) == 4
    assert [each.text for each in answered] == ["7", "sunny in A", "sunny in B", "sunny in C"]


@pytest.mark.parametrize("n", [1, -1])
def test_a_direct_result_beside_another_goes_to_the_model(n: int) -> None:
    """(E107)"""
    model = ScriptedChatModel(
        [[tool_call("receipt", {"n": n}, id="1"), tool_call("balance", id="2")], "Done."]
    )
    assert call(model, TOOLS).text == "Done."
    assert [each.call_id for each in results(model.requests[1].messages)] == ["1", "2"]


def test_direct_results_go_to_the_caller_all_of_them() -> None:
    """Statement 6 of docs/spring-ai.md."""
    calls = [tool_call("receipt", {"n": 1}, id="1"), tool_call("receipt", {"n": 2}, id="2")]
    model = ScriptedChatModel([calls])
    response = call(model, TOOLS)
    assert (response.text, response.finish_reason) == ("receipt 1\n\nreceipt 2", "return_direct")
    assert [(each.call_id, each.name) for each in response.metadata["tool_results"]] == [
        ("1", "receipt"),
        ("2", "receipt"),
    ]
    assert len(model.requests) == 1


def test_events_of_every_round_are_passed_on_as_they_come() -> None:
    """Statement 13 of docs/spring-ai.md."""
    first = AssistantMessage(
        content=(TextPart(text="Let me see. "), tool_call("balance"), tool_call("no", id="2"))
    )
    events = stream(ScriptedChatModel([first, "It is 7."], piece_length=100), TOOLS)
    assert [type(event).__name__ for event in events] == [
        "TextDelta",
        "RoundFinished",
        "ToolFinished",
        "ToolFinished",
        "TextDelta",
        "RoundFinished",
        "RunFinished",
    ]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Let me see. It is 7."
    assert events[2:4] == [ToolFinished("call_1", "balance", False), ToolFinished("2", "no", True)]


def test_tools_are_given_the_context_of_the_request() -> None:
    """Statement 34 of docs/spring-ai.md."""
    seen: list[ToolContext] = []

    @tool
    async def look(context: ToolContext) -> str:
        """Looks."""
        seen.append(context)
        return "ok"

    request = question(session_id="s", tenant="t", state={"user": 1})
    call(ScriptedChatModel([tool_call("look"), "Done."]), (look,), request=request)
    assert seen == [ToolContext("s", "call_1", "t", {"user": 1})]


def test_without_tools_and_calls_the_loop_is_one_round() -> None:
    """Statement 1 of docs/spring-ai.md."""
    model = ScriptedChatModel(["Hello."])
    response = call(model)
    assert (response.text, response.metadata["rounds"], len(model.requests)) == ("Hello.", 1, 1)


def test_a_choice_that_forces_a_call_is_for_the_first_round_only() -> None:
    forced = replace(question(), tool_choice="required")
    model = ScriptedChatModel([tool_call("balance"), "7."])
    call(model, TOOLS, request=forced)
    assert [request.tool_choice for request in model.requests] == ["required", "auto"]


def test_history_off_sends_system_messages_and_what_is_new() -> None:
    """Statement 5 of docs/spring-ai.md."""
    script: list[Answer] = [tool_call("balance", id="1"), tool_call("balance", id="2"), "7."]
    request = ChatRequest((SystemMessage(text="Be brief."), UserMessage.of("Go.")))
    model = ScriptedChatModel(script)
    response = call(model, TOOLS, [ToolCallingAdvisor(history=False)], request)
    roles = [[message.role for message in sent.messages] for sent in model.requests]
    assert roles == [["system", "user"], ["system", "assistant", "tool"], ["system", "assistant", "tool"]]
    assert [each.call_id for each in results(response.metadata["messages"])] == ["1", "2"]


def test_hooks_are_called_around_the_loop_and_each_round() -> None:
    """Statements 2 and 8 of docs/spring-ai.md."""
    log: list[str] = []

    async def before_loop(request: ChatRequest) -> ChatRequest:
        log.append("before loop")
        return replace(request, max_tokens=9)

    async def before_round(request: ChatRequest, number: int) -> ChatRequest:
        log.append(f"before round {number}")
        return replace(request, messages=(*request.messages, UserMessage.of(f"Round {number}")))

    async def after_round(request: ChatRequest, response: ChatResponse, number: int) -> ChatResponse:
        log.append(f"after round {number} of {len(request.messages)}")
        return response

    async def after_loop(request: ChatRequest, response: ChatResponse) -> ChatResponse:
        log.append(f"after loop: {response.finish_reason}")
        return replace(response, model="seen")

    hooks = LoopHooks(
        before_loop=before_loop, before_round=before_round, after_round=after_round, after_loop=after_loop
    )
    model = ScriptedChatModel([tool_call("balance"), tool_call("receipt", {"n": 1}, id="r")])
    response = call(model, TOOLS, [ToolCallingAdvisor(hooks=hooks)])
    assert log == [
        "before loop",
        "before round 1",
        "after round 1 of 2",
        "before round 2",
        "after round 2 of 4",
        "after loop: return_direct",
    ]
    assert response.model == "seen"
    assert [request.max_tokens for request in model.requests] == [9, 9]
    assert all(message.text != "Round 1" for message in model.requests[1].messages)


def test_tools_that_a_hook_or_an_inner_advisor_offers_are_the_ones_that_run() -> None:
    """Statement 3 of docs/spring-ai.md. (E110)"""

    async def offer_balance(request: ChatRequest, number: int) -> ChatRequest:
        return replace(request, tools=(balance,))

    @dataclass
    class OffersWeather:
        name: str = "offers"
        order: int = 400

        async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
            async for event in chain.next(replace(request, tools=(get_weather,))):
                yield event

    script: list[Answer] = [
        [tool_call("balance", id="1"), tool_call("get_weather", {"city": "Oslo"}, id="2")],
        "Done.",
    ]
    hooked = call(
        ScriptedChatModel(script), TOOLS, [ToolCallingAdvisor(hooks=LoopHooks(before_round=offer_balance))]
    )
    assert [each.is_error for each in results(hooked.metadata["messages"])] == [False, True]
    inner = call(ScriptedChatModel(script), (balance,), [ToolCallingAdvisor(), OffersWeather()])
    assert [each.is_error for each in results(inner.metadata["messages"])] == [True, False]


@pytest.mark.parametrize("run", [call, stream])
def test_a_rethrown_error_of_a_tool_ends_the_run(run: Any) -> None:
    """Statements 30 and 31 of docs/spring-ai.md."""
    manager = ToolCallingManager(errors=ErrorPolicy(rethrow=(RuntimeError,)))
    with pytest.raises(RuntimeError, match="db-7"):
        run(ScriptedChatModel([tool_call("boom")]), TOOLS, [ToolCallingAdvisor(manager)])


def test_two_runs_of_one_chain_share_nothing() -> None:
    """(E155)"""
    paths = {"one": itertools.count(), "two": itertools.count()}

    def answer(request: ChatRequest) -> str | ToolCall:
        user = request.messages[0].text
        if next(paths[user]) < 3:
            return tool_call("get_weather", {"city": user}, id="c")
        return user

    async def both() -> list[ChatResponse]:
        chain = AdvisorChain(ScriptedChatModel(answer), [ToolCallingAdvisor()], TOOLS)
        return await asyncio.gather(*(chain.call(question(user)) for user in paths))

    for user, response in zip(paths, asyncio.run(both()), strict=True):
        assert response.text == user
        assert response.metadata["rounds"] == 4
        assert {each.text for each in results(response.metadata["messages"])} == {f"sunny in {user}"}


def test_the_end_of_each_round_says_what_was_sent() -> None:
    model = ScriptedChatModel([tool_call("balance"), "7."])
    ends = [event for event in stream(model, TOOLS) if isinstance(event, RoundFinished)]
    assert [end.request for end in ends] == model.requests
