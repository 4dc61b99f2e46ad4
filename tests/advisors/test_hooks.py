"""The hooks of the loop, however a run ends."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tests.advisors.runs import question
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.hooks import LoopHooks
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatRequest, ChatResponse, RunFinished
from toolsearch.functions import tool
from toolsearch.testing import ScriptedChatModel, tool_call


@tool(return_direct=True)
async def receipt(n: int) -> str:
    """Gives a receipt."""
    return f"receipt {n}"


@tool
async def balance() -> int:
    """Tells the balance."""
    return 7


def called(chain: AdvisorChain) -> ChatResponse:
    return asyncio.run(chain.call(question()))


def streamed(chain: AdvisorChain) -> ChatResponse:
    async def last() -> ChatResponse:
        *_, end = [event async for event in chain.stream(question())]
        assert isinstance(end, RunFinished)
        return end.response

    return asyncio.run(last())


@pytest.mark.parametrize("run", [called, streamed])
@pytest.mark.parametrize(
    ("finish_reason", "rounds", "gated"),
    [("return_direct", 2, ()), ("limit", 1, ()), ("paused", 2, ("receipt",)), ("stop", 3, ())],
)
def test_every_hook_is_called_however_a_run_ends_streamed_or_not(
    run: Callable[[AdvisorChain], ChatResponse], finish_reason: str, rounds: int, gated: Sequence[str]
) -> None:
    """Statements 8, 14 and 15 of docs/spring-ai.md."""
    log: list[str] = []

    async def before_loop(request: ChatRequest) -> ChatRequest:
        log.append("before loop")
        return request

    async def before_round(request: ChatRequest, number: int) -> ChatRequest:
        log.append(f"before {number}")
        return request

    async def after_round(request: ChatRequest, response: ChatResponse, number: int) -> ChatResponse:
        log.append(f"after {number}: {[part.name for part in response.message.tool_calls]}")
        return response

    async def after_loop(request: ChatRequest, response: ChatResponse) -> ChatResponse:
        log.append(f"after loop: {response.finish_reason}")
        return replace(response, model="seen")

    hooks = LoopHooks(
        before_loop=before_loop, before_round=before_round, after_round=after_round, after_loop=after_loop
    )
    second = "balance" if finish_reason == "stop" else "receipt"
    arguments = {} if finish_reason == "stop" else {"n": 1}
    model = ScriptedChatModel([tool_call("balance", id="a"), tool_call(second, arguments, id="b"), "Done."])
    loop = ToolCallingAdvisor(hooks=hooks, limits=LoopLimits(rounds=1 if finish_reason == "limit" else 25))
    advisors: list[Advisor] = [loop, ApprovalAdvisor(tools=gated)] if gated else [loop]
    response = run(AdvisorChain(model, advisors, [balance, receipt]))
    asked = [["balance"], [second], []]
    each = [line for n in range(1, rounds + 1) for line in (f"before {n}", f"after {n}: {asked[n - 1]}")]
    assert log == ["before loop", *each, f"after loop: {finish_reason}"]
    assert (response.finish_reason, response.model) == (finish_reason, "seen")
