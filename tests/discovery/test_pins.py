"""Tools that are worth pinning, checked against sums by hand."""

import pytest

from toolsearch.discovery.pins import suggest_pins, wilson_lower


def test_a_share_is_taken_at_the_lower_end_of_its_interval() -> None:
    """Figures of the interval by hand: 50 of 100 and 10 of 10."""
    assert wilson_lower(50, 100) == pytest.approx(0.4038, abs=1e-4)
    assert wilson_lower(10, 10) == pytest.approx(0.7225, abs=1e-4)
    assert (wilson_lower(0, 10), wilson_lower(0, 0)) == (0.0, 0.0)


def test_a_tool_is_suggested_where_searching_for_it_costs_more() -> None:
    sessions = [["often", "dear"]] * 90 + [["seldom"]] * 10
    tokens = {"often": 50, "dear": 900, "seldom": 50}
    (pin,) = suggest_pins(sessions, tokens, rounds=4, search_tokens=600)
    low = wilson_lower(90, 100)
    assert (pin.name, pin.sessions, pin.share, pin.tokens) == ("often", 90, 0.9, 50)
    assert pin.least_share == low
    assert pin.gain_tokens == pytest.approx(low * (600 + 50 * 1.5) - 4 * 50)


def test_sessions_that_call_nothing_count_against_pinning() -> None:
    called = [["often"]] * 30
    assert suggest_pins(called, {"often": 100})
    assert suggest_pins([*called, *[[]] * 300], {"often": 100}) == ()


def test_few_sessions_and_unknown_tools_suggest_nothing() -> None:
    assert suggest_pins([["often"]] * 9, {"often": 1}) == ()
    assert suggest_pins([["gone"]] * 50, {"often": 1}) == ()
    assert suggest_pins([], {}) == ()


def test_the_most_saving_come_first_and_ties_go_by_name() -> None:
    sessions = [["b", "a", "small"]] * 50
    found = suggest_pins(sessions, {"a": 40, "b": 40, "small": 10})
    assert [pin.name for pin in found] == ["small", "a", "b"]


def test_more_rounds_make_a_pin_dearer() -> None:
    sessions = [["often"]] * 50
    gains = [
        sum(pin.gain_tokens for pin in suggest_pins(sessions, {"often": 60}, rounds=rounds))
        for rounds in (1, 4, 8, 40)
    ]
    assert gains == sorted(gains, reverse=True)
    assert gains[-1] == 0
