"""The router as a caller has it: whole conversations with a scripted model."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.advisors.runs import results
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Approve
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.memory import MemoryConversationStore
from toolsearch.advisors.paused import PausedRun
from toolsearch.catalog import Catalog
from toolsearch.chat.base import RunFinished, TextDelta
from toolsearch.embedders.base import Progress, Vectors
from toolsearch.exceptions import (
    ChainError,
    DuplicateToolError,
    EmbeddingError,
    RunningLoopError,
    UnknownToolError,
)
from toolsearch.functions.decorator import tool
from toolsearch.messages import AssistantMessage, SystemMessage, TextPart, UserMessage
from toolsearch.retrieval.base import SearchRequest, SearchResult
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.permission import ToolFilter
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call
from toolsearch.tools import Tool, ToolContext

EMBEDDER = HashingEmbedder(256)


@tool(tags=["money"])
def refund_order(order: str) -> str:
    """Refund an order to the customer."""
    return f"refunded {order}"


def weather_forecast(city: str) -> str:
    """Weather forecast of a city."""
    return f"sunny in {city}"


def search(*queries: str, id: str = "s1") -> Any:  # noqa: A002
    return tool_call("tool_search", {"queries": list(queries)}, id=id)


def names(tools: Sequence[Tool]) -> list[str]:
    return [tool.name for tool in tools]


class CountingEmbedder:
    """Counts the documents that it embeds, and may be told to fail."""

    def __init__(self) -> None:
        self.id, self.dim = EMBEDDER.id, EMBEDDER.dim
        self.documents = 0
        self.calls = 0
        self.fails = False
        self._lock = threading.Lock()

    def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        with self._lock:
            self.documents += len(texts)
            self.calls += 1
        if self.fails:
            raise EmbeddingError("no embeddings today")
        return EMBEDDER.embed_documents(texts, progress=progress)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.asarray(EMBEDDER.embed_queries(texts))

    def reads(self, text: str) -> float:
        return EMBEDDER.reads(text)


def test_a_prompt_is_answered_with_tools_that_are_found_on_the_way() -> None:
    model = ScriptedChatModel(
        [
            search("refund an order"),
            tool_call("refund_order", {"order": "A-17"}, id="c1"),
            "Done.",
        ]
    )
    router = ToolRouter(model, [refund_order, weather_forecast], embedder=EMBEDDER, limit=1)
    response = asyncio.run(router.run("Refund order A-17."))
    assert response.text == "Done."
    assert [names(request.tools) for request in model.requests] == [
        ["tool_search"],
        ["tool_search", "refund_order"],
        ["tool_search", "refund_order"],
    ]
    assert [result.text for result in results(response.metadata["messages"])][-1] == "refunded A-17"


def test_plain_functions_become_tools() -> None:
    router = ToolRouter(ScriptedChatModel([]), [weather_forecast], embedder=EMBEDDER)
    assert router.catalog["weather_forecast"].description == "Weather forecast of a city."


def test_tools_come_beside_a_catalog_and_names_must_differ() -> None:
    router = ToolRouter(ScriptedChatModel([]), [weather_forecast], catalog=Catalog([refund_order]))
    assert set(router.catalog) == {"refund_order", "weather_forecast"}
    with pytest.raises(DuplicateToolError):
        ToolRouter(ScriptedChatModel([]), [refund_order], catalog=Catalog([refund_order]))


def test_the_index_is_built_once_by_the_first_run_or_at_once() -> None:
    lazy, eager = CountingEmbedder(), CountingEmbedder()
    model = ScriptedChatModel(lambda request: "Hello.")
    router = ToolRouter(model, [refund_order, weather_forecast], embedder=lazy)
    assert lazy.documents == 0

    async def two_at_once() -> None:
        await asyncio.gather(router.run("Hi."), router.run("Hi."))

    asyncio.run(two_at_once())
    before = lazy.calls
    router.run_sync("Hi.")
    assert lazy.calls == before
    ToolRouter(model, [refund_order, weather_forecast], embedder=eager, lazy=False)
    assert eager.documents == lazy.documents > 0


def test_an_index_that_cannot_be_built_is_the_callers_affair() -> None:
    """It is no result of a search that a model would read."""
    embedder = CountingEmbedder()
    embedder.fails = True
    model = ScriptedChatModel(["never"])
    router = ToolRouter(model, [refund_order], embedder=embedder)
    with pytest.raises(EmbeddingError, match="no embeddings today"):
        router.run_sync("Hi.")
    assert model.requests == []
    embedder.fails = False
    assert router.run_sync("Hi.").text == "never"


def test_the_event_loop_goes_on_while_an_index_is_built() -> None:
    """(E148)"""
    turn = threading.Event()

    class Waiting(CountingEmbedder):
        def embed_documents(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
            assert turn.wait(10), "the event loop was blocked"
            return super().embed_documents(texts, progress=progress)

    router = ToolRouter(ScriptedChatModel(["Hi."]), [refund_order], embedder=Waiting())

    async def both() -> None:
        running = asyncio.create_task(router.run("Hi."))
        await asyncio.sleep(0)
        turn.set()
        await running

    asyncio.run(both())


def test_a_searcher_with_its_own_index_needs_no_catalog() -> None:
    searcher = ToolSearcher(build_index(Catalog([refund_order]), EMBEDDER), EMBEDDER)
    model = ScriptedChatModel([search("refund an order"), "Found."])
    router = ToolRouter(model, searcher=searcher)
    assert set(router.catalog) == {"refund_order"}
    router.run_sync("Refund.")
    assert names(model.requests[1].tools) == ["tool_search", "refund_order"]


def test_a_newer_catalog_takes_the_place_of_the_older_and_embeds_only_what_is_new() -> None:
    embedder = CountingEmbedder()
    model = ScriptedChatModel([search("weather forecast"), "Found."])
    router = ToolRouter(model, [refund_order], embedder=embedder, lazy=False)
    before = embedder.documents
    router.catalog = Catalog([refund_order, tool(weather_forecast)])
    added = embedder.documents - before
    alone = CountingEmbedder()
    ToolRouter(model, [refund_order, weather_forecast], embedder=alone, lazy=False)
    assert 0 < added < alone.documents
    router.run_sync("How is the weather?")
    assert "weather_forecast" in names(model.requests[1].tools)


def test_a_run_ends_with_the_catalog_that_it_began_with() -> None:
    def swap() -> str:
        """Swap the catalog."""
        router.catalog = Catalog([tool(swap, pinned=True), tool(weather_forecast, pinned=True)])
        return "swapped"

    model = ScriptedChatModel([tool_call("swap"), "One.", "Two."])
    router = ToolRouter(model, [tool(swap, pinned=True), refund_order], embedder=EMBEDDER)

    async def run() -> None:
        await router.run("Go.", session_id="1")
        await router.run("Go on.", session_id="1")

    asyncio.run(run())
    assert names(model.requests[1].tools) == ["tool_search", "swap"]
    assert names(model.requests[2].tools) == ["swap", "weather_forecast"]


def test_a_catalog_that_cannot_be_used_leaves_the_older_in_place() -> None:
    embedder = CountingEmbedder()
    router = ToolRouter(
        ScriptedChatModel([]), [refund_order], embedder=embedder, pinned=("refund_order",), lazy=False
    )
    older = router.catalog
    with pytest.raises(UnknownToolError):
        router.catalog = Catalog([tool(weather_forecast)])
    embedder.fails = True
    with pytest.raises(EmbeddingError):
        asyncio.run(router.update(Catalog([refund_order, tool(weather_forecast)])))
    assert router.catalog is older


def test_a_searcher_of_another_kind_is_kept_when_the_catalog_changes() -> None:
    class Nothing:
        def search(self, request: SearchRequest) -> SearchResult:
            del request
            return SearchResult(nothing_fits=True)

    router = ToolRouter(ScriptedChatModel(["Hi."]), [refund_order], searcher=Nothing())
    router.catalog = Catalog([tool(weather_forecast)])
    assert set(router.catalog) == {"weather_forecast"}
    assert router.run_sync("Hi.").text == "Hi."


def test_a_searcher_without_embedder_needs_one_for_a_newer_catalog() -> None:
    searcher = ToolSearcher(
        build_index(Catalog([refund_order]), EMBEDDER), None, channels=("name", "lexical")
    )
    router = ToolRouter(ScriptedChatModel([]), searcher=searcher)
    with pytest.raises(ValueError, match="no embedder"):
        router.catalog = Catalog([tool(weather_forecast)])


def test_what_a_session_has_discovered_is_there_in_its_next_run_and_in_no_other() -> None:
    """Two users at once share a router and nothing else."""
    model = ScriptedChatModel(
        [search("refund an order"), "Found.", "Again.", "Other tenant.", "Other session."]
    )
    router = ToolRouter(model, [refund_order, weather_forecast], embedder=EMBEDDER, limit=1)
    router.run_sync("Refund.", session_id="1", tenant="acme")
    router.run_sync("Once more.", session_id="1", tenant="acme")
    router.run_sync("Once more.", session_id="1", tenant="other")
    router.run_sync("Once more.", session_id="2", tenant="acme")
    assert [names(request.tools) for request in model.requests[2:]] == [
        ["tool_search", "refund_order"],
        ["tool_search"],
        ["tool_search"],
    ]


def test_with_a_memory_a_run_is_given_only_what_is_new() -> None:
    model = ScriptedChatModel(["I am fine.", "You asked how I am."])
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER, memory=MemoryConversationStore())
    router.run_sync("How are you?", session_id="1")
    router.run_sync("What did I ask?", session_id="1")
    said = [message.text for message in model.requests[1].messages if not isinstance(message, SystemMessage)]
    assert said == ["How are you?", "I am fine.", "What did I ask?"]
    with pytest.raises(ChainError, match="session_id"):
        router.run_sync("Who am I?")


def test_a_conversation_may_be_handed_over_as_messages() -> None:
    model = ScriptedChatModel(["Yes.", "Yes."])
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER, instructions="")
    conversation = (
        UserMessage.of("Are you there?"),
        AssistantMessage(content=(TextPart(text="Yes."),)),
        UserMessage.of("Still?"),
    )
    router.run_sync(conversation)
    assert model.requests[0].messages == conversation
    router.run_sync(UserMessage.of("Hello?"))
    assert model.requests[1].messages == (UserMessage.of("Hello?"),)


def test_the_system_message_is_for_conversations_that_have_none() -> None:
    model = ScriptedChatModel(["Hi.", "Hi."])
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER, system="Be kind.", instructions="")
    router.run_sync("Hi.")
    router.run_sync([SystemMessage(text="Be brief."), UserMessage.of("Hi.")])
    assert [request.messages[0] for request in model.requests] == [
        SystemMessage(text="Be kind."),
        SystemMessage(text="Be brief."),
    ]


def test_tools_of_a_run_are_visible_in_it_alone_and_see_its_context() -> None:
    seen: list[ToolContext] = []

    def whoami(context: ToolContext) -> str:
        """Who is asking."""
        seen.append(context)
        return str(context.state["user"])

    model = ScriptedChatModel([tool_call("whoami", id="c7"), "Ana.", "Nobody."])
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER)
    router.run_sync("Who am I?", tools=[whoami], state={"user": "Ana"}, session_id="1", tenant="acme")
    router.run_sync("And now?")
    assert names(model.requests[0].tools) == ["tool_search", "whoami"]
    assert names(model.requests[2].tools) == ["tool_search"]
    assert seen == [ToolContext(session_id="1", call_id="c7", tenant="acme", state={"user": "Ana"})]


def test_a_filter_of_a_run_hides_tools_in_it() -> None:
    model = ScriptedChatModel([search("refund an order"), "Nothing."])
    router = ToolRouter(model, [refund_order, weather_forecast], embedder=EMBEDDER)
    response = router.run_sync("Refund.", filter=ToolFilter(deny=("refund*",)))
    assert "refund" not in results(response.metadata["messages"])[0].text


def test_options_of_a_run_reach_the_model() -> None:
    model = ScriptedChatModel(["Hi."])
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER)
    router.run_sync("Hi.", max_tokens=7, tool_choice="none", options={"temperature": 0})
    request = model.requests[0]
    assert (request.max_tokens, request.tool_choice, request.options) == (7, "none", {"temperature": 0})


def test_limits_end_a_run() -> None:
    model = ScriptedChatModel(lambda request: search("refund", id=f"s{len(request.messages)}"))
    router = ToolRouter(model, [refund_order], embedder=EMBEDDER, limits=LoopLimits(rounds=3))
    assert router.run_sync("Go.").finish_reason == "limit"
    assert len(model.requests) == 3


def test_streaming_ends_with_the_response_that_run_gives() -> None:
    script = [search("refund an order"), tool_call("refund_order", {"order": "A-1"}, id="c1"), "All done."]
    tools: list[Any] = [refund_order, weather_forecast]
    whole = ToolRouter(ScriptedChatModel(script), tools, embedder=EMBEDDER).run_sync("Refund A-1.")
    streaming = ToolRouter(ScriptedChatModel(script), tools, embedder=EMBEDDER)

    async def collect() -> list[Any]:
        return [event async for event in streaming.stream("Refund A-1.")]

    events = asyncio.run(collect())
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "All done."
    assert isinstance(events[-1], RunFinished)
    assert events[-1].response.metadata["messages"] == whole.metadata["messages"]


def test_a_paused_run_is_resumed_by_another_router_and_runs_each_call_once() -> None:
    ran: list[str] = []

    @tool(pinned=True, tags=["money"])
    def pay(order: str, context: ToolContext) -> str:
        """Pay an order."""
        ran.append(f"{order} for {context.state['user']}")
        return "paid"

    def router(*script: Any) -> ToolRouter:
        approval = ApprovalAdvisor(tags=["money"])
        return ToolRouter(ScriptedChatModel(script), [pay], embedder=EMBEDDER, approval=approval)

    first = router(tool_call("pay", {"order": "A-1"}, id="c1"))
    paused = first.run_sync("Pay A-1.", session_id="1", state={"user": "Ana"})
    assert paused.finish_reason == "paused"
    assert ran == []
    state = PausedRun.model_validate_json(paused.metadata["paused_run"].model_dump_json())
    done = asyncio.run(router("Paid.").resume(state, {"c1": Approve()}, state={"user": "Ana"}))
    assert done.text == "Paid."
    assert ran == ["A-1 for Ana"]


def test_run_sync_says_what_to_do_within_an_event_loop() -> None:
    router = ToolRouter(ScriptedChatModel([]), [refund_order], embedder=EMBEDDER)

    async def within() -> None:
        router.run_sync("Hi.")

    with pytest.raises(RunningLoopError, match=r"await run\(\.\.\.\), not run_sync"):
        asyncio.run(within())


def test_run_sync_closes_the_connections_of_its_loop() -> None:
    class Closing(ScriptedChatModel):
        closed = 0

        async def aclose(self) -> None:
            self.closed += 1

    model = Closing(["Hi."])
    ToolRouter(model, [refund_order], embedder=EMBEDDER).run_sync("Hi.")
    assert model.closed == 1
    with pytest.raises(AssertionError):
        ToolRouter(model, [refund_order], embedder=EMBEDDER).run_sync("Hi.")
    assert model.closed == 2


def test_a_router_without_tools_is_a_plain_chat() -> None:
    model = ScriptedChatModel(["Hi."])
    assert ToolRouter(model, embedder=EMBEDDER).run_sync("Hi.").text == "Hi."
    assert model.requests[0].tools == ()
