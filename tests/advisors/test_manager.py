"""Calls run at the same time against the offered tools, and each has its result."""

import asyncio
import math
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.clock import Clock, run_by
from toolsearch.advisors.failures import ErrorPolicy, ToolFailure
from toolsearch.advisors.manager import CALL_TIMEOUT_S, ToolBatch, ToolCallingManager
from toolsearch.exceptions import DefinitionError, ToolFailed, ToolRetry, ToolTimeoutError
from toolsearch.functions import tool
from toolsearch.messages import MESSAGES, AssistantMessage, TextPart, ToolCall, ToolResult, UserMessage
from toolsearch.testing import tool_call
from toolsearch.tools import JsonObject, Tool, ToolContext


@tool
async def double(x: int) -> int:
    """Doubles."""
    return 2 * x


@tool
async def boom() -> None:
    """Fails."""
    raise ValueError("bad id 7")


@tool(return_direct=True)
async def receipt(n: int) -> str:
    """Gives a receipt."""
    if n < 0:
        raise ToolRetry("n must not be negative")
    return f"receipt {n}"


def run(
    *calls: ToolCall,
    tools: tuple[Tool, ...] = (double, boom, receipt),
    context: ToolContext | None = None,
    manager: ToolCallingManager | None = None,
) -> ToolBatch:
    message = AssistantMessage(content=calls)
    return asyncio.run((manager or ToolCallingManager()).run(message, tools, context))


def test_every_call_has_one_result_in_the_order_of_the_calls() -> None:
    """(E98) One failure, one unknown tool and one broken call take nothing from the others."""
    batch = run(
        tool_call("double", {"x": 21}, id="c1"),
        tool_call("boom", id="c2"),
        tool_call("nothing", id="c3"),
        ToolCall(id="c4", name="double", arguments='{"x": '),
    )
    assert [result.call_id for result in batch.results] == ["c1", "c2", "c3", "c4"]
    assert [result.is_error for result in batch.results] == [False, True, True, True]
    assert batch.results[0].text == "42"
    assert [failure.call.id for failure in batch.failures] == ["c2"]


def test_a_missing_argument_is_named_and_nothing_runs() -> None:
    """(E83)"""
    (result,) = run(ToolCall(id="c", name="double", arguments="")).results
    assert result.is_error
    assert "'double'" in result.text
    assert "x" in result.text


def test_calls_run_at_the_same_time() -> None:
    """Statement 18 of docs/spring-ai.md. Each call waits for the others, so one at a time would never end."""
    meeting = asyncio.Barrier(3)

    @tool
    async def meet(n: int) -> int:
        """Waits for the others."""
        await meeting.wait()
        return n

    calls = [tool_call("meet", {"n": n}, id=str(n)) for n in range(3)]
    assert [result.text for result in run(*calls, tools=(meet,)).results] == ["0", "1", "2"]


def test_results_are_in_order_however_the_calls_end() -> None:
    turn = asyncio.Event()

    @tool
    async def first() -> str:
        """Ends last."""
        await turn.wait()
        return "first"

    @tool
    async def second() -> str:
        """Ends first."""
        turn.set()
        return "second"

    batch = run(tool_call("first", id="1"), tool_call("second", id="2"), tools=(first, second))
    assert [result.text for result in batch.results] == ["first", "second"]


def test_max_concurrency_of_one_runs_them_one_after_the_other() -> None:
    log: list[str] = []

    @tool
    async def step(n: int) -> None:
        """Takes a while."""
        log.append(f"begin {n}")
        await asyncio.sleep(0)
        log.append(f"end {n}")

    calls = [tool_call("step", {"n": n}, id=str(n)) for n in range(3)]
    run(*calls, tools=(step,), manager=ToolCallingManager(max_concurrency=1))
    assert log == ["begin 0", "end 0", "begin 1", "end 1", "begin 2", "end 2"]
    with pytest.raises(ValueError, match="max_concurrency is 0"):
        ToolCallingManager(max_concurrency=0)


