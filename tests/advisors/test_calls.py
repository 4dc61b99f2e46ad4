"""The calls of an answer are made fit to run and fit to send back."""

import json

import pytest

from toolsearch.advisors.calls import plan_calls
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, Message, TextPart, ToolCall, ToolResult
from toolsearch.testing import tool_call
from toolsearch.tools import Tool

COCKTAIL = "\U0001f378"


@tool
async def get_weather(city: str = "") -> str:
    """Tells the weather."""
    return city


@tool
async def get_time() -> str:
    """Tells the time."""
    return "noon"


SEARCH = Tool(raw_name="tool_search")
# The built-in tool keeps its name; a tool of anybody else would get another one.
vars(SEARCH)["name"] = "tool_search"


def answer(*calls: ToolCall) -> AssistantMessage:
    return AssistantMessage(content=(TextPart(text="Let me see."), *calls))


def refusal(call: ToolCall, offered: tuple[Tool, ...]) -> str:
    (planned,) = plan_calls(answer(call), offered).calls
    assert isinstance(planned.refusal, ToolResult)
    assert planned.refusal.is_error
    (part,) = planned.refusal.content
    assert isinstance(part, TextPart)
    return part.text


def test_a_sound_answer_stays_as_it_is() -> None:
    message = answer(ToolCall(id="c1", name="get_weather", arguments='{ "city":  "Oslo" }'))
    plan = plan_calls(message, (get_weather,))
    assert plan.message == message
    (planned,) = plan.calls
    assert (planned.tool, planned.arguments, planned.refusal) == (get_weather, {"city": "Oslo"}, None)


def test_empty_and_repeated_ids_become_unique_ones() -> None:
    """(E101)"""
    earlier: list[Message] = []
    ids: list[str] = []
    for pair in (("", ""), ("1", "1"), ("1", "call_1")):
        message = answer(*(tool_call("get_time", {"n": n}, id=given) for n, given in enumerate(pair)))
        plan = plan_calls(message, (get_time,), history=earlier)
        assert [planned.call for planned in plan.calls] == list(plan.message.tool_calls)
        assert [planned.arguments["n"] for planned in plan.calls] == [0, 1]
        earlier.append(plan.message)
        ids += [call.id for call in plan.message.tool_calls]
    assert len(set(ids)) == 6
    assert "" not in ids
    assert ids[2] == "1"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", {}),
        ("null", {}),
        ('"{\\"pattern\\": \\"*.md\\"}"', {"pattern": "*.md"}),
        ('{"p": "{\\"k\\": 1}"}', {"p": '{"k": 1}'}),
        (r'{"note":"\ud83c\udf78"}', {"note": COCKTAIL}),
        ('{"note":"\ud83c\udf78"}', {"note": COCKTAIL}),
    ],
)
def test_arguments_are_read_and_sent_back_as_an_object(written: str, read: dict[str, str]) -> None:
    """(E83, E87, E89, E92)"""
    plan = plan_calls(answer(ToolCall(id="c", name="get_time", arguments=written)), (get_time,))
    assert plan.calls[0].arguments == read
    (sent,) = plan.message.tool_calls
    assert json.loads(sent.arguments) == read
    assert sent.arguments.encode()


@pytest.mark.parametrize("written", ['q = "x"', '{"q": "unterm', "[1]", '{"x": NaN}', '{"x": "\ud83c"}'])
def test_arguments_that_are_no_object_are_refused_and_sent_back_within_one(written: str) -> None:
    """(E85, E94)"""
    call = ToolCall(id="c", name="get_weather", arguments=written)
    assert "arguments of 'get_weather' were not accepted" in refusal(call, (get_weather,))
    (sent,) = plan_calls(answer(call), (get_weather,)).message.tool_calls
    assert isinstance(json.loads(sent.arguments), dict)
    assert sent.arguments.encode()


def test_an_unknown_name_is_refused_with_near_ones() -> None:
    """(E95)"""
    said = refusal(tool_call("get_wether"), (get_weather, get_time))
    assert said == "There is no tool 'get_wether'. Did you mean 'get_weather' or 'get_time'?"


def test_an_unknown_name_is_refused_with_advice_to_search() -> None:
    """(E97) Only offered names are said: what is hidden is no different from what does not exist."""
    said = refusal(tool_call("wipe_disk"), (SEARCH, get_time))
    assert said == (
        "There is no tool 'wipe_disk'. Find tools with tool_search first; "
        "only tools that it has found can be called."
    )


def test_without_a_near_name_and_without_a_search_the_tools_are_listed() -> None:
    assert refusal(tool_call("zzz"), (get_time,)).endswith("There are get_time.")
    assert refusal(tool_call("zzz"), ()).endswith("There are no tools; answer without.")
    many = tuple(Tool(raw_name=f"t{n}") for n in range(40))
    assert refusal(tool_call("zzz"), many).endswith("t10, t11 and 28 more.")


@pytest.mark.parametrize(
    ("invented", "sent"),
    [("get weather!", "get_weather"), ("", "unnamed"), ("é" * 99, "unnamed"), ("x" * 99, "x" * 64)],
)
def test_an_invented_name_is_sent_back_as_providers_accept_it(invented: str, sent: str) -> None:
    plan = plan_calls(answer(tool_call(invented)), (get_time,))
    assert plan.message.tool_calls[0].name == sent
    assert repr(invented) in refusal(tool_call(invented), (get_time,))


def test_names_are_case_sensitive() -> None:
    assert "Did you mean 'get_time'?" in refusal(tool_call("Get_Time"), (get_time,))


def test_a_resolver_is_asked_for_names_that_were_not_offered() -> None:
    """Statements 20 and 36 of docs/spring-ai.md."""
    late = Tool(raw_name="late")
    asked: list[str] = []

    def none(name: str) -> None:
        asked.append(name)

    resolvers = (none, {"late": late, "get_time": late}.get)
    message = answer(tool_call("late", id="1"), tool_call("get_time", id="2"), tool_call("never", id="3"))
    plan = plan_calls(message, (get_time,), resolvers=resolvers)
    assert [planned.tool for planned in plan.calls] == [late, get_time, None]
    assert asked == ["late", "never"]
