"""Conversations are kept whole, in memory and on disk."""

import sqlite3
import threading
from pathlib import Path

import pytest

from toolsearch.advisors.memory import ConversationStore, MemoryConversationStore, SqliteConversationStore
from toolsearch.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    OpaquePart,
    TextPart,
    ToolMessage,
    UserMessage,
)
from toolsearch.testing import tool_call

TURN: tuple[Message, ...] = (
    UserMessage(content=(TextPart(text="What is this?"), ImagePart.of(b"\x89PNG"))),
    AssistantMessage(
        content=(OpaquePart(provider="anthropic", data={"signature": "x"}), tool_call("look", {"é": "🍸"}))
    ),
    ToolMessage(call_id="call_1", name="look", content=(TextPart(text="a cat"),), structured={"n": 1}),
    AssistantMessage(content=(TextPart(text="A cat."),)),
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ConversationStore:
    if request.param == "memory":
        return MemoryConversationStore()
    return SqliteConversationStore(tmp_path / "conversations.sqlite")


def test_what_is_appended_comes_back_in_order(store: ConversationStore) -> None:
    store.append("s", "t", TURN)
    store.append("s", "t", TURN[:1])
    assert store.messages("s", "t") == (*TURN, TURN[0])


def test_sessions_and_tenants_are_apart(store: ConversationStore) -> None:
    store.append("s", "t", TURN)
    assert store.messages("s", "other") == store.messages("other", "t") == ()
    store.forget("s", "other")
    assert store.messages("s", "t") == TURN
    store.forget("s", "t")
    assert store.messages("s", "t") == ()


def test_a_head_is_replaced_only_where_it_still_is_the_head(store: ConversationStore) -> None:
    summary = UserMessage.of("They looked at a cat.")
    store.append("s", "", (*TURN, *TURN))
    assert store.replace_head("s", "", TURN, (summary,))
    assert store.messages("s", "") == (summary, *TURN)
    assert not store.replace_head("s", "", TURN, ())
    assert store.messages("s", "") == (summary, *TURN)


def test_appends_from_several_threads_do_not_mix(store: ConversationStore) -> None:
    turns = [tuple(UserMessage.of(f"{n}.{i}") for i in range(5)) for n in range(8)]
    threads = [threading.Thread(target=store.append, args=("s", "", turn)) for turn in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = store.messages("s", "")
    assert len(kept) == 40
    assert {kept[i : i + 5] for i in range(0, 40, 5)} == set(turns)


def test_a_file_outlives_the_store(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    SqliteConversationStore(path).append("s", "", TURN)
    assert SqliteConversationStore(path).messages("s", "") == TURN


def test_an_append_that_fails_leaves_nothing(tmp_path: Path) -> None:
    store = SqliteConversationStore(tmp_path / "conversations.sqlite")
    with pytest.raises(AttributeError):
        store.append("s", "", (TURN[0], None))  # type: ignore[arg-type]
    assert store.messages("s", "") == ()


def test_a_message_nested_too_deeply_for_fast_reading_is_read_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "conversations.sqlite"
    deep: object = 1
    for _ in range(240):
        deep = [deep]
    messages = (UserMessage.of("a"), ToolMessage(call_id="c", name="t", structured=deep))
    SqliteConversationStore(path).append("s", "", messages)
    store = SqliteConversationStore(path)
    assert store.messages("s", "") == messages
    assert store.replace_head("s", "", messages[:1], ())
    assert store.messages("s", "") == messages[1:]


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be read as the header of one" * 20)
    with pytest.raises(sqlite3.DatabaseError):
        SqliteConversationStore(path)


def test_memory_is_bounded_by_the_least_recently_used_session() -> None:
    store = MemoryConversationStore(max_sessions=2)
    for session in ("a", "b"):
        store.append(session, "", TURN)
    store.messages("a", "")
    store.append("c", "", TURN)
    assert [bool(store.messages(session, "")) for session in "abc"] == [True, False, True]
    with pytest.raises(ValueError, match="max_sessions is 0"):
        MemoryConversationStore(max_sessions=0)
