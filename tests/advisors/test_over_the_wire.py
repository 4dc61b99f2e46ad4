"""Loop, tool search and a provider's wire together, when something goes wrong or several things go on."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pytest

from tests.advisors.runs import results
from tests.chat.conftest import MODELS, no_sleep
from tests.fake_provider import Answer, Call, FakeProvider
from tests.fake_provider.provider import Step
from tests.retrieval.support import searcher
from toolsearch import ToolContext, tool
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.paused import PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatRequest, ChatResponse, RunFinished
from toolsearch.messages import UserMessage
from toolsearch.tools import Tool


@dataclass(frozen=True)
class Wire:
    """A provider's form and a delivery, and how a model that reads it calls."""

    form: str
    delivery: Literal["append", "bridge", "native"]

    def use(self, name: str, call_id: str, **arguments: Any) -> Call:
        if self.delivery == "bridge":
            return Call(call_id, "call_tool", json.dumps({"name": name, "arguments": arguments}))
        return Call(call_id, name, json.dumps(arguments))

    def find(self, *names: str, call_id: str = "s") -> Call:
        arguments = json.dumps({"queries": [f"select:{','.join(names)}"]})
        return Call(call_id, "tool_search", arguments, native=self.delivery == "native")


@dataclass
class Shop:
    """Tools that all are hidden, and what has run of them."""

    ran: list[str] = field(default_factory=list)

    def tools(self) -> list[Tool]:
        @tool
        async def refund(order: int, context: ToolContext) -> str:
            """Refund an order."""
            self.ran.append(f"refund {order}{context.session_id}")
            return f"Order {order} is refunded."

        @tool(return_direct=True)
        async def receipt(order: int) -> str:
            """Print the receipt of an order."""
            self.ran.append(f"receipt {order}")
            return f"Receipt of {order}."

        @tool
        async def reconcile() -> str:
            """Reconcile the books."""
            raise RuntimeError("no route to db7, password=hunter2")

        @tool(tags=["danger"])
        async def close_account(user: str) -> str:
            """Close an account."""
            self.ran.append(f"close {user}")
            return f"The account of {user} is closed."

        return [refund, receipt, reconcile, close_account]

    def chain(
        self,
        wire: Wire,
        steps: Iterable[Step],
        *tools: Tool,
        limits: LoopLimits | None = None,
    ) -> tuple[AdvisorChain, FakeProvider]:
        provider = FakeProvider(steps)
        model = MODELS[wire.form]("m", api_key="key", transport=provider.transport, sleep=no_sleep)
        advisors: list[Advisor] = [
            ToolCallingAdvisor(limits=limits),
            ToolSearchAdvisor(searcher(self.tools()), delivery=wire.delivery),
            ApprovalAdvisor(tags=["danger"]),
        ]
        return AdvisorChain(model, advisors, tools), provider


def asked(text: str, **context: Any) -> ChatRequest:
    return ChatRequest((UserMessage.of(text),), max_tokens=99, context=context)


async def finished(chain: AdvisorChain, request: ChatRequest, *, streaming: bool) -> ChatResponse:
    if not streaming:
        return await chain.call(request)
    events = [event async for event in chain.stream(request)]
    assert isinstance(events[-1], RunFinished)
    return events[-1].response


def run(chain: AdvisorChain, request: ChatRequest, *, streaming: bool) -> ChatResponse:
    return asyncio.run(finished(chain, request, streaming=streaming))


def texts(response: ChatResponse) -> list[str]:
    return [each.text for each in results(response.metadata["messages"])]


WIRES = pytest.mark.parametrize(
    "wire",
    [
        Wire("openai_chat", "append"),
        Wire("openai_chat", "bridge"),
        Wire("openai_responses", "native"),
        Wire("anthropic", "native"),
        Wire("anthropic", "bridge"),
    ],
    ids=lambda wire: f"{wire.form}-{wire.delivery}",
)
STREAMING = pytest.mark.parametrize("streaming", [False, True], ids=["called", "streamed"])


