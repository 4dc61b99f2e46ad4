"""`tools_from` finds what was made a tool, and nothing else."""

from types import ModuleType

import pytest

from tests.functions import postponed
from tests.functions.support import text
from toolsearch import Catalog, tool
from toolsearch.exceptions import DefinitionError, ParameterError
from toolsearch.functions import tools_from


class Base:
    @tool
    def first(self) -> str:
        return f"first of {self!r}"

    @tool
    @staticmethod
    def second() -> str:
        return "second"


class Shop(Base):
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    @classmethod
    @tool
    def third(cls) -> str:
        return cls.__name__

    @tool
    def refund(self, order: str) -> str:
        return f"{self.name}:{order}"

    def delete_everything(self) -> str:
        return "gone"

    def variadic(self, *args: int) -> None: ...

    @property
    def dangerous(self) -> str:
        raise AssertionError("a property was read")


def test_the_tools_of_an_object_are_bound_to_it_and_in_the_order_of_the_code() -> None:
    tools = tools_from(Shop("a"))
    assert [each.name for each in tools] == ["first", "second", "third", "refund"]
    assert text(tools[0]) == "first of a"
    assert text(tools[2]) == "Shop"
    assert text(tools[3], {"order": "7"}) == "a:7"


def test_a_source_tells_two_objects_of_a_class_apart() -> None:
    catalog = Catalog([*tools_from(Shop("a"), source="oslo"), *tools_from(Shop("b"), source="rome")])
    assert len(catalog) == 8
    assert text(catalog["oslo__refund"], {"order": "7"}) == "a:7"
    assert text(catalog["rome__refund"], {"order": "7"}) == "b:7"


def test_named_attributes_are_made_tools_and_no_others() -> None:
    (made,) = tools_from(Shop("a"), "delete_everything")
    assert (made.name, text(made)) == ("delete_everything", "gone")
    assert [each.name for each in tools_from(Shop("a"), "refund", "delete_everything")] == [
        "refund",
        "delete_everything",
    ]


def test_a_module_gives_every_tool_once() -> None:
    made = ModuleType("made")
    exec("from tests.functions.postponed import book, load\nagain = book\ndef plain(): ...", vars(made))
    assert tools_from(made) == (postponed.book, postponed.load)


def test_a_class_gives_only_what_needs_no_object() -> None:
    class Kit:
        @tool
        @staticmethod
        def cut() -> str:
            return "cut"

    assert [text(each) for each in tools_from(Kit)] == ["cut"]
    with pytest.raises(DefinitionError, match="'first': it is a method without its 'self'"):
        tools_from(Shop)


def test_what_is_missing_or_cannot_be_a_tool_is_an_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        tools_from(Shop("a"), "nothing")
    with pytest.raises(ParameterError, match="'variadic': parameter 'args'"):
        tools_from(Shop("a"), "variadic")
    assert tools_from(object()) == ()
