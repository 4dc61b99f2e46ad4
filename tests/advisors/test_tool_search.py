"""The model sees `tool_search` first, then what it found, and can run nothing else."""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import pytest

from tests.advisors.runs import results
from tests.retrieval.support import OFFICE, searcher
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatRequest, ChatResponse, RunFinished
from toolsearch.discovery.settings import DiscoveryOptions
from toolsearch.exceptions import ReservedNameError, ToolLimitError
from toolsearch.messages import MESSAGES, Message, SystemMessage, ToolCall, UserMessage
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.session.memory import MemorySessionStore
from toolsearch.session.sqlite import SqliteSessionStore
from toolsearch.testing import ScriptedChatModel, tool_call
from toolsearch.tools import JsonObject, Tool, ToolContext

DeliveryName: TypeAlias = Literal["append", "bridge", "native"]

SEND, MAIL, WEATHER = "mail__send_email", "mail__search_mail", "geo__get_weather"


@dataclass
class Office:
    """The office catalog with tools that note who ran them."""

    ran: list[tuple[str, JsonObject]] = field(default_factory=list)

    def tools(self, tools: Sequence[Tool] = OFFICE) -> list[Tool]:
        return [self.tool(tool) for tool in tools]

    def tool(self, tool: Tool) -> Tool:
        async def call(arguments: JsonObject, context: ToolContext) -> str:
            del context
            self.ran.append((tool.name, arguments))
            return f"{tool.name} is done."

        return replace(tool, call=call)

    def advisor(self, tools: Sequence[Tool] = OFFICE, **options: Any) -> ToolSearchAdvisor:
        return ToolSearchAdvisor(searcher(self.tools(tools)), **options)


def ask(
    model: ScriptedChatModel,
    advisor: ToolSearchAdvisor,
    *,
    messages: Sequence[Message] = (UserMessage.of("Go."),),
    tools: Sequence[Tool] = (),
    streaming: bool = False,
    limits: LoopLimits | None = None,
    **context: Any,
) -> ChatResponse:
    chain = AdvisorChain(model, [ToolCallingAdvisor(limits=limits), advisor])
    request = ChatRequest(tuple(messages), tuple(tools), context=context)

    async def streamed() -> ChatResponse:
        events = [event async for event in chain.stream(request)]
        assert isinstance(events[-1], RunFinished)
        return events[-1].response

    return asyncio.run(streamed() if streaming else chain.call(request))


def find(*names: str, id: str = "find") -> ToolCall:  # noqa: A002
    return tool_call("tool_search", {"queries": [f"select:{','.join(names)}"]}, id=id)


def use(name: str, delivery: str = "append", id: str = "use", **arguments: Any) -> ToolCall:  # noqa: A002
    """A call as a model makes it that reads the tools in this delivery."""
    if delivery == "bridge":
        return tool_call("call_tool", {"name": name, "arguments": arguments}, id=id)
    return tool_call(name, arguments, id=id)


def offered(model: ScriptedChatModel) -> list[list[str]]:
    return [[tool.name for tool in request.tools] for request in model.requests]


DELIVERIES = pytest.mark.parametrize("delivery", ["append", "bridge", "native"])


@DELIVERIES
@pytest.mark.parametrize("streaming", [False, True])
def test_a_model_finds_a_tool_and_uses_it(delivery: DeliveryName, streaming: bool) -> None:
    office = Office()
    model = ScriptedChatModel([find(SEND), use(SEND, delivery, to="Ann"), "Sent."])
    response = ask(model, office.advisor(delivery=delivery), streaming=streaming)
    assert response.text == "Sent."
    assert office.ran == [(SEND, {"to": "Ann"})]
    messages = response.metadata["messages"]
    assert [result.name for result in results(messages)] == ["tool_search", SEND]
    assert [call.name for message in messages for call in getattr(message, "tool_calls", ())] == [
        "tool_search",
        SEND,
    ]
    last = results(model.requests[-1].messages)[-1]
    assert last.text == f"{SEND} is done."


@pytest.mark.parametrize(
    ("delivery", "rounds"),
    [
        ("append", [["tool_search"], ["tool_search", SEND], ["tool_search", SEND]]),
        ("bridge", [["tool_search", "call_tool"]] * 3),
        ("native", [["tool_search"], ["tool_search", SEND], ["tool_search", SEND]]),
    ],
)
def test_what_a_round_offers(delivery: DeliveryName, rounds: list[list[str]]) -> None:
    model = ScriptedChatModel([find(SEND), use(SEND, delivery), "Sent."])
    ask(model, Office().advisor(delivery=delivery))
    assert offered(model) == rounds


