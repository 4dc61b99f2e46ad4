"""Who is told of a tool's exception, and in which words."""

import time

import pytest

from toolsearch.advisors.failures import ErrorPolicy
from toolsearch.exceptions import ToolArgumentsError, ToolFailed, ToolRetry
from toolsearch.messages import TextPart


def told(policy: ErrorPolicy, error: Exception) -> str:
    result = policy.result("boom", error)
    assert result.is_error
    (part,) = result.content
    assert isinstance(part, TextPart)
    return part.text


def test_errors_for_the_model_reach_it_as_they_are() -> None:
    for strict in (ErrorPolicy(), ErrorPolicy(tell=())):
        assert told(strict, ToolRetry("Give a date.")) == "Give a date."
        assert told(strict, ToolFailed("No such order.")) == "No such order."
        assert "x: too big" in told(strict, ToolArgumentsError("boom", ("x: too big",)))


def test_a_value_error_is_told_by_its_message() -> None:
    """(E26)"""
    assert told(ErrorPolicy(), ValueError("bad id 7")) == "Tool 'boom' failed: bad id 7"


def test_other_errors_are_told_in_neutral_words_that_name_the_tool() -> None:
    said = told(ErrorPolicy(), RuntimeError("cannot reach db-7.internal"))
    assert said == "Tool 'boom' failed for a reason that cannot be shown. Go on without it, or say so."
    assert told(ErrorPolicy(tell=()), ValueError("bad id 7")) == said


def test_listed_types_are_told_with_their_subclasses() -> None:
    policy = ErrorPolicy(tell=(OSError,))
    assert told(policy, FileNotFoundError("no file a.txt")) == "Tool 'boom' failed: no file a.txt"
    assert "bad" not in told(policy, ValueError("bad"))


def test_a_message_is_one_line_of_bounded_length_and_never_blank() -> None:
    """Statement 29 of docs/spring-ai.md."""
    assert told(ErrorPolicy(), ValueError("a\n  b\tc")) == "Tool 'boom' failed: a b c"
    assert told(ErrorPolicy(), ValueError()) == "Tool 'boom' failed: ValueError"
    assert len(told(ErrorPolicy(), ValueError("x" * 10_000))) < 600


def test_a_message_is_told_without_secrets() -> None:
    """(E26)"""
    assert told(ErrorPolicy(), ValueError("no: api_key=s3cr3t")) == "Tool 'boom' failed: no: api_key=[hidden]"


@pytest.mark.parametrize("kind", [ValueError, ToolFailed, RuntimeError])
def test_an_error_that_fails_when_it_is_asked_for_its_text_is_told_by_its_type(kind: type[Exception]) -> None:
    class Mute(kind):  # type: ignore[valid-type, misc]
        def __str__(self) -> str:
            raise OSError("no text")

    said = told(ErrorPolicy(), Mute("x"))
    assert said.startswith("Tool 'boom' failed")
    assert ("Mute" in said) == (kind is ValueError)


def test_a_long_message_takes_no_time() -> None:
    """What a tool raises may be as long as what it was given, and is read in the event loop."""
    started = time.perf_counter()
    for piece in ("a-", "eyJ-", "://a:", "token='", "-----BEGIN PRIVATE KEY-----"):
        told(ErrorPolicy(), ValueError(piece * 1_000_000))
    assert time.perf_counter() - started < 1
