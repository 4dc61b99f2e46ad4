"""Calls: arguments checked first, sync functions in threads, time limited, cancellation honoured."""

import asyncio
import contextvars
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial, wraps
from typing import Any, Optional

import pytest
from pydantic import BaseModel

from tests.clock import Clock, run_by
from tests.functions.support import call, text
from toolsearch import Tool, ToolContext, ToolFailed, ToolResult, ToolRetry, tool
from toolsearch.exceptions import (
    DefinitionError,
    RunningLoopError,
    ToolArgumentsError,
    ToolResultError,
    ToolTimeoutError,
)
from toolsearch.functions import augment, parse_arguments, tool_from_schema
from toolsearch.messages import TextPart


def refused(tool_: Any, arguments: dict[str, Any]) -> ToolArgumentsError:
    with pytest.raises(ToolArgumentsError) as caught:
        call(tool_, arguments)
    return caught.value


class Line(BaseModel):
    sku: str
    count: int = 1


def test_bad_arguments_are_all_named_and_nothing_runs() -> None:
    ran: list[str] = []

    @tool
    def order(customer: str, lines: list[Line], size: int | bool | None = None) -> None:
        ran.append(customer)

    error = refused(order, {"lines": [{"sku": "a", "count": "two"}, {}], "colour": "red", "size": "x"})
    assert error.tool == "order"
    assert error.problems == (
        "'customer' is missing.",
        "'lines[0].count': Input should be a valid integer, unable to parse string as an integer, got 'two'.",
        "'lines[1].sku' is missing.",
        "'size': Input should be a valid integer, unable to parse string as an integer, got 'x'.",
        "'size': Input should be a valid boolean, unable to interpret input, got 'x'.",
        "'colour' is not an argument of this tool; it takes 'customer', 'lines', 'size'.",
    )
    assert "nothing was run" in str(error)
    assert ran == []


def test_many_problems_are_cut_short() -> None:
    @tool
    def add(numbers: list[int]) -> int:
        return sum(numbers)

    error = refused(add, {"numbers": ["x" * 100 + str(i) for i in range(50)]})
    assert len(error.problems) == 9
    assert error.problems[-1] == "42 more problems."
    assert len(str(error)) < 2000


def test_a_missing_argument_is_named_when_the_arguments_are_empty() -> None:
    """(E83)"""

    @tool
    def now() -> str:
        return "noon"

    @tool
    def find(q: str) -> str:
        return q

    assert text(now, parse_arguments("")) == "noon"
    assert refused(find, parse_arguments("")).problems == ("'q' is missing.",)


@pytest.mark.parametrize("written", ["12345", '{"k":1}', "null", "[1]", "true", ""])
def test_a_string_is_never_decoded(written: str) -> None:
    """(E89)"""

    def echo(p: str) -> str:
        return type(p).__name__ + p

    def maybe(p: Optional[str]) -> str:  # noqa: UP045
        return type(p).__name__ + str(p)

    def either(p: dict[str, Any] | str) -> str:
        return type(p).__name__ + str(p)

    for function in (echo, maybe, either):
        assert text(tool(function), {"p": written}) == f"str{written}"


def test_a_number_is_not_taken_for_a_string() -> None:
    @tool
    def echo(p: str) -> str:
        return p

    assert "'p': Input should be a valid string, got 5" in str(refused(echo, {"p": 5}))


def test_arguments_become_what_the_annotations_say() -> None:
    from datetime import date
    from decimal import Decimal
    from pathlib import Path
    from uuid import UUID

    got: list[Any] = []

    @tool
    def take(a: date, b: Decimal, c: Path, d: UUID, e: tuple[int, ...]) -> None:
        got.extend((a, b, c, d, e))

    call(take, {"a": "2024-01-02", "b": "1.10", "c": "x/y", "d": "0" * 31 + "1", "e": [1, 2]})
    assert got == [date(2024, 1, 2), Decimal("1.10"), Path("x/y"), UUID(int=1), (1, 2)]