def test_native_defers_every_tool_in_an_order_that_does_not_change() -> None:
    tools = [*OFFICE, Tool(raw_name="help", pinned=True)]
    model = ScriptedChatModel([find(WEATHER, MAIL), "Done."], native_search=True)
    ask(model, Office().advisor(tools))
    assert offered(model) == [["tool_search", "help"], ["tool_search", "help", WEATHER, MAIL]]
    for request in model.requests:
        assert request.native is not None
        assert request.native.search_tool == "tool_search"
        assert [tool.name for tool in request.native.deferred] == sorted(tool.name for tool in OFFICE)


@pytest.mark.parametrize(("native_search", "expected"), [(True, True), (False, False)])
def test_auto_takes_what_the_model_has(native_search: bool, expected: bool) -> None:
    model = ScriptedChatModel(["Hi."], native_search=native_search)
    ask(model, Office().advisor())
    assert (model.requests[0].native is not None) is expected


@DELIVERIES
def test_a_tool_runs_only_after_this_session_has_discovered_it(delivery: DeliveryName) -> None:
    """(E97)"""
    office = Office()
    advisor = office.advisor(delivery=delivery)
    ask(ScriptedChatModel([find(SEND), "Found."]), advisor, session_id="another")
    model = ScriptedChatModel(
        [
            use(SEND, delivery, id="early"),
            lambda request: _after(office.ran == [], find(SEND)),
            use(SEND, delivery, id="late"),
            "Done.",
        ]
    )
    response = ask(model, advisor, session_id="mine")
    early, _, late = results(response.metadata["messages"])
    assert early.is_error
    assert "Find tools with tool_search first" in early.text
    assert late.text == f"{SEND} is done."
    assert office.ran == [(SEND, {})]


def _after(claim: bool, answer: ToolCall) -> ToolCall:
    assert claim
    return answer


@DELIVERIES
def test_a_model_that_only_searches_is_stopped_and_its_requests_stay_small(delivery: DeliveryName) -> None:
    """(E108)"""

    def search(request: ChatRequest) -> ToolCall:
        return tool_call("tool_search", {"query": "calendar"}, id=f"c{len(request.messages)}")

    model = ScriptedChatModel(search)
    response = ask(model, Office().advisor(delivery=delivery), limits=LoopLimits(repeats=None))
    assert response.finish_reason == "limit"
    assert response.metadata["limit"].kind == "rounds"
    texts = [result.text for result in results(model.requests[-1].messages)]
    assert len(texts) == 24
    assert all("Add an event to a calendar." not in text for text in texts[1:])
    assert all("input schema" not in text for text in texts[1:])
    assert max(map(len, texts[2:])) < 400


def test_the_repetition_of_a_search_is_seen_by_the_loop() -> None:
    """(E108)"""
    model = ScriptedChatModel(lambda _: tool_call("tool_search", {"query": "calendar"}))
    response = ask(model, Office().advisor(nudge_after=2))
    assert response.metadata["limit"].kind == "repeats"
    assert len(model.requests) < 15


@pytest.mark.parametrize("streaming", [False, True])
def test_the_search_is_there_whatever_the_caller_brings(streaming: bool) -> None:
    """(E110)"""
    office = Office()
    own = office.tool(Tool(raw_name="mine"))
    model = ScriptedChatModel([find(SEND), use("mine"), "Done."])
    chain = AdvisorChain(model, [ToolCallingAdvisor(), office.advisor()], tools=[own])
    request = ChatRequest((UserMessage.of("Go."),), options={"temperature": 0})

    async def run() -> ChatResponse:
        if not streaming:
            return await chain.call(request)
        events = [event async for event in chain.stream(request)]
        assert isinstance(events[-1], RunFinished)
        return events[-1].response

    response = asyncio.run(run())
    assert [result.is_error for result in results(response.metadata["messages"])] == [False, False]
    assert offered(model)[0] == ["tool_search", "mine"]
    assert offered(model)[1] == ["tool_search", "mine", SEND]


def test_tools_do_not_pile_up() -> None:
    """(E113)"""
    advisor = Office().advisor()
    model = ScriptedChatModel([find(SEND, id="1"), find(SEND, id="2"), find(SEND, id="3"), "Done."] * 5)
    messages: tuple[Message, ...] = ()
    for turn in range(5):
        messages = (*messages, UserMessage.of(f"Turn {turn}"))
        messages += ask(model, advisor, messages=messages, session_id="s").metadata["messages"]
    assert offered(model)[0] == ["tool_search"]
    assert offered(model)[1:] == [["tool_search", SEND]] * 19


