"""A request is cut where it asks for another thing, and nowhere else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.retrieval.steps import MAX_STEPS, MIN_WORDS, split_steps

MARKS = [
    "\n",
    ".",
    ";",
    "?",
    "!",
    '"it',
    "'",
    "(",
    ")",
    "[",
    "。",
    "，然后",
    "Dr.",
    "i.e.",
    "1.",
    "2)",
    "-",
    "•",
]
WORDS = st.sampled_from(
    [*MARKS, "send", "find", "the", "report.", "Please,", "then", "and", "also", "天气", "'x'"]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(WORDS, max_size=60).map(" ".join))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("Refund order 7. Tell the customer.", ["Refund order 7.", "Tell the customer."]),
        ("refund order 7; tell the customer", ["refund order 7;", "tell the customer"]),
        ("refund order 7\ntell the customer", ["refund order 7", "tell the customer"]),
        ("refund order 7 and tell the customer", ["refund order 7", "and tell the customer"]),
        (
            "Refund order 7, print a label and mail it to Ann",
            ["Refund order 7,", "print a label", "and mail it to Ann"],
        ),
        ("Show my open tasks, then close the old ones", ["Show my open tasks,", "then close the old ones"]),
        (
            "Show my tasks for today as well as the weather",
            ["Show my tasks for today", "as well as the weather"],
        ),
        (
            "1. Book a room for 4. 2. Order some lunch",
            ["1. Book a room for 4.", "2. Order some lunch"],
        ),
        ("- book a room\n- order some lunch", ["- book a room", "- order some lunch"]),
        ("• book a room • order some lunch", ["• book a room", "• order some lunch"]),
        ("查一下北京的天气。给张伟发一封邮件", ["查一下北京的天气。", "给张伟发一封邮件"]),
        ("查一下北京的天气，然后给张伟发邮件", ["查一下北京的天气，", "然后给张伟发邮件"]),
        ("東京の天気を調べて！明日の予定は？", ["東京の天気を調べて！", "明日の予定は？"]),
        ("Lösche den alten Zweig und dann ruf Anna an", ["Lösche den alten Zweig", "und dann ruf Anna an"]),
    ],
)
def test_each_wish_is_a_step(text: str, steps: list[str]) -> None:
    assert list(split_steps(text)) == steps


@pytest.mark.parametrize(
    "text",
    [
        "weather",
        "Find my appointment with Dr. Smith at 5 p.m. today, J. Doe",
        "Compare Dell Inc. and HP Inc. by revenue",
        "Search for flights, hotels and trains to Rome",
        "Tell Ann and Bob that lunch is ready",
        'Post "Done. Then we go home and order pizza." in the channel',
        "Run the query (select a; select b) on the warehouse",
        "Pay 3.50 to example.org",
        "Cancel it. Thanks!",
        "I am a teacher with a large class. I have no time. Can you find me a quiz?",
    ],
)
def test_one_wish_is_one_step(text: str) -> None:
    assert split_steps(text) == (text,)


@given(TEXTS)
def test_splitting_loses_and_adds_no_text(text: str) -> None:
    assert "".join("".join(split_steps(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_there_are_one_to_six_steps(text: str) -> None:
    assert 1 <= len(split_steps(text)) <= MAX_STEPS


@given(st.lists(st.sampled_from(["send", "find", "a", "then", "and", "please.", "mail\n"]), max_size=40))
def test_of_several_steps_none_has_fewer_words_than_the_least(words: list[str]) -> None:
    steps = split_steps(" ".join(words))
    assert len(steps) == 1 or all(len(step.split()) >= MIN_WORDS for step in steps)


def test_beyond_six_the_shortest_neighbours_are_joined() -> None:
    steps = split_steps("\n".join(f"find the {'very ' * n}old file" for n in (0, 0, 3, 4, 5, 6, 7)))
    assert len(steps) == 6
    assert steps[0] == "find the old file\nfind the old file"


@pytest.mark.parametrize("mark", ["(", "[", "{", '"', "'", "`", "“", "1. ", "and ", ", a", "a.b."])
def test_no_text_takes_long_to_split(mark: str) -> None:
    started = time.process_time()
    split_steps(mark * (2000 // len(mark)))
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "refund" + " " * 100_000 + "now",
        "\n" * 100_000,
        "退款。" * 30_000,
        "a\n" * 50_000,
        ". " * 50_000,
        "find the order. " * 6_000,
        '"' * 100_000,
        "(a) " * 25_000,
        "1. find it " * 9_000,
        "and then " * 11_000,
    ],
    ids=lambda text: repr(text[:10]),
)
def test_a_long_text_of_one_kind_is_read_in_linear_time(text: str) -> None:
    """Nothing is timed: what grows with the square of the length would take minutes here."""
    steps = split_steps(text)
    assert 1 <= len(steps) <= 6
    assert "".join("".join(steps).split()) == "".join(text.split())
