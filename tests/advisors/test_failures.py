"""Who is told of a tool's exception, and in which words."""

import pytest

from toolsearch.advisors.failures import ErrorPolicy, redacted
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


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer s3cr3t-aaaa refused", "Authorization: Bearer [hidden] refused"),
        ("api_key=s3cr3t-aaaa, user=ann", "api_key=[hidden], user=ann"),
        ("OPENAI_API_KEY: 's3cr3t aaaa'!", "OPENAI_API_KEY: [hidden]!"),
        ('{"password": "s3cr3t-aaaa", "id": 7}', '{"password": [hidden], "id": 7}'),
        ("postgres://ann:s3cr3t-aaaa@db/x", "postgres://[hidden]@db/x"),
        ("key sk-s3cr3taaaa1 is revoked", "key [hidden] is revoked"),
        ("bad id 7: the token count is 12", "bad id 7: the token count is 12"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, kept: str) -> None:
    """(E26)"""
    assert redacted(text) == kept
    assert told(ErrorPolicy(), ValueError(text)) == f"Tool 'boom' failed: {kept}"
