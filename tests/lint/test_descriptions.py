import pytest

from toolsearch.lint.descriptions import (
    MAX_CHARACTERS,
    MAX_TOKENS,
    check_description,
    check_parameters,
    check_size,
)
from toolsearch.lint.stuffing import check_repetition
from toolsearch.tokens import definition_tokens
from toolsearch.tools import Tool


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("", ["description-missing"]),
        (" \n", ["description-missing"]),
        ("Go", ["description-short"]),
        ("查询", ["description-short"]),
        ("查询12306余票信息。", []),
        ("Deletes the users", ["description-repeats-name"]),
        ("delete_user_in_shop", []),
        ("Delete a user and all that is theirs.", []),
        ("Delete a user. " + "x " * MAX_CHARACTERS, ["description-long"]),
    ],
)
def test_descriptions_that_say_nothing_or_too_much(description: str, expected: list[str]) -> None:
    tool = Tool(raw_name="deletesUser", source="shop", description=description)
    assert [finding.code for finding in check_description(tool)] == expected


def test_undescribed_parameters_are_listed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "string", "description": "What to do."},
            "c": {"$ref": "#/$defs/C"},
            "d": {"anyOf": [{"type": "string", "description": "An id."}, {"type": "null"}]},
            "e": {"enum": ["x", "y"]},
            "f": True,
        },
        "$defs": {"C": {"type": "string"}},
    }
    (finding,) = check_parameters(Tool(raw_name="t", input_schema=schema))
    assert finding.message == "2 of 6 parameters say nothing: a, f."


def test_a_tool_without_parameters_has_none_to_describe() -> None:
    assert list(check_parameters(Tool(raw_name="now"))) == []


def test_a_definition_of_more_tokens_than_the_limit_is_oversized() -> None:
    words = Tool(raw_name="t", description="word " * MAX_TOKENS)
    (finding,) = check_size(words)
    assert f"{definition_tokens(words.definition):,} tokens" in finding.message
    assert list(check_size(Tool(raw_name="t", description="word " * (MAX_TOKENS - 100)))) == []


@pytest.mark.parametrize(
    ("description", "repeated"),
    [
        ("email email email email", "'email' 4 times"),
        ("Send it. " + "best mail tool " * 8, "'best' 8 times"),
        ("Adds. " + "the one you really want, " * 5, "'the one you really' 5 times"),
    ],
)
def test_repetition_is_found(description: str, repeated: str) -> None:
    (finding,) = check_repetition(Tool(raw_name="t", description=description))
    assert finding.message == f"Its description repeats {repeated}."


@pytest.mark.parametrize(
    "description",
    [
        "",
        "Provides the details of button components: shiny-button, ripple-button, glow-button, flat-button.",
        "Send an email. The email goes to all; an email without subject is refused. Emails are kept.",
        "The price of the stock on the day at the close of the market in the currency of the listing.",
    ],
)
def test_prose_and_lists_are_no_repetition(description: str) -> None:
    assert list(check_repetition(Tool(raw_name="t", description=description))) == []
