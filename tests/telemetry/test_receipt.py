"""Receipts, checked against sums made by hand."""

import asyncio
import json
import math
from typing import Any

import pytest

from tests.telemetry.support import (
    SCRIPT,
    broken,
    call,
    refund_order,
    router,
    said,
    streamed,
    weather_forecast,
)
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Approve
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatRequest, RunFinished, Usage
from toolsearch.functions.decorator import tool
from toolsearch.messages import AssistantMessage, SystemMessage, ToolMessage, UserMessage
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.router import ToolRouter
from toolsearch.telemetry import Prices, ReceiptObserver, RunReceipt, observed_by
from toolsearch.testing import ScriptedChatModel
from toolsearch.tokens import catalog_tokens, count_tokens
from toolsearch.tools import Tool


def receipt_of(through: ToolRouter, prompt: str = "Refund.", **options: Any) -> RunReceipt:
    receipt = through.run_sync(prompt, **options).metadata["receipt"]
    assert isinstance(receipt, RunReceipt)
    return receipt


def tokens(*tools: Tool) -> int:
    return sum(catalog_tokens(tools).values())


def sent(through: ToolRouter) -> list[ChatRequest]:
    model = through.model
    assert isinstance(model, ScriptedChatModel)
    return model.requests


def searching(request: ChatRequest) -> int:
    """Tokens of the searches in a request, by hand."""
    return sum(
        count_tokens(message.text)
        if isinstance(message, ToolMessage)
        else sum(count_tokens(each.arguments) for each in message.tool_calls if each.name == "tool_search")
        for message in request.messages
        if isinstance(message, AssistantMessage)
        or (isinstance(message, ToolMessage) and message.name == "tool_search")
    )


def test_a_receipt_tells_rounds_searches_calls_and_usage() -> None:
    receipt = receipt_of(router())
    assert [each.offered for each in receipt.rounds] == [
        ("tool_search",),
        ("tool_search", "refund_order"),
        ("tool_search", "refund_order"),
    ]
    (search,) = receipt.searches
    assert search.loaded == ("refund_order",)
    assert next(iter(search.scores)) == "refund_order"
    assert not search.nothing_fits
    assert receipt.discovered == ("refund_order",)
    assert receipt.calls == ("refund_order",)
    assert receipt.search_rounds == 1
    assert [each.usage.input_tokens for each in receipt.rounds] == [100, 200, 300]
    assert receipt.usage == Usage(600, 60, 300)
    assert receipt.cached_share == 0.5


def test_tokens_are_those_of_the_definitions_and_of_what_finding_them_said() -> None:
    through = router()
    receipt = receipt_of(through)
    requests = sent(through)
    instructions = requests[0].messages[0]
    assert isinstance(instructions, SystemMessage)
    for each, request in zip(receipt.rounds, requests, strict=True):
        assert each.definition_tokens == tokens(*request.tools)
        assert each.search_tokens == count_tokens(instructions.text) + searching(request)
    whole = tokens(refund_order, weather_forecast)
    assert receipt.whole_tokens == whole
    assert receipt.tokens == sum(each.definition_tokens + each.search_tokens for each in receipt.rounds)
    assert receipt.tokens_without_search == 3 * whole
    assert receipt.tokens_without_search_rounds == 2 * whole


def test_a_system_message_of_the_caller_is_not_counted() -> None:
    long = "You are a helpful assistant of a shop, and you are always kind to everybody. " * 5
    assert receipt_of(router(system=long)).rounds[0].search_tokens < count_tokens(long)


def test_definitions_in_messages_are_counted_too() -> None:
    """The bridge shows definitions in results of searches, and preselected ones in the user's message."""
    through = router(delivery="bridge", script=["Hi."], preselect=1, instructions="")
    receipt = receipt_of(through, "refund an order")
    (request,) = sent(through)
    (user,) = request.messages
    assert isinstance(user, UserMessage)
    assert "refund_order" in user.text
    extra = count_tokens(user.text) - count_tokens("refund an order")
    assert receipt.rounds[0].search_tokens == extra > 20
    assert receipt.rounds[0].offered == ("tool_search", "call_tool")


def test_the_callers_tools_are_part_of_both_sides() -> None:
    @tool
    def own() -> str:
        """Tool of the caller."""
        return ""

    def weather_forecast(city: str) -> str:
        """Another forecast in the place of the catalog's."""
        return city

    theirs = tool(weather_forecast)
    receipt = receipt_of(router(script=["Hi."]), tools=[own, theirs])
    assert receipt.whole_tokens == tokens(refund_order, own, theirs)
    assert receipt.rounds[0].offered == ("tool_search", "own", "weather_forecast")


def test_only_tools_that_the_run_may_use_would_have_been_sent() -> None:
    receipt = receipt_of(router(script=["Hi."]), filter=ToolFilter(deny=("weather*",)))
    assert receipt.whole_tokens == tokens(refund_order)


@pytest.mark.parametrize(
    ("prices", "cost"),
    [
        (Prices(input=2.0, output=10.0, cached_input=0.5), (300 * 2.0 + 300 * 0.5 + 60 * 10.0) / 1e6),
        (Prices(input=2.0, output=10.0), (600 * 2.0 + 60 * 10.0) / 1e6),
        (None, None),
    ],
)
def test_money_is_told_where_prices_are_given(prices: Prices | None, cost: float | None) -> None:
    assert receipt_of(router(prices=prices)).cost == (None if cost is None else pytest.approx(cost))


@pytest.mark.parametrize("price", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["input", "output", "cached_input"])
def test_what_is_no_price_is_refused(name: str, price: float) -> None:
    """(A receipt with its cost would be no JSON.)"""
    with pytest.raises(ValueError, match=f"price '{name}'"):
        Prices(**{"input": 1.0, "output": 1.0, name: price})