def test_parallel_searches_are_united_in_the_order_of_the_calls() -> None:
    model = ScriptedChatModel([[find(WEATHER, id="a"), find(SEND, id="b"), find(MAIL, id="c")], "Done."])
    ask(model, Office().advisor())
    assert offered(model)[1] == ["tool_search", WEATHER, SEND, MAIL]


def test_parallel_searches_keep_that_order_when_the_first_is_the_slowest() -> None:
    inner = searcher()
    recorded = threading.Event()

    class Noting(MemorySessionStore):
        def discover(self, session_id: str, tenant: str, names: Iterable[str]) -> tuple[str, ...]:
            new = super().discover(session_id, tenant, names)
            if new:
                recorded.set()
            return new

    class SlowAtFirst:
        def search(self, request: SearchRequest) -> SearchResult:
            if WEATHER in request.queries[0]:
                recorded.wait(0.2)
            return inner.search(request)

    advisor = ToolSearchAdvisor(SlowAtFirst(), inner.index.catalog, store=Noting())
    model = ScriptedChatModel([[find(WEATHER, id="a"), find(SEND, id="b")], "Done."])
    ask(model, advisor, session_id="s")
    assert offered(model)[1] == ["tool_search", WEATHER, SEND]


def test_the_first_request_does_not_depend_on_which_server_came_first() -> None:
    """(E151)"""
    shuffles = [OFFICE, OFFICE[::-1], (*OFFICE[3:], *OFFICE[:3])]
    sent = []
    for tools in shuffles:
        model = ScriptedChatModel(["Hi."])
        ask(model, Office().advisor(tools, pinned=(MAIL,), delivery="native"))
        sent.append(repr(model.requests[0]))
    assert len(set(sent)) == 1


def test_sessions_of_one_advisor_share_nothing() -> None:
    """(E155)"""
    office = Office()
    advisor = office.advisor()
    one, two = (
        ScriptedChatModel([find(SEND), "Found."]),
        ScriptedChatModel(["Hi.", use(SEND), "No."]),
    )
    ask(two, advisor, session_id="S2")
    ask(one, advisor, session_id="S1")
    response = ask(two, advisor, session_id="S2")
    assert SEND not in {name for names in offered(two) for name in names}
    assert results(response.metadata["messages"])[0].is_error
    tenant = ScriptedChatModel(["Hi."])
    ask(tenant, advisor, session_id="S1", tenant="T2")
    assert offered(tenant) == [["tool_search"]]
    assert office.ran == []


def test_what_was_discovered_survives_compaction(tmp_path: Any) -> None:
    """(E157)"""
    office = Office()
    with SqliteSessionStore(tmp_path / "sessions.db") as store:
        advisor = office.advisor(store=store)
        ask(ScriptedChatModel([find(WEATHER), use(WEATHER), "Sunny."]), advisor, session_id="s")
        model = ScriptedChatModel([use(WEATHER), "Sunny again."])
        summary: list[Message] = [SystemMessage(text="So far: it was sunny."), UserMessage.of("And now?")]
        ask(model, advisor, messages=summary, session_id="s")
        deferred = ScriptedChatModel([use(WEATHER), "I have to search."])
        response = ask(deferred, advisor, messages=summary)
    assert office.ran == [(WEATHER, {}), (WEATHER, {})]
    assert "Find tools with tool_search first" in results(response.metadata["messages"])[0].text


def test_a_conversation_goes_on_elsewhere_by_its_messages_alone() -> None:
    office = Office()
    first = ask(ScriptedChatModel([find(WEATHER), "Found."]), office.advisor(delivery="bridge"))
    kept = MESSAGES.validate_json(MESSAGES.dump_json(first.metadata["messages"]))
    model = ScriptedChatModel([use(WEATHER), "Sunny."])
    ask(model, office.advisor(), messages=[UserMessage.of("Go."), *kept, UserMessage.of("And?")])
    assert offered(model)[0] == ["tool_search", WEATHER]
    assert office.ran == [(WEATHER, {})]


def test_a_tool_of_one_session_is_unknown_in_another() -> None:
    """(E160)"""
    office = Office()
    advisor = office.advisor()
    tmp = office.tool(Tool(raw_name="tmp", description="Temporary notes."))
    before = advisor.catalog.fingerprint
    ask(ScriptedChatModel([use("tmp"), "Done."]), advisor, tools=[tmp], session_id="S1")
    model = ScriptedChatModel([tool_call("tool_search", {"queries": ["tmp"]}), use("tmp"), "No."])
    response = ask(model, advisor, session_id="S2")
    assert office.ran == [("tmp", {})]
    assert "tmp" not in {name for names in offered(model) for name in names}
    search, call = results(response.metadata["messages"])
    assert "tmp" not in search.discovered
    assert call.is_error
    assert advisor.catalog.fingerprint == before


