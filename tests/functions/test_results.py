"""`to_result` makes something a model can read of whatever a function returns."""

import dataclasses
import enum
import json
import math
from collections import UserDict, deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import BaseModel

from toolsearch import ToolResult
from toolsearch.exceptions import ToolResultError
from toolsearch.functions import to_result
from toolsearch.messages import MESSAGES, ImagePart, TextPart, ToolMessage


@dataclasses.dataclass
class Point:
    x: float
    note: str | None = None


class Order(BaseModel):
    id: int
    at: date
    weight: float = math.nan


class Level(enum.StrEnum):
    HIGH = "high"


PNG = BytesIO()
Image.new("RGB", (1, 1)).save(PNG, format="PNG")


def text(value: Any) -> str:
    (part,) = to_result(value).content
    assert isinstance(part, TextPart)
    return part.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ('{"a": 1}', '{"a": 1}'),
        ("", "(empty)"),
        (None, "Done."),
        (True, "true"),
        (7, "7"),
        (10**30, "1" + "0" * 30),
        (math.nan, "null"),
        (-math.inf, "null"),
        ({"a": [math.nan]}, '{"a": [null]}'),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00Z"),
        (date(2024, 1, 2), "2024-01-02"),
        (timedelta(days=1), "P1D"),
        (Decimal("1.10"), "1.10"),
        (Level.HIGH, "high"),
        ({1, 2}, "[1, 2]"),
        (frozenset({"a"}), '["a"]'),
        ((1, "é"), '[1, "é"]'),
        (deque([1]), "[1]"),
        (range(3), "[0, 1, 2]"),
        (UserDict(a=1), '{"a": 1}'),
        ({1: "a", None: "b"}, '{"1": "a", "None": "b"}'),
        (Point(1.5), '{"x": 1.5, "note": null}'),
        (Point(math.nan), '{"x": null, "note": null}'),
        (Order(id=1, at=date(2024, 1, 2)), '{"id": 1, "at": "2024-01-02", "weight": null}'),
        ([Order(id=1, at=date(2024, 1, 2), weight=2)], '[{"id": 1, "at": "2024-01-02", "weight": 2.0}]'),
        (np.float64(0.5), "0.5"),
        (np.array([[1, 2]]), "[[1, 2]]"),
        ({"v": np.array([math.nan])}, '{"v": [null]}'),
        (b"caf\xc3\xa9", "café"),
        (b"", "(empty)"),
        (b"\x00\xff", "data:application/octet-stream;base64,AP8="),
        (bytearray(b"ab"), "ab"),
        ({"b": b"\x00\xff"}, '{"b": "AP8="}'),
        ([], "[]"),
        ({}, "{}"),
    ],
    ids=repr,
)
def test_every_value_becomes_text_that_can_be_sent(value: Any, expected: str) -> None:
    """(E21)"""
    result = to_result(value)
    assert text(value) == expected
    # The message is strict JSON in UTF-8, and can be logged as it is.
    message = ToolMessage(call_id="c", name="t", content=result.content, structured=result.structured)
    written = MESSAGES.dump_json((message,))
    assert MESSAGES.validate_json(written) == (message,)
    json.loads(written, parse_constant=pytest.fail)


def test_json_values_are_kept_for_programs_and_text_is_not() -> None:
    assert to_result(Point(1.5)).structured == {"x": 1.5, "note": None}
    assert to_result([1]).structured == [1]
    assert to_result("text").structured is None
    assert to_result(None).structured is None


def test_half_a_surrogate_pair_is_replaced_and_two_are_joined() -> None:
    assert text("a\ud83cb") == "a\ufffdb"
    assert text("\ud83c" + "\udf78") == "\U0001f378"
    result = to_result({"k": ["\ud83c"]})
    assert result.structured == {"k": ["\ufffd"]}
    assert text({"k": "\ud83c"}) == '{"k": "\ufffd"}'


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG.getvalue(), "image/png"),
        (b"\xff\xd8\xff\xe0..", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_the_bytes_of_a_picture_are_a_picture(content: bytes, media_type: str) -> None:
    assert to_result(content).content == (ImagePart.of(content, media_type),)


def test_a_picture_of_pillow_is_sent_as_png() -> None:
    assert to_result(Image.new("RGB", (1, 1))).content == (ImagePart.of(PNG.getvalue()),)


def test_a_list_with_pictures_keeps_its_order() -> None:
    result = to_result(["before", PNG.getvalue(), {"a": 1}, ImagePart(url="https://x/y.png")])
    assert result.content == (
        TextPart(text="before"),
        ImagePart.of(PNG.getvalue()),
        TextPart(text='{"a": 1}'),
        ImagePart(url="https://x/y.png"),
    )
    assert result.structured is None


def test_a_result_stays_as_it_is_but_never_without_content() -> None:
    made = ToolResult.error("no")
    assert to_result(made) is made
    assert to_result(ToolResult((), structured=1)) == ToolResult((TextPart(text="Done."),), structured=1)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [*range(170, 255, 5), 254])
@pytest.mark.parametrize("given", ["plain", "result"])
def test_what_is_structured_can_be_read_back_however_deeply_it_is_nested(levels: int, given: str) -> None:
    deep = nested(levels)
    result = to_result(deep if given == "plain" else ToolResult.text("deep", structured=deep))
    assert (result.structured == deep) == (levels <= 180)
    kept = (ToolMessage(call_id="1", name="t", content=result.content, structured=result.structured),)
    assert MESSAGES.validate_json(MESSAGES.dump_json(kept)) == kept


@pytest.mark.parametrize(
    ("structured", "kept"),
    [
        ({"b": b"\xff"}, {"b": "_w=="}),
        ({"n": math.nan, "at": date(2026, 1, 2)}, {"n": None, "at": "2026-01-02"}),
        (Order(id=1, at=date(2026, 1, 2)), {"id": 1, "at": "2026-01-02", "weight": None}),
        ({"t": "a\ud83c\udf78b\ud800"}, {"t": "a🍸b�"}),
        (np.float32(0.5), 0.5),
    ],
)
def test_what_is_structured_in_a_result_becomes_json(structured: Any, kept: Any) -> None:
    result = to_result(ToolResult.text("x", structured=structured))
    assert result == ToolResult.text("x", structured=kept)
    assert json.loads(json.dumps(result.structured)) == kept


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart(text="a\ud800"), TextPart(text="a�")),
        (TextPart(text="\ud83c\udf78"), TextPart(text="🍸")),
        (ImagePart(url="https://x/\ud800"), ImagePart(url="https://x/�")),
    ],
)
def test_parts_hold_nothing_that_cannot_be_encoded(part: Any, expected: Any) -> None:
    """(E21)"""
    for value in (part, [part], ToolResult((part,))):
        assert to_result(value).content == (expected,)


@pytest.mark.parametrize("content", ["text", (None,), ({"text": "x"},)])
def test_a_result_of_something_else_than_parts_is_refused(content: Any) -> None:
    with pytest.raises(ToolResultError, match=r"a ToolResult with a \w+ in its content"):
        to_result(ToolResult(content))


class Opaque:
    pass


RECURSIVE: list[Any] = []
RECURSIVE.append(RECURSIVE)


@pytest.mark.parametrize(
    "value", [Opaque(), [Opaque()], RECURSIVE, iter([1]), map(str, [1]), (x for x in "a"), ValueError("x")]
)
def test_what_has_no_json_form_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ToolResultError, match=r"Tool 'find' returned a .*result_converter") as caught:
        to_result(value, tool="find")
    assert caught.value.tool == "find"
