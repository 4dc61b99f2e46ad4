"""Advisors wrap a model in order, and a chain that cannot work is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import pytest

from tests.advisors.runs import call, question, stream
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import (
    ChatEvent,
    ChatModel,
    ChatRequest,
    ChatResponse,
    RoundFinished,
    RunFinished,
    TextDelta,
    Usage,
)
from toolsearch.exceptions import ChainError, DuplicateToolError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, SystemMessage, TextPart
from toolsearch.testing import BrokenStream, ScriptedChatModel


@dataclass
class Tag:
    """Adds a system message on the way in and its name to the text on the way out."""

    name: str
    order: int = 0

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        sent = replace(request, messages=(*request.messages, SystemMessage(text=self.name)))
        async for event in chain.next(sent):
            if isinstance(event, RunFinished):
                text = f"{self.name}({event.response.text})"
                yield RunFinished(replace(event.response, message=said(text)))
            else:
                yield event


@dataclass
class Sends:
    """Sends these events in place of an answer."""

    events: tuple[ChatEvent, ...]
    name: str = "sends"
    order: int = 0

    async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
        del request, chain
        for event in self.events:
            yield event


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=(TextPart(text=text),))


@tool
def add(x: int, y: int) -> int:
    """Adds."""
    return x + y


@tool(name="add")
def other_add(x: int) -> int:
    """Adds otherwise."""
    return x


def test_the_lowest_order_is_outermost_and_ties_go_by_name() -> None:
    model = ScriptedChatModel(["hi"])
    response = call(model, advisors=[Tag("c", 7), Tag("b", 1), Tag("a", 1)])
    assert response.text == "a(b(c(hi)))"
    assert [message.text for message in model.requests[0].messages] == ["Go.", "a", "b", "c"]


def test_a_chain_without_advisors_is_the_model() -> None:
    model = ScriptedChatModel([ChatResponse(said("hi"), usage=Usage(3, 1)), "ho"])
    assert call(model, advisors=[]).usage == Usage(3, 1)
    assert stream(model, advisors=[])[-1] == RunFinished(ChatResponse(said("ho")))


def test_streaming_and_calling_take_the_same_way_through_the_advisors() -> None:
    model = ScriptedChatModel(["hello there", "hello there"])
    chain = AdvisorChain(model, [Tag("a")])
    events = stream(model, advisors=[Tag("a")])
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "hello there"
    assert events[-1] == RunFinished(asyncio.run(chain.call(question())))
    assert model.streamed == [True, False]


def test_the_end_of_a_round_tells_what_the_model_was_sent() -> None:
    model = ScriptedChatModel(["hi"])
    events = stream(model, [add], advisors=[Tag("a")])
    (finished,) = [event for event in events if isinstance(event, RoundFinished)]
    assert finished.request == model.requests[0]
    assert finished.response.offered == (add,)


def test_an_advisor_may_ask_twice() -> None:
    @dataclass
    class Twice:
        name: str = "twice"
        order: int = 0

        async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
            await chain.call(request)
            async for event in chain.next(request):
                yield event

    assert call(ScriptedChatModel(["one", "two"]), [add], [Twice(), Tag("in", 1)]).text == "in(two)"


def test_two_tool_calling_advisors_are_refused_by_name() -> None:
    """Statement 11 of docs/spring-ai.md."""
    loops = [ToolCallingAdvisor(name="mine"), ToolCallingAdvisor(name="yours", order=5)]
    with pytest.raises(ChainError, match="not 'yours' and 'mine'") as caught:
        AdvisorChain(ScriptedChatModel([]), loops)
    assert caught.value.advisors == ("yours", "mine")


def test_an_approval_that_no_loop_would_ask_is_refused() -> None:
    with pytest.raises(ChainError, match=r"'approval' .*outside the loop 'tool_calling'"):
        AdvisorChain(ScriptedChatModel([]), [ToolCallingAdvisor(), ApprovalAdvisor(order=10)])


@pytest.mark.parametrize(
    ("events", "said_of_it"),
    [
        ((TextDelta("x"),), "'sends' ended without a response"),
        ((RunFinished(ChatResponse(said("x"))), TextDelta("y")), "'sends' went on after RunFinished"),
    ],
)
def test_an_advisor_must_end_with_one_response(events: tuple[ChatEvent, ...], said_of_it: str) -> None:
    with pytest.raises(ChainError, match=said_of_it):
        call(ScriptedChatModel([]), advisors=[Sends(events)])


def test_an_answer_that_no_model_gave_has_nothing_to_run() -> None:
    made_up = ChatResponse(said("cached"))
    model = ScriptedChatModel([])
    response = call(model, [add], [ToolCallingAdvisor(), Sends((RunFinished(made_up),), order=400)])
    assert (response.text, response.offered, model.requests) == ("cached", (), [])


def test_tools_of_the_request_come_after_those_of_the_chain() -> None:
    """Statement 33 of docs/spring-ai.md."""
    own = replace(question(), tools=(other_add.from_source("mine"),))
    model = ScriptedChatModel(["hi"])
    call(model, [add], request=own)
    assert [each.name for each in model.requests[0].tools] == ["add", "mine__add"]


@pytest.mark.parametrize("run", [call, stream])
def test_tools_of_one_name_are_an_error_that_lists_them(run: Callable[..., object]) -> None:
    """Statement 35 of docs/spring-ai.md."""
    model = ScriptedChatModel(["hi"])
    with pytest.raises(DuplicateToolError, match="'add': offered more than once") as caught:
        run(model, [add], request=replace(question(), tools=(other_add,)))
    assert caught.value.names == ("add",)
    assert model.requests == []


def test_an_advisor_that_offers_a_name_twice_is_found_before_the_model_is_asked() -> None:
    @dataclass
    class Doubles:
        name: str = "doubles"
        order: int = 0

        async def advise(self, request: ChatRequest, chain: AdvisorChain) -> AsyncIterator[ChatEvent]:
            async for event in chain.next(replace(request, tools=(*request.tools, other_add))):
                yield event

    with pytest.raises(DuplicateToolError):
        call(ScriptedChatModel(["hi"]), [add], [Doubles()])


def test_leaving_a_stream_early_closes_it_down_to_the_model() -> None:
    closed: list[str] = []

    class Watched(ScriptedChatModel):
        async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
            try:
                async for event in super().stream(request):
                    yield event
            finally:
                closed.append("model")

    async def leave() -> list[str]:
        model: ChatModel = Watched(["a long answer in pieces"])
        events = AdvisorChain(model, [ToolCallingAdvisor(), ApprovalAdvisor()]).stream(question())
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]
        return list(closed)

    assert asyncio.run(leave()) == ["model"]


@pytest.mark.parametrize("run", [call, stream])
def test_what_the_model_raises_reaches_the_caller(run: Callable[..., object]) -> None:
    with pytest.raises(OSError, match="gone"):
        run(ScriptedChatModel([BrokenStream("half an", OSError("gone"))]))
