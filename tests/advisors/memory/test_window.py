"""Trimming takes whole turns, so that no call loses its result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.advisors.memory import latest_turns, turns_of
from toolsearch.advisors.memory.window import IMAGE_TOKENS, tokens_of
from toolsearch.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from toolsearch.testing import tool_call
from toolsearch.tokens import count_tokens


def said(text: str) -> AssistantMessage:
    return AssistantMessage(content=(TextPart(text=text),))


def turn(n: int) -> tuple[Message, ...]:
    call = tool_call("look", {"n": n}, id=f"c{n}")
    result = ToolMessage(call_id=call.id, name="look", content=(TextPart(text=f"result {n}"),))
    return (UserMessage.of(f"question {n}"), AssistantMessage(content=(call,)), result, said(f"answer {n}"))


TALK = tuple(message for n in range(4) for message in turn(n))


def test_a_turn_begins_with_a_message_of_the_user() -> None:
    assert turns_of(TALK) == [turn(n) for n in range(4)]
    assert turns_of((said("Hello."), *turn(1))) == [(said("Hello."),), turn(1)]
    assert turns_of(()) == []


@pytest.mark.parametrize(("max_turns", "first"), [(1, 3), (3, 1), (9, 0), (None, 0)])
def test_the_latest_turns_are_kept(max_turns: int | None, first: int) -> None:
    assert latest_turns(TALK, max_turns=max_turns) == TALK[4 * first :]


def test_as_many_whole_turns_are_kept_as_fit() -> None:
    size = tokens_of(turn(0))
    assert latest_turns(TALK, max_tokens=2 * size) == TALK[8:]
    assert latest_turns(TALK, max_tokens=3 * size - 1) == TALK[8:]
    assert latest_turns(TALK, max_tokens=2 * size, max_turns=1) == TALK[12:]


def test_the_last_turn_is_kept_even_where_it_does_not_fit() -> None:
    assert latest_turns(TALK, max_tokens=1) == turn(3)


def test_tokens_are_those_of_text_calls_and_pictures() -> None:
    picture = UserMessage(content=(TextPart(text="two words"), ImagePart.of(b"x")))
    assert tokens_of([picture]) == count_tokens("two words") + IMAGE_TOKENS
    assert tokens_of([SystemMessage(text="Be brief.")]) == count_tokens("Be brief.")
    call = AssistantMessage(content=(TextPart(text="Hm."), tool_call("look", {"n": 1})))
    assert tokens_of([call]) == sum(map(count_tokens, ["Hm.", "look", '{"n": 1}']))


@given(
    kinds=st.lists(st.sampled_from("uat"), max_size=30),
    max_turns=st.integers(1, 5) | st.none(),
    max_tokens=st.integers(1, 60) | st.none(),
)
def test_what_is_kept_is_an_end_of_the_conversation_at_a_turn(
    kinds: list[str], max_turns: int | None, max_tokens: int | None
) -> None:
    made: dict[str, Message] = {
        "u": UserMessage.of("a question"),
        "a": said("an answer"),
        "t": ToolMessage(call_id="c", name="t", content=(TextPart(text="a result"),)),
    }
    messages = tuple(made[kind] for kind in kinds)
    kept = latest_turns(messages, max_turns=max_turns, max_tokens=max_tokens)
    assert kept == messages[len(messages) - len(kept) :]
    assert not kept or kept[0] == made["u"] or kept == messages
    assert bool(kept) == bool(messages)
