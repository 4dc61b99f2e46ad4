"""`parse_arguments` reads what models write, and says what is wrong with the rest."""

import json

import pytest

from toolsearch.exceptions import ToolArgumentsError
from toolsearch.functions.arguments import parse_arguments

COCKTAIL = "\U0001f378"


@pytest.mark.parametrize("text", ["", "  \n", "null", '""', "{}"])
def test_empty_text_means_no_arguments(text: str) -> None:
    """(E83)"""
    assert parse_arguments(text) == {}


def test_an_object_that_was_encoded_twice_is_unpacked() -> None:
    """(E87)"""
    once = json.dumps({"pattern": "*.md"})
    assert parse_arguments(once) == {"pattern": "*.md"}
    assert parse_arguments(json.dumps(once)) == {"pattern": "*.md"}


def test_text_that_looks_like_json_stays_text() -> None:
    """(E89)"""
    values = ["12345", '{"k":1}', "null", "[1]", "true"]
    assert parse_arguments(json.dumps({"p": values})) == {"p": values}


def test_the_halves_of_a_surrogate_pair_become_one_character() -> None:
    """(E92)"""
    escaped = r'{"note":"\ud83c\udf78"}'
    assert parse_arguments(escaped) == {"note": COCKTAIL}
    for cut in range(len(escaped)):
        assert parse_arguments(escaped[:cut] + escaped[cut:]) == {"note": COCKTAIL}
    assert parse_arguments('{"note":"\ud83c' + '\udf78"}') == {"note": COCKTAIL}


def test_a_raw_line_break_inside_a_string_is_accepted() -> None:
    assert parse_arguments('{"code": "a\nb"}') == {"code": "a\nb"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('q = "x"', "not valid JSON: Expecting value at character 0, near 'q = \"x\"'"),
        ('{"q": "unterm', "Unterminated string"),
        ('{"q": 1} {"q": 2}', "Extra data at character 9"),
        ("[1]", "a list, not a JSON object"),
        ("7", "a number, not"),
        ("true", "a boolean, not"),
        ('"x"', "not valid JSON"),
        ('{"x": NaN}', "NaN is no JSON number"),
        ('{"x": [1e999]}', "1e999 is too large a number"),
        ('{"x": -1.5E+400}', "-1.5E+400 is too large a number"),
        ("[" * 100_000, "nested too deeply"),
        (r'{"x": "\ud83c"}', "half of a surrogate pair"),
        ('{"x": ' + "9" * 5000 + "}", "not valid JSON"),
    ],
)
def test_anything_else_is_refused_with_advice(text: str, said: str) -> None:
    """(E85)"""
    with pytest.raises(ToolArgumentsError) as caught:
        parse_arguments(text, tool="find")
    assert said in str(caught.value)
    assert "'find'" in str(caught.value)
    assert "Write one JSON object" in str(caught.value)
    assert "nothing was run" in str(caught.value)