@DELIVERIES
@pytest.mark.parametrize("name", [SEND, "send_email", "mail/send_email", "mail.send_email"])
@pytest.mark.parametrize("where", ["advisor", "request"])
def test_a_forbidden_tool_is_like_one_that_does_not_exist(
    delivery: DeliveryName, name: str, where: str
) -> None:
    """(E171) Even where the session had discovered it before."""
    office = Office()
    rule = ToolFilter(sources=frozenset({"geo"}))
    store = MemorySessionStore()
    ask(ScriptedChatModel([find(SEND), "Found."]), office.advisor(store=store), session_id="s")
    advisor = office.advisor(delivery=delivery, store=store, filter=rule if where == "advisor" else None)
    context: dict[str, Any] = {"tool_filter": rule} if where == "request" else {}

    def told(called: str) -> list[str]:
        calls = [find(called, id="f"), use(called, id="d"), use(called, "bridge", id="b")]
        model = ScriptedChatModel([calls, use(called, delivery), "No."])
        response = ask(model, advisor, session_id="s", **context)
        assert not {"send_email"} & {tool.raw_name for request in model.requests for tool in request.tools}
        for request in model.requests:
            assert not request.native or SEND not in {tool.name for tool in request.native.deferred}
        return [result.text.replace(called, "NAME") for result in results(response.metadata["messages"])]

    absent = "x" * 3 + name[3:].replace("send", "qqqq")
    assert [_name_only(text) for text in told(name)] == [_name_only(text) for text in told(absent)]
    assert office.ran == []


def _name_only(text: str) -> str:
    return text.replace("call_tool", "X")


@DELIVERIES
@pytest.mark.parametrize("streaming", [False, True])
def test_visible_tools_may_be_called_directly_or_through_the_bridge(
    delivery: DeliveryName, streaming: bool
) -> None:
    office = Office()
    calls = [use("help", id="direct"), *([use("help", "bridge", id="b")] if delivery == "bridge" else [])]
    model = ScriptedChatModel([calls, "Done."])
    advisor = office.advisor([*OFFICE, Tool(raw_name="help", pinned=True)], delivery=delivery)
    response = ask(model, advisor, streaming=streaming)
    assert not any(result.is_error for result in results(response.metadata["messages"]))
    assert office.ran == [("help", {})] * len(calls)


def test_preselection_saves_the_round_of_the_search() -> None:
    office = Office()
    model = ScriptedChatModel([use(SEND), "Sent."])
    ask(model, office.advisor(preselect=1), messages=[UserMessage.of("Please send an email message")])
    assert offered(model) == [["tool_search", SEND]] * 2
    assert office.ran == [(SEND, {})]


def test_preselected_tools_are_shown_by_the_bridge_and_declared_natively() -> None:
    messages = [UserMessage.of("Please send an email message")]
    bridged = ScriptedChatModel([use(SEND, "bridge"), "Sent."])
    ask(bridged, Office().advisor(preselect=1, delivery="bridge"), messages=messages)
    for request in bridged.requests:
        shown = request.messages[1]
        assert isinstance(shown, UserMessage)
        assert f"- {SEND}: Send an email message." in shown.text
    native = ScriptedChatModel(["Hi."])
    ask(native, Office().advisor(preselect=1, delivery="native"), messages=messages)
    assert offered(native) == [["tool_search", SEND]]
    assert native.requests[0].native is not None
    assert SEND not in [tool.name for tool in native.requests[0].native.deferred]


def test_a_catalog_that_is_sent_whole_needs_no_search() -> None:
    office = Office()
    model = ScriptedChatModel([use(SEND), "Sent."])
    ask(model, office.advisor(whole_below_tokens=100_000, delivery="bridge"))
    assert offered(model) == [sorted(tool.name for tool in OFFICE)] * 2
    assert model.requests[0].messages == (UserMessage.of("Go."),)
    assert office.ran == [(SEND, {})]


OPTIONS: list[DiscoveryOptions] = [
    {},
    {"pinned": (SEND, MAIL)},
    {"max_tools": 3},
    {"whole_below_tokens": 100_000},
    {"whole_below_tokens": 100_000, "max_tools": 4},
    {"whole_below_tokens": 10},
    {"preselect": 2},
    {"max_fruitless": 1},
    {"pinned": tuple(sorted(tool.name for tool in OFFICE))},
]


