from __future__ import annotations

import contextlib
import threading
import time

import pytest

from toolsearch.exceptions import SearchRequestError
from toolsearch.index.patterns import MAX_PATTERN, match_pattern

SLOW = r"(?:(a|aa)+)+$"
STUBBORN = "a" * 40 + "b"


def test_rows_are_those_of_the_texts_that_match_case_aside() -> None:
    texts = ["Create an issue", "list_issues", "Send mail", ""]
    assert match_pattern(r"issues?$", texts).rows == (0, 1)
    assert match_pattern("MAIL", texts).rows == (2,)
    assert match_pattern("^$", texts).rows == (3,)
    assert match_pattern("nothing", texts).notice == ""


@pytest.mark.parametrize("pattern", ["[unclosed", "(?P<x", "*", "a{2,1}"])
def test_what_is_no_regular_expression_is_sought_literally_with_a_notice(pattern: str) -> None:
    """(E123)"""
    found = match_pattern(pattern, ["plain", f"with {pattern.upper()} inside"])
    assert found.rows == (1,)
    assert repr(pattern) in found.notice


@pytest.mark.parametrize("pattern", [r"(a+)+$", SLOW, r"(a*)*c", r"(a|aa)+$", r"^(\w+\s?)*\d$"])
def test_any_pattern_is_answered_within_a_second(pattern: str) -> None:
    """(E124)"""
    started = time.process_time()
    with contextlib.suppress(SearchRequestError):
        assert match_pattern(pattern, [STUBBORN]).rows == ()
    assert time.process_time() - started < 1


def test_a_pattern_without_end_is_named() -> None:
    """(E124)"""
    with pytest.raises(SearchRequestError) as caught:
        match_pattern(SLOW, [STUBBORN])
    assert repr(SLOW) in str(caught.value)


def test_the_time_limit_counts_over_all_texts() -> None:
    with pytest.raises(SearchRequestError, match=r"0\.05 s"):
        match_pattern(SLOW, [STUBBORN] * 1000, timeout_s=0.05)


def test_other_threads_run_while_a_pattern_is_matched() -> None:
    """(E124)"""
    done = threading.Event()

    def match() -> None:
        with pytest.raises(SearchRequestError):
            match_pattern(SLOW, [STUBBORN], timeout_s=0.3)
        done.set()

    thread = threading.Thread(target=match)
    thread.start()
    turns = 0
    while not done.wait(0.005):
        turns += 1
    thread.join()
    assert turns > 10


def test_a_long_pattern_is_refused() -> None:
    with pytest.raises(SearchRequestError, match=str(MAX_PATTERN)):
        match_pattern("a" * (MAX_PATTERN + 1), ["a"])


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "(?:" * 60 + ")" * 60,
        "(" * 200,
        "\\" * 199,
        "\ud800",
        "[" * 200,
        "(?R)",
        "((a{0,99}){0,99}){0,99}",
    ],
)
def test_no_pattern_raises_anything_else(pattern: str) -> None:
    with contextlib.suppress(SearchRequestError):
        match_pattern(pattern, ["some text", "\ud800"])
