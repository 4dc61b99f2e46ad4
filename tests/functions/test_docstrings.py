"""Docstrings in each style give the same description and the same parameters."""

from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import pytest
from pydantic import BaseModel

from toolsearch.functions.decorator import tool
from toolsearch.functions.docstrings import Docstring, parse_docstring, read_docstring

GOOGLE = """Book a trip.

    It may be changed later.

    Args:
        mode: How to travel,
            fast or slow.
        seats (int, optional): How many.

    Returns:
        The code.

    Raises:
        ValueError: never mind.
    """
NUMPY = """Book a trip.

    It may be changed later.

    Parameters
    ----------
    mode : {"bus", "rail"}
        How to travel,
        fast or slow.
    seats : int, optional
        How many.

    Returns
    -------
    str
        The code.
    """
REST = """Book a trip.

    It may be changed later.

    :param mode: How to travel,
        fast or slow.
    :param int seats: How many.
    :returns: The code.
    :raises ValueError: never mind.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_every_style_says_the_same(text: str) -> None:
    assert parse_docstring(text) == Docstring(
        "Book a trip.\n\nIt may be changed later.",
        {"mode": "How to travel, fast or slow.", "seats": "How many."},
    )


def test_a_description_for_two_parameters_is_that_of_both() -> None:
    text = "Add.\n\nParameters\n----------\na, b : int\n    A number.\n"
    assert parse_docstring(text).parameters == {"a": "A number.", "b": "A number."}


def test_notes_stay_with_the_description() -> None:
    numpy = "Delete.\n\nNotes\n-----\nAsk first.\n\nReferences\n----------\nNone.\n"
    assert parse_docstring(numpy).description == "Delete.\n\nNotes: Ask first."
    google = "Delete.\n\nNote: Ask first.\n\nArgs:\n    id: which\n"
    assert parse_docstring(google) == Docstring("Delete.\n\nNote: Ask first.", {"id": "which"})


@pytest.mark.parametrize(
    "text",
    ["", "One line.", "Two\nlines.", "Ratio 1:2\n\nA: b\n\n  :odd", ":param", "Args:", "Table\n-----\n"],
)
def test_text_in_no_style_is_the_description(text: str) -> None:
    assert parse_docstring(text).parameters == {}
    if text not in {":param", "Args:"}:
        assert parse_docstring(text).description.split() == text.split()


def test_a_partial_has_the_docstring_of_its_function_or_its_own() -> None:
    def f(a: int) -> int:
        """Of the function."""
        return a

    bound = partial(f, 1)
    assert read_docstring(bound).description == "Of the function."
    bound.__doc__ = "Its own."
    assert read_docstring(bound).description == "Its own."


def test_a_callable_object_is_described_by_its_class_where_its_call_says_nothing() -> None:
    class Quiet:
        """Of the class."""

        def __call__(self) -> None: ...

    assert read_docstring(Quiet()).description == "Of the class."


def test_a_class_is_described_by_what_was_written_for_it_alone() -> None:
    """Not by the docstring of pydantic's base class, nor by the signature that `dataclass` puts there."""

    class Order(BaseModel):
        number: int

    class Described(Order):
        """An order.

        Args:
            number: Its number.
        """

    @dataclass
    class Point:
        x: int

        def __call__(self) -> int:
            return self.x

    class Pair(NamedTuple):
        x: int

    undescribed = [read_docstring(each) for each in (Order, Point, Point(1), Pair, itemgetter(1))]
    assert [each.description for each in undescribed[:4]] == [""] * 4
    assert "Call self" not in undescribed[4].description
    assert read_docstring(Described).description == "An order."
    assert read_docstring(Described).parameters == {"number": "Its number."}
    assert tool(Order).description == ""