def test_the_model_cannot_set_the_context() -> None:
    @tool
    def who(context: ToolContext) -> str:
        return context.tenant

    assert text(who, {}, ToolContext(tenant="a")) == "a"
    assert refused(who, {"context": {"tenant": "b"}}).problems == (
        "'context' is not an argument of this tool; it takes none.",
    )


def test_an_async_wrapper_around_a_sync_function_is_awaited() -> None:
    """(E24)"""

    def deco(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @deco
    def twice(x: int) -> int:
        return 2 * x

    assert twice.input_schema["properties"] == {"x": {"type": "integer"}}
    assert text(twice, {"x": 2}) == "4"


def test_a_sync_wrapper_around_an_async_function_is_awaited() -> None:
    """(E24)"""

    def deco(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @deco
    async def twice(x: int) -> int:
        return 2 * x

    class Later:
        async def __call__(self, x: int) -> int:
            return 3 * x

    assert text(twice, {"x": 2}) == "4"
    assert text(tool(Later()), {"x": 2}) == "6"
    assert text(tool(partial(Later(), 2), name="six")) == "6"


def test_sync_tools_run_at_the_same_time_and_leave_the_loop_free() -> None:
    """(E19)"""
    together = threading.Barrier(4, timeout=10)
    ticked = threading.Event()

    @tool
    def nap() -> str:
        # Passes only once all three calls are here, and the loop has run in between.
        together.wait()
        return str(ticked.wait(10))

    async def main() -> list[Any]:
        assert nap.call is not None
        calls = [asyncio.ensure_future(nap.call({}, ToolContext())) for _ in range(3)]
        await asyncio.to_thread(together.wait)
        ticked.set()
        return await asyncio.gather(*calls)

    assert [result.content[0].text for result in asyncio.run(main())] == ["True"] * 3


def test_a_thread_has_the_context_variables_of_the_caller() -> None:
    user = contextvars.ContextVar("user", default="nobody")

    @tool
    def who() -> str:
        return f"{user.get()} {threading.current_thread() is threading.main_thread()}"

    user.set("ann")
    assert text(who) == "ann False"


def test_a_sync_call_that_takes_too_long_is_given_up() -> None:
    released = threading.Event()

    @tool(timeout_s=0.01)
    def stuck() -> None:
        released.wait(10)

    try:
        with pytest.raises(ToolTimeoutError, match=r"'stuck' gave no result within 0\.01 s") as caught:
            call(stuck)
    finally:
        released.set()
    assert isinstance(caught.value, ToolFailed)


def test_an_async_call_that_takes_too_long_is_cancelled() -> None:
    ended: list[str] = []

    @tool(timeout_s=0.01)
    async def stuck() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(ToolTimeoutError):
        call(stuck)
    assert ended == ["cancelled"]


@pytest.mark.parametrize("goes_on", [False, True])
def test_an_async_call_that_catches_its_cancellation_gives_nothing_any_more(goes_on: bool) -> None:
    clock = Clock()

    @tool(timeout_s=10)
    async def stubborn() -> str:
        clock.now_s += 11
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            clock.now_s += 2
            if goes_on:
                await asyncio.Event().wait()
        return "too late"

    with pytest.raises(ToolTimeoutError, match="'stubborn' gave no result within 10 s") as caught:
        run_by(clock, stubborn.call({}))
    assert len(getattr(caught.value, "__notes__", ())) == goes_on


def test_a_timeout_of_the_tools_own_stays_what_it_is() -> None:
    @tool(timeout_s=10)
    def ask() -> None:
        raise TimeoutError("the server")

    with pytest.raises(TimeoutError, match="the server"):
        call(ask)


@pytest.mark.parametrize("is_async", [True, False])
def test_cancelling_ends_the_wait(is_async: bool) -> None:
    started, released = threading.Event(), threading.Event()

    @tool
    def sync_wait() -> None:
        started.set()
        released.wait(10)

    @tool
    async def async_wait() -> None:
        started.set()
        await asyncio.Event().wait()

    async def main() -> bool:
        run = (async_wait if is_async else sync_wait).call
        assert run is not None
        task = asyncio.ensure_future(run({}, ToolContext()))
        await asyncio.to_thread(started.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        released.set()
        return task.cancelled()

    assert asyncio.run(main())


@pytest.mark.parametrize(
    "error", [ToolRetry("other id"), ToolFailed("gone"), ValueError("bad"), SystemExit(3)]
)
def test_what_a_tool_raises_reaches_the_caller(error: BaseException) -> None:
    @tool
    def boom() -> None:
        raise error

    with pytest.raises(type(error), match=str(error)):
        call(boom)


def test_stop_iteration_in_a_thread_does_not_hang() -> None:
    @tool
    def first(items: list[int]) -> int:
        return next(iter(items))

    assert text(first, {"items": [4]}) == "4"
    with pytest.raises(RuntimeError, match="raised StopIteration"):
        call(first, {"items": []})


def numbers() -> Iterator[int]:
    yield from (1, 2)


async def later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [numbers, later, partial(numbers)])
def test_generators_are_refused_when_the_tool_is_made(function: Callable[..., Any]) -> None:
    with pytest.raises(DefinitionError, match=r"is a generator\. Return a list, or give a result_converter"):
        tool(function)


def test_a_generator_that_turns_up_in_a_call_is_refused() -> None:
    @tool
    def squares() -> Any:
        return (x * x for x in range(3))

    with pytest.raises(ToolResultError, match="'squares' returned a generator"):
        call(squares)


def test_a_converter_makes_the_result() -> None:
    async def count(values: AsyncIterator[int]) -> int:
        return len([value async for value in values])

    assert text(tool(numbers, result_converter=list)) == "[1, 2]"
    assert text(tool(later, result_converter=count)) == "1"
    assert text(tool(lambda: 5, name="n", result_converter="{:03d}".format)) == "005"


@pytest.mark.parametrize("timeout_s", [0, -1.0, math.nan, "60", True])
def test_a_timeout_must_be_positive(timeout_s: Any) -> None:
    makers: list[Callable[[], Tool]] = [
        lambda: tool(lambda: None, name="n", timeout_s=timeout_s),
        lambda: tool_from_schema(lambda given: given, name="n", timeout_s=timeout_s),
        lambda: Tool(raw_name="n", timeout_s=timeout_s),
    ]
    for make in makers:
        with pytest.raises(DefinitionError, match="it must be a number above 0, or None"):
            make()


class Why(BaseModel):
    why: str = ""


@tool
def by_function(tenant: str, context: ToolContext) -> str:
    return tenant + context.tenant


@tool
async def by_coroutine(tenant: str, context: ToolContext) -> str:
    return tenant + context.tenant


def greet_with(given: dict[str, Any], context: ToolContext) -> str:
    return f"{given['tenant']}{context.tenant}"


by_data = tool_from_schema(
    greet_with,
    name="by_data",
    input_schema={"type": "object", "properties": {"tenant": {"type": "string"}}, "required": ["tenant"]},
)


@pytest.mark.parametrize(
    "made",
    [by_function, by_coroutine, by_data, augment(by_function, Why, print)],
    ids=["def", "async def", "data", "augmented"],
)
def test_a_call_by_hand_needs_neither_context_nor_event_loop(made: Tool) -> None:
    """It is checked and answered like any other."""
    assert made.call_sync({"tenant": "a"}).content == (TextPart(text="a"),)
    assert made.call_sync({"tenant": "a"}, ToolContext(tenant="b")).content == (TextPart(text="ab"),)
    with pytest.raises(ToolArgumentsError, match="tenant"):
        made.call_sync({})


def test_a_call_that_is_awaited_needs_no_context() -> None:
    async def called() -> ToolResult:
        return await by_function.call({"tenant": "a"})

    assert asyncio.run(called()).content == (TextPart(text="a"),)


def test_blocking_calls_are_refused_within_an_event_loop_and_without_a_call() -> None:
    async def within() -> None:
        by_function.call_sync({"tenant": "a"})

    with pytest.raises(RunningLoopError, match=r"await call\(\.\.\.\), not call_sync"):
        asyncio.run(within())
    with pytest.raises(DefinitionError, match="'far': it has no `call`"):
        Tool(raw_name="far").call_sync({})
