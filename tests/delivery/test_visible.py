"""A model reads of a tool what a person could have read of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.delivery.visible import visible, visible_schema
from toolsearch.lint.hidden_text import check_hidden_text
from toolsearch.tools import Tool

HIDING = "Sends\x00 mail.\x1b[8m \u202eliam\u202c \U000e0049\U000e0047\ufe01\ufe02 now\u200b."
SHOWN = "Sends mail.[8m liam  now."


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "two\nlines\tand a tab",
        "Café, naïve",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \u2764\ufe0f",
        "\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u2067abc\u2069",
    ],
    ids=ascii,
)
def test_what_people_see_stays(text: str) -> None:
    assert visible(text) == text


def test_what_hides_is_taken_out() -> None:
    assert visible(HIDING) == SHOWN


@given(st.text(st.sampled_from("ab \n\x00\x1b\u200b\u202e\u2066\U000e0041\U000e007f\U0001f3f4\ufe00\u0627")))
def test_the_linter_finds_nothing_hidden_in_what_is_left(text: str) -> None:
    assert not list(check_hidden_text(Tool(raw_name="a", description=visible(text))))


def test_a_schema_keeps_its_names_and_values() -> None:
    """The model has to write them as they are."""
    odd = "a\u202eb"
    values: dict[str, Any] = {"enum": [odd, {"description": odd}], "default": odd, "const": odd}
    schema = {
        "description": HIDING,
        "properties": {odd: {"description": HIDING, **values}, "description": {"title": HIDING}},
        "required": [odd],
        "anyOf": [{"items": {"description": HIDING}}, True],
        "$defs": {"x": {"$comment": HIDING}},
    }
    assert json.loads(visible_schema(schema)) == {
        "description": SHOWN,
        "properties": {odd: {"description": SHOWN, **values}, "description": {"title": SHOWN}},
        "required": [odd],
        "anyOf": [{"items": {"description": SHOWN}}, True],
        "$defs": {"x": {"$comment": SHOWN}},
    }


@pytest.mark.parametrize("delivery", [APPEND, BRIDGE])
def test_a_search_shows_no_hidden_text(delivery: Delivery) -> None:
    schema = {"type": "object", "properties": {"to": {"type": "string", "description": HIDING}}}
    shown = delivery.entry(Tool(raw_name="send", description=HIDING, input_schema=schema))
    assert not any(character in shown for character in "\x00\x1b\u202e\u202c\u200b\U000e0049\ufe01")
    assert "\\u" not in shown