@WIRES
@STREAMING
@pytest.mark.parametrize("loops_on", ["searches", "calls"])
@pytest.mark.parametrize("on_limit", ["stop", "tell"])
def test_a_looping_model_comes_to_an_end_and_the_conversation_goes_on(
    wire: Wire, streaming: bool, loops_on: str, on_limit: Literal["stop", "tell"]
) -> None:
    def step(body: dict[str, Any]) -> Answer:
        n = len(provider.bodies)
        if body.get("tool_choice") in ("none", {"type": "none"}) or "And now?" in json.dumps(body):
            return Answer("I give up.")
        if n == 1 or loops_on == "searches":
            return Answer(calls=(wire.find("refund", f"no_such_{n}"),))
        return Answer(calls=(wire.use("refund", "same", order=7),))

    shop = Shop()
    limits = LoopLimits(rounds=8, repeats=3, on_limit=on_limit)
    chain, provider = shop.chain(wire, iter(lambda: step, None), limits=limits)
    request = asked("Refund order 7.")
    response = run(chain, request, streaming=streaming)
    stops = on_limit == "stop"
    kind = "repeats" if stops and loops_on == "calls" else "rounds"
    assert (response.finish_reason, response.metadata["limit"].kind) == ("limit" if stops else "stop", kind)
    assert stops or response.text == "I give up."
    assert len(provider.bodies) == (5 if kind == "repeats" else 8)
    assert shop.ran == (["refund 7"] * 3 if loops_on == "calls" else [])

    messages = (*request.messages, *response.metadata["messages"], UserMessage.of("And now?"))
    assert run(chain, replace(request, messages=messages), streaming=streaming).text == "I give up."


@WIRES
@STREAMING
def test_a_tool_that_throws_neither_stops_the_others_nor_tells_what_it_must_not(
    wire: Wire, streaming: bool
) -> None:
    shop = Shop()
    batch = (wire.use("reconcile", "c1"), wire.use("refund", "c2", order=7), wire.use("refund", "c3", ordr=7))
    steps = [Answer(calls=(wire.find("reconcile", "refund"),)), Answer(calls=batch), Answer("Nearly done.")]
    chain, provider = shop.chain(wire, steps)
    response = run(chain, asked("Go."), streaming=streaming)
    failed, done, refused = texts(response)[1:]
    assert response.text == "Nearly done."
    assert "reconcile" in failed
    assert done == "Order 7 is refunded."
    assert "'ordr'" in refused
    assert shop.ran == ["refund 7"]
    assert b"hunter2" not in b"".join(provider.raw)
    raised = {str(each.error) for each in response.metadata["tool_failures"]}
    assert "no route to db7, password=hunter2" in raised


@WIRES
@STREAMING
def test_results_go_to_the_caller_when_every_call_is_direct_and_to_the_model_else(
    wire: Wire, streaming: bool
) -> None:
    shop = Shop()
    mixed = (wire.use("receipt", "c1", order=1), wire.use("refund", "c2", order=1))
    direct = (wire.use("receipt", "c3", order=2), wire.use("receipt", "c4", order=3))
    steps = [Answer(calls=(wire.find("receipt", "refund"),)), Answer(calls=mixed), Answer(calls=direct)]
    chain, provider = shop.chain(wire, steps)
    response = run(chain, asked("Go."), streaming=streaming)
    assert response.finish_reason == "return_direct"
    assert [each.text for each in response.metadata["tool_results"]] == ["Receipt of 2.", "Receipt of 3."]
    assert shop.ran == ["receipt 1", "refund 1", "receipt 2", "receipt 3"]
    assert len(provider.bodies) == 3
    assert b"Receipt of 1." in provider.raw[2]


