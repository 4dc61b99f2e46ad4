"""A conversation goes on where it was, outside the loop and inside it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.advisors.runs import call, question
from toolsearch.advisors.base import Advisor
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.limits import LoopLimits
from toolsearch.advisors.memory import (
    ConversationStore,
    MemoryAdvisor,
    MemoryConversationStore,
    SqliteConversationStore,
    summarizer,
)
from toolsearch.advisors.memory.call_ids import with_distinct_ids
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.exceptions import ChainError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, Message, SystemMessage, TextPart, ToolMessage, UserMessage
from toolsearch.testing import ScriptedChatModel, tool_call
from toolsearch.tools import Tool

OUTSIDE, INSIDE = 200, 500


@tool
async def look(at: str) -> str:
    """Looks."""
    return f"{at} is fine"


@tool(return_direct=True)
async def receipt() -> str:
    """Gives a receipt."""
    return "receipt"


TOOLS: tuple[Tool, ...] = (look, receipt)


def talk(
    model: ScriptedChatModel, memory: MemoryAdvisor, *texts: str, limits: LoopLimits | None = None
) -> list[ChatResponse]:
    """One run for each text, all of one session."""
    advisors: list[Advisor] = [ToolCallingAdvisor(limits=limits), memory]
    return [call(model, TOOLS, advisors, question(text, session_id="s")) for text in texts]


def shape(messages: Sequence[Message]) -> list[str]:
    return [message.text or message.role for message in messages]


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE])
def test_the_next_run_has_the_conversation_with_every_call_and_result(order: int) -> None:
    store = MemoryConversationStore()
    model = ScriptedChatModel([tool_call("look", {"at": "it"}), "Fine.", "Still."])
    talk(model, MemoryAdvisor(store, order=order), "How?", "And now?")
    assert shape(model.requests[1].messages) == ["How?", "assistant", "it is fine"]
    assert shape(model.requests[2].messages) == ["How?", "assistant", "it is fine", "Fine.", "And now?"]
    assert shape(store.messages("s", "")) == [*shape(model.requests[2].messages), "Still."]


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE])
def test_system_messages_come_first_and_are_not_remembered(order: int) -> None:
    store = MemoryConversationStore()
    model = ScriptedChatModel(["Hi.", "Yes."])
    for text in ("Hello.", "Really?"):
        request = ChatRequest(
            (SystemMessage(text="Be brief."), UserMessage.of(text)), context={"session_id": "s"}
        )
        call(model, TOOLS, [ToolCallingAdvisor(), MemoryAdvisor(store, order=order)], request)
    assert shape(model.requests[1].messages) == ["Be brief.", "Hello.", "Hi.", "Really?"]
    assert shape(store.messages("s", "")) == ["Hello.", "Hi.", "Really?", "Yes."]


def test_inside_the_loop_the_internal_history_is_off() -> None:
    """Each round sends what the memory holds, once. Statement 12 of docs/spring-ai.md."""
    store = MemoryConversationStore()
    model = ScriptedChatModel(
        [tool_call("look", {"at": "1"}, id=""), tool_call("look", {"at": "2"}, id=""), "Fine."]
    )
    talk(model, MemoryAdvisor(store, order=INSIDE), "How?")
    assert [len(request.messages) for request in model.requests] == [1, 3, 5]
    ids = [message.call_id for message in store.messages("s", "") if isinstance(message, ToolMessage)]
    assert len(set(ids)) == 2


def test_a_history_that_was_asked_for_stays_on_beside_the_memory() -> None:
    """Statement 12 of docs/spring-ai.md."""
    model = ScriptedChatModel([tool_call("look", {"at": "it"}, id="1"), "Fine."])
    memory = MemoryAdvisor(MemoryConversationStore(), order=INSIDE)
    advisors: list[Advisor] = [ToolCallingAdvisor(history=True), memory]
    call(model, TOOLS, advisors, question("How?", session_id="s"))
    assert len(model.requests[1].messages) > 3


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE])
@pytest.mark.parametrize("end", ["direct", "limit"])
def test_a_run_without_an_answer_is_remembered_too(order: int, end: str) -> None:
    store = MemoryConversationStore()
    asked = tool_call("receipt") if end == "direct" else tool_call("look", {"at": "it"})
    model = ScriptedChatModel([asked, "Yes."])
    (response,) = talk(
        model, MemoryAdvisor(store, order=order), "Go.", limits=LoopLimits(rounds=1 if end == "limit" else 2)
    )
    assert response.finish_reason == ("return_direct" if end == "direct" else "limit")
    assert store.messages("s", "") == (UserMessage.of("Go."), *response.metadata["messages"])
    talk(model, MemoryAdvisor(store, order=order), "Thanks.")
    assert model.requests[1].messages == (*store.messages("s", "")[:-2], UserMessage.of("Thanks."))


def test_a_run_that_raises_is_not_remembered() -> None:
    store = MemoryConversationStore()
    with pytest.raises(OSError, match="gone"):
        talk(
            ScriptedChatModel([tool_call("look", {"at": "it"}), OSError("gone")]),
            MemoryAdvisor(store),
            "How?",
        )
    assert store.messages("s", "") == ()


def test_inside_a_run_that_raises_leaves_no_call_without_its_result() -> None:
    store = MemoryConversationStore()
    with pytest.raises(OSError, match="gone"):
        talk(
            ScriptedChatModel([tool_call("look", {"at": "it"}), OSError("gone")]),
            MemoryAdvisor(store, order=INSIDE),
            "How?",
        )
    assert shape(store.messages("s", "")) == ["How?"]


def test_without_a_loop_a_call_is_kept_when_its_result_comes() -> None:
    """A caller that runs the calls by hand sends answer and results with the next request."""
    store = MemoryConversationStore()
    model = ScriptedChatModel([tool_call("look", {"at": "it"}), "Fine."])
    first = call(model, TOOLS, [MemoryAdvisor(store)], question("How?", session_id="s"))
    assert shape(store.messages("s", "")) == ["How?"]
    result = ToolMessage(call_id="call_1", name="look", content=(TextPart(text="fine"),))
    call(
        model,
        TOOLS,
        [MemoryAdvisor(store)],
        ChatRequest((first.message, result), context={"session_id": "s"}),
    )
    assert shape(model.requests[1].messages) == ["How?", "assistant", "fine"]
    assert shape(store.messages("s", "")) == ["How?", "assistant", "fine", "Fine."]


def test_conversations_of_two_users_at_once_stay_apart() -> None:
    store = MemoryConversationStore()

    def answer(request: ChatRequest) -> str:
        return f"to {' '.join(m.text for m in request.messages if isinstance(m, UserMessage))}"

    async def both() -> None:
        chain = AdvisorChain(ScriptedChatModel(answer), [MemoryAdvisor(store), ToolCallingAdvisor()])
        for text in ("one", "two"):
            await asyncio.gather(
                *(chain.call(question(f"{t}-{text}", session_id="s", tenant=t)) for t in ("a", "b"))
            )

    asyncio.run(both())
    assert shape(store.messages("s", "a")) == ["a-one", "to a-one", "a-two", "to a-one a-two"]
    assert shape(store.messages("s", "b")) == ["b-one", "to b-one", "b-two", "to b-one b-two"]


def test_a_request_without_a_session_is_refused() -> None:
    with pytest.raises(ChainError, match=r"Give the request a context\['session_id'\]"):
        call(ScriptedChatModel([]), (), [MemoryAdvisor(MemoryConversationStore())])


def test_a_request_is_given_the_latest_turns_and_the_store_keeps_all() -> None:
    store = MemoryConversationStore()
    model = ScriptedChatModel([tool_call("look", {"at": "1"}), "one", "two", "three"])
    talk(model, MemoryAdvisor(store, max_turns=1), "1", "2", "3")
    assert shape(model.requests[2].messages) == ["1", "assistant", "1 is fine", "one", "2"]
    assert shape(model.requests[3].messages) == ["2", "two", "3"]
    assert len(store.messages("s", "")) == 8


def test_old_turns_are_compacted_for_good() -> None:
    store = MemoryConversationStore()
    seen: list[list[str]] = []

    async def compact(messages: Sequence[Message]) -> list[Message]:
        seen.append(shape(messages))
        return [UserMessage.of("(summary)")]

    memory = MemoryAdvisor(store, compact=compact, compact_above_tokens=5, keep_turns=1)
    model = ScriptedChatModel(["first", "second", "third", "fourth"])
    talk(model, memory, "one one one", "two two two", "three", "four")
    assert shape(model.requests[2].messages) == ["(summary)", "two two two", "second", "three"]
    assert seen == [["one one one", "first"], ["(summary)", "two two two", "second"]]
    assert shape(store.messages("s", "")) == ["(summary)", "three", "third", "four", "fourth"]


def test_a_conversation_that_is_short_or_new_is_not_compacted() -> None:
    async def compact(messages: Sequence[Message]) -> list[Message]:
        raise AssertionError(messages)

    memory = MemoryAdvisor(MemoryConversationStore(), compact=compact, compact_above_tokens=10, keep_turns=1)
    assert [r.text for r in talk(ScriptedChatModel(["a", "b"]), memory, "1", "2")] == ["a", "b"]
    large = MemoryAdvisor(MemoryConversationStore(), compact=compact, compact_above_tokens=1, keep_turns=2)
    assert [r.text for r in talk(ScriptedChatModel(["a", "b"]), large, "1 2 3", "2")] == ["a", "b"]


def test_a_compaction_that_comes_too_late_loses_nothing() -> None:
    store = MemoryConversationStore()

    async def compact(messages: Sequence[Message]) -> list[Message]:
        # Another run of the session compacts first.
        assert store.replace_head("s", "", messages, [UserMessage.of("theirs")])
        return [UserMessage.of("ours")]

    memory = MemoryAdvisor(store, compact=compact, compact_above_tokens=1, keep_turns=1)
    model = ScriptedChatModel(["a", "b", "c"])
    talk(model, memory, "1", "2", "3")
    assert shape(model.requests[2].messages) == ["theirs", "2", "b", "3"]


def test_a_summary_is_asked_of_a_model_that_is_given_text_alone() -> None:
    model = ScriptedChatModel(["They looked, and it is fine."])
    conversation = (
        UserMessage.of("How?"),
        AssistantMessage(content=(tool_call("look", {"at": "it"}),)),
        ToolMessage(call_id="call_1", name="look", content=(TextPart(text="x" * 5000),)),
        AssistantMessage(content=(TextPart(text="Fine."),)),
    )

    async def summarize() -> Sequence[Message]:
        return await summarizer(model, max_tokens=50)(conversation)

    (summary,) = asyncio.run(summarize())
    assert summary == UserMessage.of("Summary of the conversation so far:\nThey looked, and it is fine.")
    (request,) = model.requests
    assert (request.tools, request.max_tokens) == ((), 50)
    text = request.messages[1].text
    assert text.startswith('User: How?\n\nAssistant: calls look({"at": "it"})\n\nResult of look: xxx')
    assert text.endswith("x…\n\nAssistant: Fine.")
    assert len(text) < 2200


def test_the_store_may_be_a_file(tmp_path: Path) -> None:
    store: ConversationStore = SqliteConversationStore(tmp_path / "c.sqlite")
    model = ScriptedChatModel([tool_call("look", {"at": "it"}), "Fine.", "Still."])
    talk(model, MemoryAdvisor(store, order=INSIDE), "How?", "And now?")
    assert shape(store.messages("s", "")) == [
        "How?",
        "assistant",
        "it is fine",
        "Fine.",
        "And now?",
        "Still.",
    ]


@pytest.mark.parametrize("wrong", [{"max_turns": 0}, {"max_tokens": 0}, {"keep_turns": 0}])
def test_a_window_that_keeps_nothing_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="is 0; it must be a whole number of at least 1"):
        MemoryAdvisor(MemoryConversationStore(), **wrong)


def test_streaming_remembers_the_same() -> None:
    async def answer(chain: AdvisorChain) -> AsyncIterator[str]:
        async for event in chain.stream(question("How?", session_id="s")):
            yield type(event).__name__

    async def collect(chain: AdvisorChain) -> list[str]:
        return [name async for name in answer(chain)]

    store = MemoryConversationStore()
    model = ScriptedChatModel([tool_call("look", {"at": "it"}), "Fine."])
    names = asyncio.run(collect(AdvisorChain(model, [ToolCallingAdvisor(), MemoryAdvisor(store)], TOOLS)))
    assert names[-1] == "RunFinished"
    assert shape(store.messages("s", "")) == ["How?", "assistant", "it is fine", "Fine."]


def called(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Each call's arguments and the text of its result; ids must be distinct, results right after calls."""
    pairs: list[tuple[str, str]] = []
    ids: set[str] = set()
    for at, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            for offset, asked in enumerate(message.tool_calls, start=1):
                result = messages[at + offset]
                assert isinstance(result, ToolMessage)
                assert result.call_id == asked.id
                assert asked.id not in ids
                ids.add(asked.id)
                pairs.append((asked.arguments, result.text))
    return pairs


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE])
def test_calls_of_turns_that_were_not_shown_together_have_ids_of_their_own(order: int) -> None:
    """Models behind small servers count the calls of each answer from 1."""
    store = MemoryConversationStore()
    turns = ("a", "b", "c")
    for at in turns:
        calls = [tool_call("look", {"at": f"{at}{n}"}, id=f"call_{n}") for n in (1, 2)]
        talk(ScriptedChatModel([calls, "Fine."]), MemoryAdvisor(store, order=order, max_turns=1), at)
    model = ScriptedChatModel(["Fine.", "Fine."])
    talk(model, MemoryAdvisor(store, order=order, max_turns=5), "And now?")
    expected = [(f'{{"at": "{at}{n}"}}', f"{at}{n} is fine") for at in turns for n in (1, 2)]
    assert called(model.requests[0].messages) == expected
    talk(model, MemoryAdvisor(store, order=order, max_turns=5), "Then?")
    shown = model.requests[0].messages
    assert model.requests[1].messages[: len(shown)] == shown


