"""Values of parameters as text: the table of OpenAPI 3.1.1, 4.8.12.6, cell by cell."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.openapi.documents import Recorder, call, document, only_tool, operation, parameter
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.tools import JsonObject

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}
ANYTHING: JsonObject = {}

# style, explode, where, empty, text, array, object; None where the specification says n/a.
TABLE = [
    ("matrix", False, "path", ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"),
    (
        "matrix",
        True,
        "path",
        ";color",
        ";color=blue",
        ";color=blue;color=black;color=brown",
        ";R=100;G=200;B=150",
    ),
    ("label", False, "path", None, ".blue", ".blue,black,brown", ".R,100,G,200,B,150"),
    ("label", True, "path", None, ".blue", ".blue.black.brown", ".R=100.G=200.B=150"),
    ("simple", False, "path", None, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "path", None, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("form", False, "query", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    (
        "form",
        True,
        "query",
        "color=",
        "color=blue",
        "color=blue&color=black&color=brown",
        "R=100&G=200&B=150",
    ),
    (
        "spaceDelimited",
        False,
        "query",
        None,
        None,
        "color=blue%20black%20brown",
        "color=R%20100%20G%20200%20B%20150",
    ),
    (
        "pipeDelimited",
        False,
        "query",
        None,
        None,
        "color=blue%7Cblack%7Cbrown",
        "color=R%7C100%7CG%7C200%7CB%7C150",
    ),
    ("spaceDelimited", True, "query", None, None, "color=blue&color=black&color=brown", None),
    ("pipeDelimited", True, "query", None, None, "color=blue&color=black&color=brown", None),
    ("deepObject", True, "query", None, None, None, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("simple", False, "header", None, "blue", "blue,black,brown", "R,100,G,200,B,150"),
    ("simple", True, "header", None, "blue", "blue,black,brown", "R=100,G=200,B=150"),
    ("form", False, "cookie", "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"),
    (
        "form",
        True,
        "cookie",
        "color=",
        "color=blue",
        "color=blue; color=black; color=brown",
        "R=100; G=200; B=150",
    ),
]
CELLS = [
    pytest.param(style, explode, place, value, text, id=f"{style}-{explode}-{place}-{kind}")
    for style, explode, place, *texts in TABLE
    for kind, value, text in zip(
        ("empty", "text", "array", "object"), ("", "blue", ARRAY, OBJECT), texts, strict=True
    )
    if text is not None
]


def sent(place: str, value: Any, **how: Any) -> str:
    """What a parameter `color` of that value makes of the part of the request that it is in."""
    path = "/x/{color}" if place == "path" else "/x"
    recorder = Recorder()
    value_of = document({path: {"get": operation(parameter("color", place, ANYTHING, **how))}})
    call(only_tool(value_of, recorder), {"color": value})
    request = recorder.last
    match place:
        case "path":
            return request.url.raw_path.decode().removeprefix("/v1/x/")
        case "query":
            return request.url.query.decode()
        case "header":
            return str(request.headers["color"])
        case _:
            return str(request.headers.get("Cookie", ""))


@pytest.mark.parametrize(("style", "explode", "place", "value", "text"), CELLS)
def test_a_value_is_written_as_the_table_says(
    style: str, explode: bool, place: str, value: Any, text: str
) -> None:
    assert sent(place, value, style=style, explode=explode) == text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("path", "blue,black,brown"),
        ("query", "color=blue&color=black&color=brown"),
        ("header", "blue,black,brown"),
        ("cookie", "color=blue; color=black; color=brown"),
    ],
)
def test_without_a_style_the_place_has_one(place: str, text: str) -> None:
    assert sent(place, ARRAY) == text


def test_what_separates_is_encoded_within_values() -> None:
    assert sent("query", ["a,b", "c&d=e", "+", "ä"], explode=False) == "color=a%2Cb,c%26d%3De,%2B,%C3%A4"
    assert sent("path", ["a,b", "c/d", "e;f?g#h"]) == "a%2Cb,c%2Fd,e%3Bf%3Fg%23h"
    assert sent("path", "50%") == "50%25"
    assert sent("cookie", "a; b=c,\u00e4") == "color=a%3B%20b=c%2C%C3%A4"


def test_reserved_characters_stay_where_the_parameter_wants_it() -> None:
    assert sent("query", "a/b:c?d&e+f#g", allowReserved=True) == "color=a/b:c?d%26e%2Bf%23g"
    assert sent("query", "a/b:c") == "color=a%2Fb%3Ac"


def test_numbers_and_booleans_are_written_as_in_json() -> None:
    assert sent("query", [1, 2.0, 2.5, True, False]) == "color=1&color=2&color=2.5&color=true&color=false"


def test_nested_values_are_written_as_json_or_deeper() -> None:
    assert sent("query", [{"a": [1]}]) == "color=%7B%22a%22%3A%5B1%5D%7D"
    deep = {"a": {"b": [1, 2]}, "c": None}
    assert sent("query", deep, style="deepObject") == "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"


def test_a_parameter_with_content_is_json() -> None:
    value_of = document(
        {
            "/x": {
                "get": operation(
                    {"name": "q", "in": "query", "content": {"application/json": {"schema": {}}}}
                )
            }
        }
    )
    recorder = Recorder()
    call(only_tool(value_of, recorder), {"q": {"a": ["b"]}})
    assert recorder.last.url.params["q"] == '{"a":["b"]}'


def test_nothing_is_sent_of_an_empty_list_and_of_null() -> None:
    assert sent("query", []) == ""
    assert sent("query", None) == ""
    assert sent("query", ["a", None]) == "color=a"
    assert sent("cookie", {}) == ""


@pytest.mark.parametrize("value", ["", ".", "..", [], ["."], {}])
def test_a_value_that_would_make_another_path_is_refused(value: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="must not be empty"):
        sent("path", value)


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ({"style": "spaceDelimited", "explode": False}, ["a b"]),
        ({"style": "pipeDelimited", "explode": False}, ["a|b"]),
    ],
)
def test_a_part_that_could_not_be_told_from_two_is_refused(how: JsonObject, value: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="stands between the parts"):
        sent("query", value, **how)


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "ä", " a", ["a,b"]])
def test_what_no_header_can_carry_is_refused(value: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="'color'"):
        sent("header", value)


def test_a_dot_that_would_split_a_label_is_refused() -> None:
    with pytest.raises(ToolArgumentsError, match="stands between the parts"):
        sent("path", ["1.5"], style="label", explode=True)