@WIRES
@STREAMING
def test_a_run_that_pauses_on_a_discovered_tool_goes_on_elsewhere(wire: Wire, streaming: bool) -> None:
    first = Shop()
    batch = (wire.use("refund", "c1", order=7), wire.use("close_account", "c2", user="Ann"))
    steps = [Answer(calls=(wire.find("refund", "close_account"),)), Answer(calls=batch)]
    chain, _ = first.chain(wire, steps)
    paused = run(chain, asked("Go."), streaming=streaming)
    assert paused.finish_reason == "paused"
    assert first.ran == ["refund 7"]

    second = Shop()
    chain, provider = second.chain(wire, [Answer("Closed.")])
    state = PausedRun.model_validate_json(paused.metadata["paused_run"].model_dump_json())
    response = run(chain, state.resume({"c2": Approve()}), streaming=streaming)
    assert second.ran == ["close Ann"]
    assert response.text == "Closed."
    assert texts(response)[1:] == ["Order 7 is refunded.", "The account of Ann is closed."]
    assert len(provider.bodies) == 1


@WIRES
@STREAMING
def test_a_tool_that_has_changed_since_it_was_found_runs_only_as_it_is_now(
    wire: Wire, streaming: bool
) -> None:
    """(E161, of a source whose changes are followed: no call runs by the definition of before)"""
    shop = Shop()

    @tool(description="Refund an order, from now on with a reason.")
    async def refund(order: int, reason: str) -> str:
        shop.ran.append(f"{order}: {reason}")
        return "Refunded."

    steps = [
        Answer(calls=(wire.find("refund"),)),
        Answer("Found."),
        Answer(calls=(wire.use("refund", "c1", order=7),)),
        Answer(calls=(wire.use("refund", "c2", order=7, reason="broken"),)),
        Answer("Done."),
    ]
    chain, provider = shop.chain(wire, steps)
    request = asked("Refund order 7.", session_id="s")
    found = run(chain, request, streaming=streaming)
    (search,) = (each for each in chain.advisors if isinstance(each, ToolSearchAdvisor))
    search.catalog = Catalog([refund, *(each for each in shop.tools() if each.name != "refund")])
    messages = (*request.messages, *found.metadata["messages"], UserMessage.of("Go on."))
    response = run(chain, replace(request, messages=messages), streaming=streaming)
    refused, done = texts(response)
    assert response.text == "Done."
    assert "reason" in refused
    assert done == "Refunded."
    assert shop.ran == ["7: broken"]
    assert b"from now on with a reason" in provider.raw[3]


@WIRES
@STREAMING
def test_two_users_at_once_share_nothing(wire: Wire, streaming: bool) -> None:
    shop = Shop()

    async def both() -> list[ChatResponse]:
        # Passed only by two runs that are under way at the same time.
        barrier = asyncio.Barrier(2)

        @tool
        async def meet() -> str:
            """Meet."""
            await barrier.wait()
            return "met"

        meeting = Answer(calls=(Call("m", "meet"),))
        scripts = {
            "Ann": iter(
                [
                    Answer(calls=(wire.find("refund"),)),
                    meeting,
                    Answer(calls=(wire.use("refund", "r", order=7),)),
                    meeting,
                    Answer("Refunded."),
                ]
            ),
            "Bob": iter(
                [
                    meeting,
                    Answer(calls=(wire.use("refund", "r", order=8),)),
                    meeting,
                    Answer("I cannot."),
                ]
            ),
        }

        def step(body: dict[str, Any]) -> Answer:
            (user,) = (name for name in scripts if name in json.dumps(body))
            return next(scripts[user])

        chain, provider = shop.chain(wire, iter(lambda: step, None), meet)
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            runs = [
                group.create_task(
                    finished(chain, asked(f"I am {user}.", session_id=f" for {user}"), streaming=streaming)
                )
                for user in scripts
            ]
        assert len(provider.bodies) == 9
        return [each.result() for each in runs]

    ann, bob = asyncio.run(both())
    assert (ann.text, bob.text) == ("Refunded.", "I cannot.")
    assert shop.ran == ["refund 7 for Ann"]
    assert texts(ann)[2] == "Order 7 is refunded."
    assert "Find tools with tool_search first" in texts(bob)[1]