@pytest.mark.parametrize("order", [OUTSIDE, INSIDE])
def test_calls_of_runs_at_the_same_time_have_ids_of_their_own(order: int) -> None:
    store = MemoryConversationStore()
    advisors: list[Advisor] = [ToolCallingAdvisor(), MemoryAdvisor(store, order=order)]

    async def both() -> None:
        chains = (
            AdvisorChain(
                ScriptedChatModel([tool_call("look", {"at": at}, id="call_1"), "Fine."]), advisors, TOOLS
            )
            for at in "ab"
        )
        await asyncio.gather(*(chain.call(question(session_id="s")) for chain in chains))

    asyncio.run(both())
    model = ScriptedChatModel(["Fine."])
    talk(model, MemoryAdvisor(store, order=order), "And now?")
    assert sorted(called(model.requests[0].messages)) == [
        ('{"at": "a"}', "a is fine"),
        ('{"at": "b"}', "b is fine"),
    ]


def test_a_call_without_an_id_of_its_own_is_given_the_first_free_one() -> None:
    def asked(*ids: str) -> AssistantMessage:
        return AssistantMessage(content=tuple(tool_call("look", {"at": each}, id=each) for each in ids))

    def answered(call_id: str, text: str) -> ToolMessage:
        return ToolMessage(call_id=call_id, name="look", content=(TextPart(text=text),))

    conversation = (
        asked("x", "x"),
        answered("x", "1"),
        answered("x", "2"),
        UserMessage.of("On."),
        asked("x", "call_2", ""),
        answered("x", "3"),
        answered("call_2", "4"),
        answered("", "5"),
    )
    mended = with_distinct_ids(conversation)
    assert [each.call_id for each in mended if isinstance(each, ToolMessage)] == [
        "x",
        "call_1",
        "call_3",
        "call_2",
        "call_4",
    ]
    assert [text for _, text in called(mended)] == list("12345")
    assert with_distinct_ids(mended) == mended
    assert with_distinct_ids(conversation[:4]) == mended[:4]
