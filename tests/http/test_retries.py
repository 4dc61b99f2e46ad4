"""Waits are what a service asks for, else grow, and are never longer than allowed."""

from email.utils import formatdate
from typing import Any

import pytest

from toolsearch.http.retries import RetryPolicy, asked_wait_s, parse_retry_after

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


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "0"}, 0),
        ({"retry-after-ms": "12.5"}, 0.0125),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7),
        ({"retry-after-ms": "", "retry-after": "7"}, 7),
        ({"retry-after": formatdate(NOW + 9)}, 9),
        ({}, None),
    ],
)
def test_milliseconds_go_before_seconds(headers: dict[str, str], seconds: float | None) -> None:
    """As the official clients of model providers read them."""
    assert asked_wait_s(headers, now=NOW) == seconds


def test_waits_double_up_to_the_maximum() -> None:
    policy = RetryPolicy(base_wait_s=1, max_wait_s=5)
    waits = [policy.wait_s(failures, None, random=0.0) for failures in (1, 2, 3, 4, 100)]
    assert waits == [1, 2, 4, 5, 5]


def test_jitter_takes_up_to_half_off() -> None:
    policy = RetryPolicy(base_wait_s=8)
    assert [policy.wait_s(1, None, random=r) for r in (0.0, 0.5, 1.0)] == [8, 6, 4]


def test_what_the_service_asks_for_goes_first_but_has_an_end() -> None:
    policy = RetryPolicy(base_wait_s=1, max_wait_s=20)
    assert policy.wait_s(1, 7.0, random=0.9) == 7
    assert policy.wait_s(1, 3600.0, random=0.9) == 20


def test_there_is_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="attempts"):
        RetryPolicy(attempts=0)


@pytest.mark.parametrize("setting", ["attempts", "base_wait_s", "max_wait_s"])
def test_a_setting_that_is_no_number_is_named(setting: str) -> None:
    wrong: Any
    for wrong in ("5", True, None):
        with pytest.raises(TypeError, match=f"{setting} is .*; it must be a (whole )?number"):
            RetryPolicy(**{setting: wrong})
