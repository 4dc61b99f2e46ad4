"""Every call has an id of its own, in a shape that the provider takes."""

import re

from hypothesis import given
from hypothesis import strategies as st

from toolsearch.chat.call_ids import wire_id, with_unique_ids
from toolsearch.messages import AssistantMessage, TextPart, ToolCall


def message(*ids: str) -> AssistantMessage:
    calls = [ToolCall(id=call_id, name=f"tool_{n}") for n, call_id in enumerate(ids)]
    return AssistantMessage(content=(TextPart(text="now"), *calls))


def ids(answer: AssistantMessage) -> list[str]:
    return [call.id for call in answer.tool_calls]


def test_empty_and_repeated_ids_become_free_ones() -> None:
    """(E101)"""
    assert ids(with_unique_ids(message("", ""))) == ["call_1", "call_2"]
    assert ids(with_unique_ids(message("1", "1"))) == ["1", "call_1"]
    assert ids(with_unique_ids(message("", "call_1", ""))) == ["call_2", "call_1", "call_3"]


def test_ids_of_earlier_messages_are_taken_too() -> None:
    assert ids(with_unique_ids(message("call_1", "0"), [message("0"), message("call_2")])) == [
        "call_1",
        "call_3",
    ]


@given(
    st.lists(st.sampled_from(["", "1", "call_1", "call_2", "x"])), st.lists(st.sampled_from(["1", "call_1"]))
)
def test_only_what_must_change_changes(own: list[str], old: list[str]) -> None:
    before = message(*own)
    after = with_unique_ids(before, [message(*old)])
    assert len({*ids(after), *old}) == len(own) + len(set(old))
    assert "" not in ids(after)
    assert [call.name for call in after.tool_calls] == [call.name for call in before.tool_calls]
    for before_id, after_id in zip(own, ids(after), strict=True):
        if own.count(before_id) == 1 and before_id and before_id not in old:
            assert after_id == before_id


def test_the_provider_gets_ids_in_its_own_shape_and_each_stays_apart() -> None:
    assert wire_id("toolu_01A-b", max_length=40) == "toolu_01A-b"
    odd = ["functions.get:0", "functions.get:1", "x" * 41, "ä", ""]
    sent = [wire_id(call_id, max_length=40) for call_id in odd]
    assert len(set(sent)) == len(odd)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", call_id) for call_id in sent)
    assert sent == [wire_id(call_id, max_length=40) for call_id in odd]
