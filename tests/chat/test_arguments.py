"""Arguments go out as a JSON object, whatever the model wrote."""

import json

import pytest

from toolsearch.chat.arguments import as_object, as_text, is_complete, normal_text


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ('{"x": 1}', {"x": 1}),
        ("", {}),
        ("  ", {}),
        ("null", {}),
        ('"{\\"x\\": 1}"', {"x": 1}),
        ('{"q": "unterm', {"invalid_json": '{"q": "unterm'}),
        ("[1]", {"invalid_json": "[1]"}),
        ("NaN", {"invalid_json": "NaN"}),
        ('{"x": NaN}', {"invalid_json": '{"x": NaN}'}),
        ('{"x": 1e999}', {"invalid_json": '{"x": 1e999}'}),
        ("[" * 100_000, {"invalid_json": "[" * 100_000}),
    ],
)
def test_what_is_no_object_is_sent_inside_one(written: str, sent: object) -> None:
    assert as_object(written) == sent
    assert json.loads(as_text(written)) == sent


def test_a_good_object_is_sent_byte_for_byte() -> None:
    """A provider's prompt cache holds only for the same bytes."""
    for written in ('{"b": 1,  "a": "\\u00e9"}', "{}", '{"x":1}'):
        assert as_text(written) == written


def test_one_way_to_write_an_object_that_came_in_pieces() -> None:
    assert normal_text('{"b": 1, "a": "é"}') == '{"b":1,"a":"é"}'
    assert normal_text("") == "{}"
    assert normal_text('{"q": "un') == '{"q": "un'
    assert normal_text('{"q": 1e999}') == '{"q": 1e999}'


def test_complete_is_one_whole_object() -> None:
    assert [is_complete(text) for text in ("{}", '{"x":[1]}', '{"x"', "[]", "", '"{}"', "{} {}")] == [
        True,
        True,
        *[False] * 5,
    ]