def test_tools_are_given_the_context_with_the_id_of_their_call() -> None:
    """Statement 22 of docs/spring-ai.md."""
    seen: list[ToolContext] = []

    async def look(arguments: JsonObject, context: ToolContext) -> ToolResult:
        seen.append(context)
        return ToolResult.text("ok")

    context = ToolContext(session_id="s", tenant="t", state={"user": 1})
    run(tool_call("look", id="c1"), tools=(Tool(raw_name="look", call=look),), context=context)
    assert seen == [ToolContext(session_id="s", call_id="c1", tenant="t", state={"user": 1})]


def test_what_a_tool_returns_becomes_the_result() -> None:
    async def find(arguments: JsonObject, context: ToolContext) -> Any:
        return ToolResult((TextPart(text="2 tools"),), structured={"n": 2})

    async def plain(arguments: JsonObject, context: ToolContext) -> Any:
        return {"x": 1}

    tools = (Tool(raw_name="find", call=find), Tool(raw_name="plain", call=plain))
    found, dictionary = run(tool_call("find", id="1"), tool_call("plain", id="2"), tools=tools).results
    assert (found.text, found.structured) == ("2 tools", {"n": 2})
    assert dictionary.text.replace(" ", "") == '{"x":1}'


@pytest.mark.parametrize(("name", "known"), [("tool_search", ("wipe_disk",)), ("weather", ())])
def test_only_a_built_in_tool_makes_others_known(name: str, known: tuple[str, ...]) -> None:
    """What a result makes known is loaded, and sent to some providers in the place of its text."""

    async def answer(arguments: JsonObject, context: ToolContext) -> Any:
        return ToolResult((TextPart(text="Sunny."),), discovered=("wipe_disk",))

    (result,) = run(tool_call(name), tools=(Tool(raw_name=name, call=answer),)).results
    assert (result.text, result.discovered) == ("Sunny.", known)


@pytest.mark.parametrize("failing", [None, ToolFailed, ValueError, OSError])
@pytest.mark.parametrize("structured", [object(), {"b": b"\xff"}, {"t": "\ud800"}, None])
def test_whatever_a_tool_gives_or_raises_can_be_written(
    failing: type[Exception] | None, structured: object
) -> None:
    """(E21)"""

    async def odd(arguments: JsonObject, context: ToolContext) -> Any:
        if failing is not None:
            raise failing("bad \ud800 id")
        return ToolResult.text("a\ud800", structured=structured)

    manager = ToolCallingManager(errors=ErrorPolicy(tell=(Exception,)))
    (result,) = run(tool_call("odd"), tools=(Tool(raw_name="odd", call=odd),), manager=manager).results
    assert MESSAGES.validate_json(MESSAGES.dump_json((result,))) == (result,)
    assert result.is_error == (failing is not None or type(structured) is object)


def test_an_error_that_fails_when_it_is_asked_for_its_text_disturbs_no_call() -> None:
    class MuteError(ValueError):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    @tool
    async def mute() -> None:
        """Fails without words."""
        raise MuteError

    batch = run(tool_call("mute", id="1"), tool_call("double", {"x": 2}, id="2"), tools=(mute, double))
    assert [each.text for each in batch.results] == ["Tool 'mute' failed: MuteError", "4"]


def test_only_offered_tools_run() -> None:
    ran: list[str] = []

    @tool
    async def wipe_disk() -> None:
        """Never offered."""
        ran.append("wipe_disk")

    assert run(tool_call("wipe_disk"), tools=(double,)).results[0].is_error
    assert (
        not run(tool_call("wipe_disk"), manager=ToolCallingManager(resolvers=[{"wipe_disk": wipe_disk}.get]))
        .results[0]
        .is_error
    )
    assert ran == ["wipe_disk"]


@pytest.mark.parametrize(
    ("calls", "direct"),
    [
        ([tool_call("receipt", {"n": 1}, id="1"), tool_call("receipt", {"n": 2}, id="2")], True),
        ([tool_call("receipt", {"n": 1}, id="1"), tool_call("double", {"x": 2}, id="2")], False),
        ([tool_call("receipt", {"n": 1}, id="1"), tool_call("receipt", {"n": -2}, id="2")], False),
        ([tool_call("receipt", {"n": 1}, id="1"), tool_call("nothing", id="2")], False),
    ],
)
def test_results_are_direct_when_every_call_is_and_succeeded(calls: list[ToolCall], direct: bool) -> None:
    """(E107) Statement 21 of docs/spring-ai.md."""
    batch = run(*calls)
    assert batch.return_direct is direct
    assert len(batch.results) == 2


