"""`tool` makes tools of anything callable, and leaves it callable."""

import asyncio
import gc
import inspect
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.functions.support import text
from toolsearch import Catalog, Tool, ToolContext, tool
from toolsearch.exceptions import DefinitionError, DuplicateToolError, ReservedNameError
from toolsearch.functions import FunctionTool


@tool
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Whom.
    """
    return f"hi {name} " * times


def test_a_decorated_function_is_a_tool_and_is_called_as_before() -> None:
    assert isinstance(greet, Tool)
    assert greet("a", times=2) == "hi a hi a "
    assert greet.definition.name == "greet"
    assert greet.definition.description == "Greet somebody."
    assert greet.definition.input_schema["properties"]["name"]["description"] == "Whom."
    assert Catalog([greet])["greet"] is greet


def test_a_decorated_function_still_looks_like_one() -> None:
    assert (vars(greet)["__name__"], greet.__module__) == ("greet", __name__)
    assert greet.__doc__ is not None
    assert greet.__doc__.startswith("Greet somebody.")
    assert list(inspect.signature(greet).parameters) == ["name", "times"]
    assert repr(greet).startswith("FunctionTool(name='greet', function=<function greet")


def test_a_blank_description_stays_blank() -> None:
    """Statement 37 of docs/spring-ai.md."""

    @tool
    def get_order(order_id: str) -> str:
        return order_id

    assert (get_order.name, get_order.description) == ("get_order", "")
    assert tool(get_order.function, description="  ").description.strip() == ""


def test_options_become_what_the_tool_says_of_itself() -> None:
    @tool(
        name="refund",
        description="Pay back.",
        title="Refund",
        source="shop",
        tags=["money", "orders"],
        search_hint="return",
        pinned=True,
        read_only=False,
        destructive=True,
        return_direct=True,
    )
    def function(order: str) -> str:
        """Not this."""
        return order

    assert function.name == "shop__refund"
    assert function.description == "Pay back."
    assert function == replace(
        function,
        raw_name="refund",
        title="Refund",
        source="shop",
        tags=("money", "orders"),
        search_hint="return",
        pinned=True,
        read_only=False,
        destructive=True,
        return_direct=True,
    )


def test_an_unknown_option_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="pined"):
        tool(pined=True)  # type: ignore[call-overload]


class Account:
    """An account."""

    def __init__(self, total: int) -> None:
        self.total = total

    @tool
    def add(self, d: int) -> int:
        """Add."""
        return self.total + d

    @tool(name="account_kind")
    @classmethod
    def kind(cls, suffix: str) -> str:
        return cls.__name__ + suffix

    @tool
    @staticmethod
    def double(d: int) -> int:
        return 2 * d

    def plain(self, d: int) -> int:
        """Plain."""
        return self.total - d

    @staticmethod
    def fixed(d: int) -> int:
        return d


class Savings(Account):
    pass


def test_each_object_has_tools_of_its_own() -> None:
    """(E14)"""
    add10 = tool(Account(10).plain, name="add10")
    add20 = tool(Account(20).plain, name="add20")
    assert list(add10.input_schema["properties"]) == ["d"]
    assert (text(add10, {"d": 1}), text(add20, {"d": 1})) == ("9", "19")
    assert (add10.name, add20.name) == ("add10", "add20")
    assert add10.description == "Plain."


def test_a_decorated_method_is_bound_to_its_object() -> None:
    ten, twenty = Account(10), Account(20)
    assert list(ten.add.input_schema["properties"]) == ["d"]
    assert (text(ten.add, {"d": 1}), text(twenty.add, {"d": 1})) == ("11", "21")
    assert (ten.add(5), Account.add(twenty, 5)) == (15, 25)
    assert ten.add == ten.add
    assert ten.add != twenty.add


def test_a_decorated_class_method_is_bound_to_the_class_it_is_taken_from() -> None:
    assert text(Account.kind, {"suffix": "!"}) == "Account!"
    assert text(Savings(1).kind, {"suffix": "!"}) == "Savings!"
    assert Savings.kind("?") == "Savings?"
    assert list(Account.kind.input_schema["properties"]) == ["suffix"]


def test_a_decorated_static_method_takes_no_object() -> None:
    assert text(Account.double, {"d": 2}) == "4"
    assert text(Account(1).double, {"d": 2}) == "4"
    assert Account(1).double(3) == 6


def test_the_other_order_of_decorators_gives_the_same_tools() -> None:
    class Other:
        @classmethod
        @tool
        def kind(cls, suffix: str) -> str:
            return cls.__name__ + suffix

        @staticmethod
        @tool
        def double(d: int) -> int:
            return 2 * d

    assert text(tool(Other.kind), {"suffix": "!"}) == "Other!"
    assert text(Other.double, {"d": 4}) == "8"


def test_undecorated_static_and_class_methods_are_callables_like_any() -> None:
    assert text(tool(Account.fixed), {"d": 7}) == "7"


def test_a_method_without_its_object_is_refused_with_advice() -> None:
    with pytest.raises(DefinitionError, match="'add': it is a method without its 'self'"):
        _ = Account.add.definition
    with pytest.raises(DefinitionError, match="Take it from an object"):
        tool(Account.plain, name="p").definition  # noqa: B018 - it raises


def test_a_callable_object_is_named_by_its_class_and_described_by_its_call() -> None:
    class Adder:
        """The class."""

        def __call__(self, a: int, b: int = 1) -> int:
            """Add two numbers.

            :param a: the first
            """
            return a + b

    made = tool(Adder())
    assert (made.name, made.description) == ("Adder", "Add two numbers.")
    assert made.input_schema["properties"]["a"]["description"] == "the first"
    assert text(made, {"a": 1}) == "2"


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(DefinitionError, match="Give it one with name="):
        tool(lambda x: x)
    assert text(tool(lambda x: x, name="echo"), {"x": "a"}) == "a"


def test_a_tool_may_be_made_of_a_tool() -> None:
    renamed = tool(greet, name="salute")
    assert (renamed.name, greet.name) == ("salute", "greet")
    assert text(renamed, {"name": "b"}) == "hi b "
    assert text(tool(partial(greet, times=2)), {"name": "b"}) == "hi b hi b "


def test_a_second_local_tool_of_a_name_is_refused_and_the_first_stays() -> None:
    """(E41)"""

    def lookup() -> str:
        return "looked up"

    def delete_account() -> str:
        return "deleted"

    first = tool(lookup, name="account_action")
    catalog = Catalog([first])
    with pytest.raises(DuplicateToolError, match="'account_action'"):
        catalog.with_tools(tool(delete_account, name="account_action"))
    assert text(catalog["account_action"]) == "looked up"


def test_the_name_of_a_built_in_tool_is_refused_at_once() -> None:
    """(E47)"""
    with pytest.raises(ReservedNameError, match="'tool_search'"):

        @tool
        def tool_search() -> None: ...

    def search() -> None: ...

    assert tool(search, name="tool_search", source="server").name == "server__tool_search"


@pytest.mark.parametrize("value", [7, "greet", None])
def test_what_cannot_be_called_is_refused(value: Any) -> None:
    with pytest.raises(DefinitionError, match="cannot be called"):
        FunctionTool.of(value)


def test_a_copy_with_other_fields_still_works() -> None:
    copied = replace(greet, pinned=True, tags=("a",))
    assert (copied.pinned, copied.tags, greet.pinned) == (True, ("a",), False)
    assert text(copied, {"name": "x"}) == "hi x "
    assert greet.from_source("desk").name == "desk__greet"
    assert greet.name == "greet"


class Big:
    pass


def function_around(big: Big) -> Tool:
    @tool
    def f(x: "int") -> "int":
        return x

    return f


def class_around(big: Big) -> Tool:
    class Holder:
        @tool
        def f(self, x: "int") -> "int":
            return x

    return Holder().f


@pytest.mark.parametrize("make", [function_around, class_around])
def test_a_tool_keeps_no_variable_of_the_function_it_was_made_in(make: Callable[[Big], Tool]) -> None:
    big = Big()
    kept = weakref.ref(big)
    made = make(big)
    del big
    gc.collect()
    assert kept() is None
    assert text(made, {"x": 1}) == "1"


def test_async_functions_are_called_as_before_too() -> None:
    @tool
    async def later(x: int, context: ToolContext) -> int:
        return x + len(context.session_id)

    assert asyncio.run(later(1, ToolContext("ab"))) == 3
    assert text(later, {"x": 1}, ToolContext("abc")) == "4"
