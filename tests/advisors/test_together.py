"""Loop, tool search, memory and approval in one chain."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from tests.advisors.runs import results
from tests.advisors.test_tool_search import DELIVERIES, SEND, WEATHER, Office, find, offered, use
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Approve, Deny
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.journal import SqliteCallJournal
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore, SqliteConversationStore
from toolsearch.advisors.paused import PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.exceptions import PausedRunError
from toolsearch.messages import Message, ToolCall, UserMessage
from toolsearch.session.sqlite import SqliteSessionStore
from toolsearch.testing import ScriptedChatModel


@dataclass
class Process:
    """One process of a service: its own objects over the files of `folder`."""

    folder: Path
    delivery: Literal["append", "bridge", "native"] = "append"
    memory_order: int = 200
    office: Office = field(default_factory=Office)

    def chain(self, model: ScriptedChatModel, **memory: Any) -> AdvisorChain:
        store = SqliteSessionStore(self.folder / "sessions.sqlite")
        return AdvisorChain(
            model,
            [
                ToolCallingAdvisor(journal=SqliteCallJournal(self.folder / "calls.sqlite")),
                self.office.advisor(delivery=self.delivery, store=store),
                ApprovalAdvisor(tools=[SEND]),
                MemoryAdvisor(
                    SqliteConversationStore(self.folder / "talk.sqlite"), order=self.memory_order, **memory
                ),
            ],
        )

    def ask(self, model: ScriptedChatModel, request: ChatRequest | str, **memory: Any) -> ChatResponse:
        if isinstance(request, str):
            request = ChatRequest((UserMessage.of(request),), context={"session_id": "s", "tenant": "t"})
        return asyncio.run(self.chain(model, **memory).call(request))


@DELIVERIES
@pytest.mark.parametrize("memory_order", [200, 500])
def test_a_run_with_a_discovered_tool_pauses_and_goes_on_in_another_process(
    tmp_path: Path, delivery: Literal["append", "bridge", "native"], memory_order: int
) -> None:
    first = Process(tmp_path, delivery, memory_order)
    model = ScriptedChatModel(
        [find(SEND, WEATHER), [use(WEATHER, delivery, id="w"), use(SEND, delivery, id="m")]]
    )
    paused = first.ask(model, "Send Ann the weather.")
    assert first.office.ran == [(WEATHER, {})]
    written = paused.metadata["paused_run"].model_dump_json()

    state = PausedRun.model_validate_json(written)
    assert [(each.call.id, each.call.name) for each in state.waiting] == [("m", SEND)]
    second = Process(tmp_path, delivery, memory_order)
    model = ScriptedChatModel(["Sent."])
    done = second.ask(model, state.resume({"m": Approve()}))
    assert second.office.ran == [(SEND, {})]
    assert (done.text, done.metadata["rounds"]) == ("Sent.", 3)
    assert [each.text for each in results(model.requests[0].messages)[1:]] == [
        f"{WEATHER} is done.",
        f"{SEND} is done.",
    ]

    third = Process(tmp_path, delivery, memory_order)
    with pytest.raises(PausedRunError, match="resumed before"):
        third.ask(ScriptedChatModel([]), state.resume({"m": Approve()}))
    assert third.office.ran == []


@pytest.mark.parametrize("memory_order", [200, 500])
@pytest.mark.parametrize("answered", [[], [find(SEND, id="again")]])
def test_a_resumed_run_that_fails_is_tried_again_in_another_process(
    tmp_path: Path, memory_order: int, answered: list[ToolCall]
) -> None:
    first = Process(tmp_path, memory_order=memory_order)
    paused = first.ask(ScriptedChatModel([find(SEND), use(SEND)]), "Write to Ann.")
    request = paused.metadata["paused_run"].resume({"use": Approve()})
    second = Process(tmp_path, memory_order=memory_order)
    with pytest.raises(OSError, match="gone"):
        second.ask(ScriptedChatModel([*answered, OSError("gone")]), request)
    third = Process(tmp_path, memory_order=memory_order)
    model = ScriptedChatModel(["Sent.", "Yes."])
    assert third.ask(model, request).text == "Sent."
    assert second.office.ran == [(SEND, {})]
    assert third.office.ran == []
    third.ask(model, "Really?")
    kept = [each.call_id for each in results(model.requests[1].messages)]
    assert kept[:2] == ["find", "use"]
    assert len(set(kept)) == len(kept)


@pytest.mark.parametrize("memory_order", [200, 500])
def test_compaction_keeps_the_discovered_tools(tmp_path: Path, memory_order: int) -> None:
    """(E157)"""

    async def compact(messages: Sequence[Message]) -> list[Message]:
        del messages
        return [UserMessage.of("Summary: the weather was looked up.")]

    process = Process(tmp_path, memory_order=memory_order)
    compacting = {"compact": compact, "compact_above_tokens": 1, "keep_turns": 1}
    model = ScriptedChatModel(
        [find(WEATHER), use(WEATHER, id="1"), "Sunny.", "Hm.", use(WEATHER, id="2"), "Rain."]
    )
    for text in ("How is the weather?", "Hm?", "And now?"):
        response = process.ask(model, text, **compacting)
    assert response.text == "Rain."
    assert process.office.ran == [(WEATHER, {})] * 2
    assert model.requests[4].messages[-4].text == "Summary: the weather was looked up."
    assert not results(model.requests[4].messages)
    assert offered(model)[4] == ["tool_search", WEATHER]


def test_two_users_at_once_share_neither_tools_nor_words_nor_approvals() -> None:
    office, talk = Office(), MemoryConversationStore()

    def answer(request: ChatRequest) -> Any:
        sends = request.messages[-1].text == "send"
        done = [each.name for each in results(request.messages)]
        if sends and "tool_search" not in done:
            return find(SEND)
        if SEND in [each.name for each in request.tools] and SEND not in done:
            return use(SEND)
        return f"{len(done)} results, {len(request.tools)} tools"

    async def both() -> list[ChatResponse]:
        chain = AdvisorChain(
            ScriptedChatModel(answer),
            [
                ToolCallingAdvisor(),
                office.advisor(delivery="append"),
                ApprovalAdvisor(tools=[SEND]),
                MemoryAdvisor(talk),
            ],
        )
        requests = [
            ChatRequest((UserMessage.of(text),), context={"session_id": "same", "tenant": tenant})
            for tenant, text in (("a", "send"), ("b", "idle"))
        ]
        first, second = await asyncio.gather(*(chain.call(request) for request in requests))
        resumed = await chain.call(first.metadata["paused_run"].resume({"use": Deny()}))
        return [first, second, resumed]

    first, second, resumed = asyncio.run(both())
    assert (first.finish_reason, second.text) == ("paused", "0 results, 1 tools")
    assert resumed.text == "2 results, 2 tools"
    assert office.ran == []
    assert [message.role for message in talk.messages("same", "b")] == ["user", "assistant"]
    assert [message.role for message in talk.messages("same", "a")] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ]