def test_a_failure_is_reported_in_full_to_the_program() -> None:
    heard: list[ToolFailure] = []
    batch = run(tool_call("boom"), manager=ToolCallingManager(on_failure=heard.append))
    assert heard == list(batch.failures)
    assert isinstance(heard[0].error, ValueError)
    assert heard[0].error.__traceback__ is not None


def test_a_callback_that_raises_is_logged_and_disturbs_no_call(caplog: pytest.LogCaptureFixture) -> None:
    def listen(failure: ToolFailure) -> None:
        raise RuntimeError("The pager is off.")

    @tool
    async def slow() -> str:
        """Ends after the failure."""
        for _ in range(5):
            await asyncio.sleep(0)
        return "ended"

    manager = ToolCallingManager(on_failure=listen)
    batch = run(tool_call("boom", id="1"), tool_call("slow", id="2"), tools=(boom, slow), manager=manager)
    assert [result.is_error for result in batch.results] == [True, False]
    assert batch.results[1].text == "ended"
    assert [str(failure.error) for failure in batch.failures] == ["bad id 7"]
    (record,) = caplog.records
    assert "'boom'" in record.getMessage()
    assert "RuntimeError in listen (" in record.getMessage()
    assert "The pager is off." not in caplog.text


def test_a_rethrown_error_leaves_the_other_calls_to_finish() -> None:
    """Statement 31 of docs/spring-ai.md."""
    ran: list[int] = []

    @tool
    async def slow() -> None:
        """Ends after the failure."""
        for _ in range(5):
            await asyncio.sleep(0)
        ran.append(1)

    manager = ToolCallingManager(errors=ErrorPolicy(rethrow=(Exception,)))
    with pytest.raises(ValueError, match="bad id 7") as caught:
        run(tool_call("boom", id="1"), tool_call("slow", id="2"), tools=(boom, slow), manager=manager)
    assert ran == [1]
    assert caught.value.__notes__ == ["Raised by tool 'boom', call '1'."]


def test_bad_arguments_are_never_rethrown() -> None:
    """Statement 24 of docs/spring-ai.md."""
    manager = ToolCallingManager(errors=ErrorPolicy(rethrow=(Exception,)))
    assert run(tool_call("double", {"x": "many"}), manager=manager).results[0].is_error


def in_a_thread(error: BaseException) -> Tool:
    @tool
    def ends() -> None:
        """Ends in a thread."""
        raise error

    return ends


def in_the_loop(error: BaseException) -> Tool:
    @tool
    async def ends() -> None:
        """Ends in the event loop."""
        raise error

    return ends


@pytest.mark.parametrize("made", [in_a_thread, in_the_loop])
@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        GeneratorExit(),
        asyncio.CancelledError(),
        BaseException("any"),
        BaseExceptionGroup("several", [SystemExit(3), ValueError("x")]),
    ],
    ids=repr,
)
def test_what_a_tool_ends_with_is_a_failure_of_its_call_alone(
    error: BaseException, made: Callable[[BaseException], Tool]
) -> None:
    """Such as a command line that calls `sys.exit`, or a future that somebody else has cancelled."""
    batch = run(tool_call("ends", id="1"), tool_call("double", {"x": 1}, id="2"), tools=(made(error), double))
    assert [(each.is_error, each.text) for each in batch.results] == [
        (True, "Tool 'ends' failed for a reason that cannot be shown. Go on without it, or say so."),
        (False, "2"),
    ]
    (failure,) = batch.failures
    assert type(error) in {type(failure.error), type(failure.error.__cause__)}


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), BaseExceptionGroup("several", [KeyboardInterrupt()])], ids=repr
)
def test_an_interruption_by_the_user_is_not_swallowed(error: BaseException) -> None:
    """(E26)"""
    manager = ToolCallingManager(errors=ErrorPolicy(tell=(Exception,)))
    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
        run(
            tool_call("ends", id="1"),
            tool_call("double", {"x": 1}, id="2"),
            tools=(in_the_loop(error), double),
            manager=manager,
        )