def test_a_receipt_of_a_streamed_run_is_the_same() -> None:
    whole, stream = router(), router()
    last = streamed(stream, "Refund.")[-1]
    assert isinstance(last, RunFinished)
    assert last.response.metadata["receipt"].to_json() == receipt_of(whole).to_json()


def test_a_receipt_is_json() -> None:
    written = json.loads(json.dumps(receipt_of(router(prices=Prices(1, 1))).to_json()))
    assert written["discovered"] == ["refund_order"]
    assert written["rounds"][1]["offered"] == ["tool_search", "refund_order"]
    assert written["tokens_without_search"] == 3 * written["rounds"][0]["whole_tokens"]
    assert written["usage"] == {"input_tokens": 600, "output_tokens": 60, "cached_tokens": 300}
    assert written["cost"] == pytest.approx(660 / 1e6)


def test_runs_at_the_same_time_have_receipts_of_their_own() -> None:
    def answer(request: ChatRequest) -> Any:
        user = next(message for message in request.messages if isinstance(message, UserMessage))
        if user.text == "Hi." or any(isinstance(message, ToolMessage) for message in request.messages):
            return said("Done.", usage=Usage(1, 1, 0))
        return said("", call("tool_search", "s1", queries=["refund an order"]), usage=Usage(1, 1, 0))

    through = router(script=answer)

    async def both() -> list[RunReceipt]:
        responses = await asyncio.gather(through.run("Refund."), through.run("Hi."))
        return [response.metadata["receipt"] for response in responses]

    searched, greeted = asyncio.run(both())
    assert (len(searched.rounds), searched.discovered) == (2, ("refund_order",))
    assert (len(greeted.rounds), greeted.discovered, greeted.cached_share) == (1, (), 0.0)


def test_a_resumed_run_has_a_receipt_of_what_was_done_since() -> None:
    script = [
        said("", call("refund_order", "c1", order="7"), usage=Usage(100, 0, 0)),
        said("Done.", usage=Usage(50, 0, 0)),
    ]
    through = router(script=script, pinned=("refund_order",), approval=ApprovalAdvisor())
    paused = through.run_sync("Refund.")
    assert paused.metadata["receipt"].calls == ()
    resumed = asyncio.run(through.resume(paused.metadata["paused_run"], {"c1": Approve()}))
    receipt = resumed.metadata["receipt"]
    assert receipt.calls == ("refund_order",)
    assert receipt.usage == Usage(50, 0, 0)
    assert resumed.usage == Usage(150, 0, 0)


def test_a_tool_that_ran_and_failed_is_among_the_calls_and_one_that_did_not_run_is_not() -> None:
    @tool(timeout_s=1e-6)
    async def slow(city: str) -> None:
        """Take too long."""
        await asyncio.get_running_loop().create_future()

    @tool
    async def leaves(city: str) -> None:
        """End the program."""
        raise SystemExit

    calls = [
        call("broken", "1", city="Oslo"),
        call("weather_forecast", "2", city="Oslo"),
        call("slow", "3", city="Oslo"),
        call("leaves", "4", city="Oslo"),
        call("refund_order", "5", number=7),
        call("no_such_tool", "6"),
    ]
    tools = (broken, weather_forecast, slow, leaves, refund_order)
    chain = AdvisorChain(
        ScriptedChatModel([calls, "Done."]), [ToolCallingAdvisor(), *observed_by(ReceiptObserver())], tools
    )
    receipt = asyncio.run(chain.call(ChatRequest((UserMessage.of("Go."),)))).metadata["receipt"]
    assert sorted(receipt.calls) == ["broken", "leaves", "slow", "weather_forecast"]


@pytest.mark.parametrize("limits", [LoopLimits(rounds=1), LoopLimits(per_tool={"tool_search": 1}, calls=1)])
def test_a_round_whose_search_was_refused_is_no_round_of_searching(limits: LoopLimits) -> None:
    again = said("", call("tool_search", "s2", queries=["weather"]))
    ran = int(limits.rounds != 1)
    receipt = receipt_of(router(script=(SCRIPT[0], again, "Done.")[not ran :], limits=limits))
    assert len(receipt.searches) == receipt.search_rounds == ran
    assert receipt.tokens_without_search_rounds == receipt.whole_tokens


def test_a_chain_without_tool_search_has_a_receipt_that_knows_of_no_catalog() -> None:
    model = ScriptedChatModel([call("refund_order", "c1", order="7"), "Done."])
    chain = AdvisorChain(model, [ToolCallingAdvisor(), *observed_by(ReceiptObserver())], [refund_order])
    receipt = asyncio.run(chain.call(ChatRequest((UserMessage.of("Go."),)))).metadata["receipt"]
    assert receipt.calls == ("refund_order",)
    assert receipt.tokens == 2 * tokens(refund_order)
    assert receipt.tokens_without_search is None
    assert receipt.tokens_without_search_rounds is None


def test_observers_change_nothing_that_a_model_or_a_caller_sees() -> None:
    def plain() -> AdvisorChain:
        return AdvisorChain(ScriptedChatModel(SCRIPT[1:]), [ToolCallingAdvisor()], [refund_order])

    watched = plain()
    watched = AdvisorChain(watched.model, (*watched.advisors, *observed_by(ReceiptObserver())), watched.tools)
    request = ChatRequest((UserMessage.of("Go."),))
    bare, seen = (asyncio.run(chain.call(request)) for chain in (plain(), watched))
    assert (bare.message, bare.usage, bare.metadata["messages"]) == (
        seen.message,
        seen.usage,
        seen.metadata["messages"],
    )
