"""What the log tells, and what it never does."""

import logging
from typing import Any

import pytest

from tests.telemetry.support import SECRET, broken, call, router, streamed, weather_forecast
from toolsearch.exceptions import OverloadedError
from toolsearch.telemetry import LogObserver


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "toolsearch"]


def ticking() -> Any:
    seconds = iter(range(1000))
    return lambda: float(next(seconds))


def test_each_round_call_and_run_is_a_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch")
    router(LogObserver(ticking())).run_sync(f"Refund {SECRET}.", session_id="42")
    assert lines(caplog) == [
        "round 1 of session '42': 1 tools offered, tool_calls, calls of ['tool_search'], "
        "tokens 100 in (0 cached), 10 out, 1.000 s",
        "call s1 of tool_search in session '42': done, 1.000 s, found ['refund_order']",
        "round 2 of session '42': 2 tools offered, tool_calls, calls of ['refund_order'], "
        "tokens 200 in (100 cached), 20 out, 1.000 s",
        "call c1 of refund_order in session '42': done, 1.000 s",
        "round 3 of session '42': 2 tools offered, stop, calls of [], "
        "tokens 300 in (200 cached), 30 out, 1.000 s",
        "run of session '42' with openai:gpt-5: stop, 3 rounds, 11.000 s",
    ]


def test_failures_are_told_by_their_kind(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "toolsearch")
    script = [call("broken", "c1", city=SECRET), OverloadedError("openai:gpt-5", SECRET)]
    with pytest.raises(OverloadedError):
        router(LogObserver(), script=script, tools=[broken], pinned=("broken",)).run_sync("Go.")
    told = lines(caplog)
    assert told[1].startswith("call c1 of broken in session '': RuntimeError, ")
    assert ": 1 tools offered, OverloadedError, calls of []" in told[2]
    assert told[3].startswith("run of session '' with openai:gpt-5: OverloadedError, ")


def test_a_line_is_only_written_for_those_who_want_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolsearch")
    router(LogObserver()).run_sync("Refund.")
    assert lines(caplog) == []


def test_a_call_that_failed_by_no_fault_of_the_model_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """The model reads neutral words, and the run goes on: somebody has to know."""
    caplog.set_level(logging.WARNING, "toolsearch")
    script = [
        call("broken", "c1", city=SECRET),
        call("broken", "c2", town=SECRET),
        call("weather_forecast", "c3", city=SECRET),
        "Sorry.",
    ]
    tools = [broken, weather_forecast]
    through = router(LogObserver(ticking()), script=script, tools=tools, pinned=tools)
    through.run_sync("Go.")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "call c1 of broken in session '': RuntimeError, 1.000 s")
    ]


def test_no_secret_argument_or_result_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, from all of the package."""
    caplog.set_level(logging.DEBUG)
    through = router(LogObserver())
    streamed(through, f"Refund {SECRET}.")
    assert lines(caplog)
    assert SECRET not in caplog.text