def test_a_call_that_nobody_goes_on_with_is_no_failure() -> None:
    """Its coroutine is closed when it is collected, by an error that must not be kept."""
    heard: list[ToolFailure] = []

    async def hang(arguments: JsonObject, context: ToolContext) -> None:
        await asyncio.get_running_loop().create_future()

    async def abandon() -> None:
        manager = ToolCallingManager(on_failure=heard.append)
        answer = AssistantMessage(content=(tool_call("hang"),))
        running = asyncio.create_task(manager.run(answer, (Tool(raw_name="hang", call=hang),)))
        for _ in range(3):
            await asyncio.sleep(0)
        for each in asyncio.all_tasks() - {running, asyncio.current_task()}:
            coroutine = each.get_coro()
            assert coroutine is not None
            coroutine.close()
            each.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(abandon())
    assert heard == []


def test_cancelling_a_run_cancels_its_calls() -> None:
    """(E26)"""
    ended: list[str] = []

    @tool
    async def hang() -> None:
        """Never returns."""
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    async def cancel() -> None:
        message = AssistantMessage(content=(tool_call("hang"),))
        task = asyncio.create_task(ToolCallingManager().run(message, (hang,)))
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert ended == ["hang"]


def seconds_of(allowed: float | None, **settings: Any) -> list[float]:
    """Of calls that take so many seconds, those that came to their end."""
    clock = Clock()
    lasts = [9.0, 11.0, 59.0, 61.0, 1e9]

    @tool(timeout_s=allowed)
    async def wait(seconds: float) -> float:
        """Waits."""
        begun = clock.now_s
        clock.now_s += seconds
        for _ in range(5):
            await asyncio.sleep(0)
        clock.now_s = begun
        return seconds

    async def main() -> ToolBatch:
        calls = [tool_call("wait", {"seconds": each}, id=str(each)) for each in lasts]
        manager = ToolCallingManager(max_concurrency=1, **settings)
        return await manager.run(AssistantMessage(content=tuple(calls)), (wait,))

    batch = run_by(clock, main())
    told = "'wait' gave no result within {:g} s. What it began may still take effect."
    limit = allowed or settings.get("call_timeout_s", CALL_TIMEOUT_S)
    assert {result.text for result in batch.results if result.is_error} <= {told.format(limit or 0)}
    assert all(isinstance(failure.error, ToolTimeoutError) for failure in batch.failures)
    return [float(result.call_id) for result in batch.results if not result.is_error]


def test_a_call_is_given_up_after_a_minute_unless_its_tool_says_otherwise() -> None:
    """The manager's default, and its own; the tool's goes first, whether longer, shorter or endless."""
    assert seconds_of(None) == [9, 11, 59]
    assert seconds_of(None, call_timeout_s=10) == [9]
    assert seconds_of(None, call_timeout_s=None) == [9, 11, 59, 61, 1e9]
    assert seconds_of(10) == [9]
    assert seconds_of(60, call_timeout_s=10) == [9, 11, 59]
    assert seconds_of(math.inf, call_timeout_s=10) == [9, 11, 59, 61, 1e9]
    assert seconds_of(10, call_timeout_s=None) == [9]


def test_a_tool_keeps_its_time_when_its_call_is_replaced() -> None:
    """As observers and augmented arguments do; here nothing in the call itself sets a limit."""

    async def hang(arguments: JsonObject, context: ToolContext) -> str:
        return str(await asyncio.Event().wait())

    @tool(timeout_s=0.01)
    async def quick() -> str:
        """Is replaced."""
        return "never seen"

    observed: Tool = quick
    batch = run(tool_call("quick"), tools=(replace(observed, call=hang),))
    assert batch.results[0].text.startswith("'quick' gave no result within 0.01 s.")


def test_a_thread_that_takes_too_long_is_left_behind_with_a_note() -> None:
    released = threading.Event()
    ended = threading.Event()

    @tool
    def stuck() -> str:
        """Does not come to its end."""
        released.wait(30)
        ended.set()
        return "too late"

    calls = (tool_call("stuck", id="1"), tool_call("double", {"x": 2}, id="2"))
    try:
        batch = run(*calls, tools=(stuck, double), manager=ToolCallingManager(call_timeout_s=0.01))
    finally:
        released.set()
    assert [result.is_error for result in batch.results] == [True, False]
    assert batch.results[0].text.startswith("'stuck' gave no result within 0.01 s.")
    assert batch.failures[0].error.__notes__ == [
        "The thread of the call cannot be stopped; it runs to its end, and its result is dropped."
    ]
    assert ended.wait(30)


