"""Waits are what a service asks for, else grow, and are never longer than allowed."""

from email.utils import formatdate
from typing import Any

import pytest

from toolsearch.http.retries import RetryPolicy, parse_retry_after

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        (" 1.5 ", 1.5),
        (formatdate(NOW + 30, usegmt=True), 30),
        (formatdate(NOW + 30), 30),
        (formatdate(NOW - 30, usegmt=True), 0),
        ("-3", None),
        ("soon", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_holds_seconds_or_a_date(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, now=NOW) == seconds


def test_waits_double_up_to_the_maximum() -> None:
    policy = RetryPolicy(base_wait_s=1, max_wait_s=5)
    waits = [policy.wait_s(failures, None, now=NOW, random=0.0) for failures in (1, 2, 3, 4, 100)]
    assert waits == [1, 2, 4, 5, 5]


def test_jitter_takes_up_to_half_off() -> None:
    policy = RetryPolicy(base_wait_s=8)
    assert [policy.wait_s(1, None, now=NOW, random=r) for r in (0.0, 0.5, 1.0)] == [8, 6, 4]


def test_what_the_service_asks_for_goes_first_but_has_an_end() -> None:
    policy = RetryPolicy(base_wait_s=1, max_wait_s=20)
    assert policy.wait_s(1, "7", now=NOW, random=0.9) == 7
    assert policy.wait_s(1, "3600", now=NOW, random=0.9) == 20
    assert policy.wait_s(1, formatdate(NOW + 9), now=NOW, random=0.9) == 9


def test_there_is_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="attempts"):
        RetryPolicy(attempts=0)


@pytest.mark.parametrize("setting", ["attempts", "base_wait_s", "max_wait_s"])
def test_a_setting_that_is_no_number_is_named(setting: str) -> None:
    wrong: Any
    for wrong in ("5", True, None):
        with pytest.raises(TypeError, match=f"{setting} is .*; it must be a (whole )?number"):
            RetryPolicy(**{setting: wrong})