@DELIVERIES
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("rule", [ToolFilter(), ToolFilter(read_only=True), ToolFilter(allow=())], ids=str)
def test_whoever_hides_a_tool_offers_the_search(
    delivery: DeliveryName, options: DiscoveryOptions, rule: ToolFilter
) -> None:
    advisor = Office().advisor(delivery=delivery, filter=rule, **options)
    calls = [find(WEATHER, id="1"), find("nothing", id="2"), find("web__search", "files__search", id="3")]
    model = ScriptedChatModel([*calls, "Done."])
    ask(model, advisor, messages=[UserMessage.of("Search the web")], session_id="s")
    permitted = {tool.name for tool in OFFICE if rule.permits(tool)}
    for request in model.requests:
        names = [tool.name for tool in request.tools]
        assert len(names) == len(set(names))
        assert set(names) <= permitted | {"tool_search", "call_tool"}
        assert permitted <= set(names) or "tool_search" in names
        assert len(names) <= (options.get("max_tools") or len(OFFICE) + 2)


def test_instructions_join_the_system_message_once_and_can_be_left_out() -> None:
    messages: list[Message] = [SystemMessage(text="Be brief."), UserMessage.of("Go.")]
    model = ScriptedChatModel([find(SEND), "Done."])
    ask(model, Office().advisor(instructions="Search."), messages=messages)
    assert [request.messages[0] for request in model.requests] == [
        SystemMessage(text="Be brief.\n\nSearch.")
    ] * 2
    plain = ScriptedChatModel(["Done."])
    ask(plain, Office().advisor(instructions=""), messages=messages)
    assert plain.requests[0].messages == tuple(messages)


def test_a_forced_tool_is_loaded() -> None:
    office = Office()
    model = ScriptedChatModel([use(SEND), "Sent."])
    chain = AdvisorChain(model, [ToolCallingAdvisor(), office.advisor()])
    asyncio.run(chain.call(ChatRequest((UserMessage.of("Go."),), tool_choice=SEND)))
    assert offered(model)[0] == ["tool_search", SEND]


def test_a_newer_catalog_takes_the_place_of_the_old_one_in_open_sessions() -> None:
    office = Office()
    advisor = office.advisor()
    ask(ScriptedChatModel([find(SEND, WEATHER), "Found."]), advisor, session_id="s")
    newer = [replace(tool, description="Newer.") for tool in office.tools() if tool.source != "mail"]
    advisor.catalog = Catalog(newer)
    model = ScriptedChatModel(["Hi."])
    ask(model, advisor, session_id="s")
    assert offered(model) == [["tool_search", WEATHER]]
    assert model.requests[0].tools[1].description == "Newer."


def test_the_advisor_works_without_a_loop() -> None:
    model = ScriptedChatModel([find(SEND)])
    chain = AdvisorChain(model, [Office().advisor()])
    response = asyncio.run(chain.call(ChatRequest((UserMessage.of("Go."),))))
    assert response.message.tool_calls == (find(SEND),)
    assert [tool.name for tool in response.offered] == ["tool_search"]


def test_other_tasks_go_on_while_a_search_is_busy() -> None:
    inner = searcher()
    entered, released = threading.Event(), threading.Event()

    class Slow:
        def search(self, request: SearchRequest) -> SearchResult:
            entered.set()
            assert released.wait(30)
            return inner.search(request)

    advisor = ToolSearchAdvisor(Slow(), inner.index.catalog)
    model = ScriptedChatModel([find(SEND), "Done."])
    chain = AdvisorChain(model, [ToolCallingAdvisor(), advisor])

    async def both() -> ChatResponse:
        run = asyncio.create_task(chain.call(ChatRequest((UserMessage.of("Go."),))))
        await asyncio.to_thread(entered.wait, 30)
        released.set()
        return await run

    assert asyncio.run(both()).text == "Done."


def test_what_cannot_work_is_refused_before_anything_is_sent() -> None:
    office = Office()
    with pytest.raises(ValueError, match="delivery is 'bulk'"):
        office.advisor(delivery="bulk")
    with pytest.raises(ToolLimitError):
        office.advisor(max_tools=2, pinned=(SEND, MAIL))
    with pytest.raises(ValueError, match="Give the catalog"):
        ToolSearchAdvisor(_NoIndex())
    model = ScriptedChatModel([])
    with pytest.raises(ReservedNameError):
        ask(model, office.advisor(), tools=[Tool(raw_name="tool_search")])
    with pytest.raises(ToolLimitError):
        ask(model, office.advisor(max_tools=2, pinned=(SEND,)), tools=[Tool(raw_name="mine")])
    assert model.requests == []


class _NoIndex:
    def search(self, request: SearchRequest) -> SearchResult:
        raise NotImplementedError