def ending(how: str, clock: Clock) -> Tool:
    """A tool whose coroutine catches its cancellation, and goes on for so long, or gives what it has."""

    @tool
    async def stubborn() -> str:
        """Takes a minute at least."""
        clock.now_s += 61
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if how == "goes on":
                clock.now_s += 2
                await asyncio.Event().wait()
            if how == "raises":
                raise ValueError("bad id 7") from None
        return "too late"

    return stubborn


@pytest.mark.parametrize("how", ["gives a value", "goes on", "raises"])
def test_a_coroutine_that_catches_its_cancellation_is_late_all_the_same(how: str) -> None:
    """It has a second to tidy up; what it gives then is no result any more."""
    clock = Clock()
    message = AssistantMessage(content=(tool_call("stubborn", id="1"), tool_call("double", {"x": 2}, id="2")))
    batch = run_by(clock, ToolCallingManager().run(message, (ending(how, clock), double)))
    stubborn, doubled = batch.results
    assert stubborn.text == "'stubborn' gave no result within 60 s. What it began may still take effect."
    assert (stubborn.is_error, doubled.text) == (True, "4")
    (failure,) = batch.failures
    note = "The coroutine of the call caught its cancellation; it goes on, and its result is dropped."
    assert getattr(failure.error, "__notes__", []) == ([note] if how == "goes on" else [])
    assert isinstance(failure.error.__cause__, ValueError) == (how == "raises")


def test_what_comes_in_time_is_kept_by_the_clock_of_the_loop() -> None:
    clock = Clock()
    batch = run_by(
        clock, ToolCallingManager().run(AssistantMessage(content=(tool_call("double", {"x": 2}),)), (double,))
    )
    assert (batch.results[0].text, batch.failures, clock.now_s) == ("4", (), 0)


@pytest.mark.parametrize("seconds", [0, -1.0, math.nan])
def test_calls_without_any_time_are_refused(seconds: float) -> None:
    with pytest.raises(
        ValueError, match=f"call_timeout_s is {seconds}; it must be a number above 0, or None"
    ):
        ToolCallingManager(call_timeout_s=seconds)


@pytest.mark.parametrize("wrong", ["60", True, {}])
@pytest.mark.parametrize("setting", ["call_timeout_s", "max_concurrency"])
def test_a_setting_that_is_no_number_is_named(setting: str, wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"{setting} is .*; it must be a (whole )?number"):
        ToolCallingManager(**{setting: wrong})


def test_a_tool_that_cannot_be_called_is_the_programs_fault() -> None:
    with pytest.raises(DefinitionError, match="'known': it is offered to the model, but has no `call`"):
        run(tool_call("known"), tools=(Tool(raw_name="known"),))


def test_an_answer_without_calls_cannot_be_run() -> None:
    """Statement 17 of docs/spring-ai.md."""
    with pytest.raises(ValueError, match="no tool calls"):
        run()


def test_the_same_manager_runs_a_loop_by_hand() -> None:
    from toolsearch.chat.base import ChatRequest
    from toolsearch.messages import Message
    from toolsearch.testing import ScriptedChatModel

    model = ScriptedChatModel([[tool_call("double", {"x": 4}, id="")], "It is 8."])
    manager = ToolCallingManager()

    async def loop() -> str:
        messages: tuple[Message, ...] = (UserMessage.of("What is 2 times 4?"),)
        while True:
            response = await model.complete(ChatRequest(messages, tools=(double,)))
            if not response.message.tool_calls:
                return response.text
            batch = await manager.run(response.message, (double,), history=messages)
            messages = (*messages, batch.message, *batch.results)

    assert asyncio.run(loop()) == "It is 8."
    (call,) = model.requests[1].messages[1].tool_calls  # type: ignore[union-attr]
    assert model.requests[1].messages[2].call_id == call.id != ""  # type: ignore[union-attr]
