"""What a provider would refuse is found before it is sent, and named."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fake_provider.refusals import refuse_anthropic, refuse_chat, refuse_responses
from toolsearch.chat.validate import find_problems, validate
from toolsearch.exceptions import ChatRequestError

Json = dict[str, Any]
SCHEMA: Json = {"type": "object", "properties": {}}
REFUSALS = {"openai_chat": refuse_chat, "openai_responses": refuse_responses, "anthropic": refuse_anthropic}


def chat_call(call_id: str, arguments: str = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "add", "arguments": arguments}}


KEYS = ("type", "name", "function", "content", "tool_calls", "id", "role", "arguments", "input", "tools")
TYPES = ("namespace", "function", "tool_use", "tool_result", "function_call", "assistant", "tool")


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(KEYS)
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner | st.sampled_from(TYPES), max_size=4)


def good(form: str) -> Json:
    """Two tools, one message with two calls, their results, and the user again."""
    match form:
        case "openai_chat":
            return {
                "tools": [
                    {"type": "function", "function": {"name": name, "parameters": SCHEMA}}
                    for name in ("add", "find")
                ],
                "messages": [
                    {"role": "user", "content": "hello"},
                    {"role": "assistant", "content": None, "tool_calls": [chat_call("c1"), chat_call("c2")]},
                    {"role": "tool", "tool_call_id": "c1", "content": "1"},
                    {"role": "tool", "tool_call_id": "c2", "content": "2"},
                    {"role": "user", "content": "and now?"},
                ],
            }
        case "openai_responses":
            call = {"type": "function_call", "name": "add", "arguments": "{}"}
            output = {"type": "function_call_output", "output": "1"}
            return {
                "tools": [
                    {"type": "function", "name": name, "parameters": SCHEMA} for name in ("add", "find")
                ],
                "input": [
                    {"role": "user", "content": "hello"},
                    {**call, "call_id": "c1"},
                    {**call, "call_id": "c2"},
                    {**output, "call_id": "c1"},
                    {**output, "call_id": "c2"},
                    {"role": "user", "content": "and now?"},
                ],
            }
        case _:
            block: Json = {"type": "tool_use", "name": "add", "input": {}}
            result: Json = {"type": "tool_result", "content": [{"type": "text", "text": "1"}]}
            return {
                "max_tokens": 9,
                "tools": [{"name": name, "input_schema": SCHEMA} for name in ("add", "find")],
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "hello"}]},
                    {"role": "assistant", "content": [{**block, "id": "c1"}, {**block, "id": "c2"}]},
                    {
                        "role": "user",
                        "content": [
                            {**result, "tool_use_id": "c1"},
                            {**result, "tool_use_id": "c2"},
                            {"type": "text", "text": "and now?"},
                        ],
                    },
                ],
            }


def test_a_good_request_has_no_problem(form: str) -> None:
    assert find_problems(form, good(form), max_tools=2) == ()
    assert REFUSALS[form](good(form)) is None
    validate(form, good(form))


def changed(form: str, path: str, value: Any) -> Json:
    """The good request with `value` at a path such as ``messages.1.content``; None takes that out."""
    body = copy.deepcopy(good(form))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    at: Any = body
    for step in way:
        at = at[step]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return body


LONG = "x" * 129
CHAT_CALLS = "messages.1.tool_calls"


@pytest.mark.parametrize(
    ("form", "path", "value", "rule", "name"),
    [
        ("openai_chat", "tools.1.function.name", "no spaces", "tool_name", "no spaces"),
        ("openai_chat", "tools.1.function.name", "x" * 65, "tool_name", "x" * 65),
        ("openai_responses", "tools.1.name", "get.weather", "tool_name", "get.weather"),
        ("anthropic", "tools.1.name", LONG, "tool_name", LONG),
        ("anthropic", "tools.1.name", "", "tool_name", ""),
        ("openai_chat", f"{CHAT_CALLS}.0.function.name", "a.b", "tool_name", "a.b"),
        ("openai_responses", "input.1.name", "a.b", "tool_name", "a.b"),
        ("anthropic", "messages.1.content.0.name", "a.b", "tool_name", "a.b"),
        ("openai_chat", "tools.1.function.name", "add", "duplicate_tool", "add"),
        ("openai_responses", "tools.1.name", "add", "duplicate_tool", "add"),
        ("anthropic", "tools.1.name", "add", "duplicate_tool", "add"),
        ("openai_chat", "messages.3", None, "call_without_result", "c2"),
        ("openai_responses", "input.4", None, "call_without_result", "c2"),
        ("anthropic", "messages.2.content.1", None, "call_without_result", "c2"),
        ("openai_chat", "messages.1", None, "result_without_call", "c1"),
        ("openai_responses", "input.1", None, "result_without_call", "c1"),
        ("anthropic", "messages.1.content.0", None, "result_without_call", "c1"),
        ("openai_chat", f"{CHAT_CALLS}.1.id", "c1", "duplicate_call", "c1"),
        ("openai_responses", "input.2.call_id", "c1", "duplicate_call", "c1"),
        ("anthropic", "messages.1.content.1.id", "c1", "duplicate_call", "c1"),
        ("openai_chat", f"{CHAT_CALLS}.1.id", "", "call_id", ""),
        ("openai_responses", "input.2.call_id", "", "call_id", ""),
        ("anthropic", "messages.1.content.1.id", "", "call_id", ""),
        ("openai_chat", f"{CHAT_CALLS}.1", chat_call("c2", '{"q": "un'), "arguments", "c2"),
        ("openai_responses", "input.2.arguments", "[]", "arguments", "c2"),
        ("anthropic", "messages.1.content.1.input", "{}", "arguments", "c2"),
        ("anthropic", "messages.0.content", [], "empty_message", "messages[0]"),
        (
            "anthropic",
            "messages.0.content",
            [{"type": "text", "text": " \n"}],
            "empty_message",
            "messages[0]",
        ),
        ("anthropic", "messages.2.content.0", {"type": "text", "text": "first"}, "result_without_call", "c2"),
    ],
)
def test_what_providers_refuse_is_named(form: str, path: str, value: Any, rule: str, name: str) -> None:
    body = changed(form, path, value)
    assert (rule, name) in [(problem.rule, problem.name) for problem in find_problems(form, body)]
    try:
        refused = REFUSALS[form](body)
    except json.JSONDecodeError:
        refused = "arguments are no JSON"
    assert refused is not None, "the fake provider lets it through"


def test_a_result_must_follow_its_call_directly() -> None:
    body = good("openai_chat")
    body["messages"].insert(2, {"role": "user", "content": "by the way"})
    problems = find_problems("openai_chat", body)
    assert {(p.rule, p.name) for p in problems} == {
        (rule, call_id) for rule in ("call_without_result", "result_without_call") for call_id in ("c1", "c2")
    }
    body = good("anthropic")
    results = body["messages"].pop()["content"]
    body["messages"] += [{"role": "user", "content": [results[0]]}, {"role": "user", "content": results[1:]}]
    assert {(p.rule, p.name) for p in find_problems("anthropic", body)} == {
        ("call_without_result", "c2"),
        ("result_without_call", "c2"),
    }


def test_two_results_of_one_call_are_one_too_many(form: str) -> None:
    body = good(form)
    if form == "anthropic":
        content = body["messages"][2]["content"]
        content.insert(1, content[0])
    else:
        items = body["messages" if form == "openai_chat" else "input"]
        items.insert(4, items[-2])
    rules = {problem.rule for problem in find_problems(form, body)}
    assert rules & {"duplicate_call", "result_without_call"}


def test_only_some_providers_want_ids_to_differ_between_messages(form: str) -> None:
    """Small servers count from zero in each answer, and take that back."""
    body = good(form)
    if form == "anthropic":
        body["messages"] += body["messages"][1:]
    else:
        items = body["messages" if form == "openai_chat" else "input"]
        items += items[1:]
    rules = {problem.rule for problem in find_problems(form, body)}
    assert rules == (set() if form == "openai_chat" else {"duplicate_call"})


def test_a_number_of_tools_can_be_too_many(form: str) -> None:
    with pytest.raises(ChatRequestError) as failure:
        validate(form, good(form), provider="openai:gpt-5", max_tools=1)
    (problem,) = failure.value.problems
    assert (problem.rule, problem.name) == ("too_many_tools", "find")
    assert str(failure.value).startswith("openai:gpt-5 would refuse this request. 2 tools are more than 1")


@pytest.mark.parametrize(
    "tool", [{"defer_loading": True}, {"defer_loading": True, "cache_control": {"type": "x"}}]
)
def test_deferred_tools_of_anthropic(tool: Json) -> None:
    body = good("anthropic")
    body["tools"][1] |= tool
    rules = [problem.rule for problem in find_problems("anthropic", body)]
    assert rules == (["cache_control_deferred"] if "cache_control" in tool else [])
    body["tools"][0] |= {"defer_loading": True}
    assert "all_deferred" in [problem.rule for problem in find_problems("anthropic", body)]
    body["tools"].insert(0, {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"})
    assert "all_deferred" not in [problem.rule for problem in find_problems("anthropic", body)]


def test_a_reference_needs_a_declaration() -> None:
    body = good("anthropic")
    reference = {"type": "tool_reference", "tool_name": "find"}
    body["messages"][2]["content"][0]["content"] = [reference]
    assert find_problems("anthropic", body) == ()
    body["messages"][2]["content"][0]["content"] = [{**reference, "tool_name": "gone"}]
    (problem,) = find_problems("anthropic", body)
    assert (problem.rule, problem.name) == ("unknown_reference", "gone")


def test_deferred_functions_of_responses_need_a_search_tool() -> None:
    body = good("openai_responses")
    body["tools"] = [{"type": "namespace", "name": "crm", "description": "", "tools": body["tools"]}]
    body["tools"][0]["tools"][1]["defer_loading"] = True
    (problem,) = find_problems("openai_responses", body)
    assert (problem.rule, problem.name) == ("deferred_without_search", "find")
    body["tools"].append({"type": "tool_search"})
    assert find_problems("openai_responses", body) == ()


@pytest.mark.parametrize(
    ("form", "choice", "none_left"),
    [
        ("openai_chat", {"type": "function", "function": {"name": "gone"}}, "required"),
        ("openai_responses", {"type": "function", "name": "gone"}, "required"),
        ("anthropic", {"type": "tool", "name": "gone"}, {"type": "any"}),
    ],
)
def test_a_tool_that_must_be_called_has_to_be_there(form: str, choice: Json, none_left: Any) -> None:
    (problem,) = find_problems(form, {**good(form), "tool_choice": choice})
    assert (problem.rule, problem.name) == ("tool_choice", "gone")
    (problem,) = find_problems(form, {**good(form), "tools": [], "tool_choice": none_left})
    assert problem.rule == "tool_choice"


def test_every_problem_is_told_at_once() -> None:
    body = changed("openai_chat", "messages.3", None)
    body["tools"][0]["function"]["name"] = "a b"
    with pytest.raises(ChatRequestError) as failure:
        validate("openai_chat", body)
    assert [problem.rule for problem in failure.value.problems] == ["tool_name", "call_without_result"]
    assert "'a b'" in str(failure.value)
    assert "'c2'" in str(failure.value)


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=3), nested, max_leaves=12))
@settings(max_examples=150)
def test_bodies_that_hold_anything_are_looked_through(value: Any) -> None:
    for form in REFUSALS:
        keys = ("tools", "messages", "input", "tool_choice")
        find_problems(form, dict.fromkeys(keys, value))
        find_problems(form, {key: [value] for key in keys})


def test_the_provider_may_hold_the_calls_that_are_answered() -> None:
    output = {"type": "function_call_output", "call_id": "c1", "output": "2"}
    assert find_problems("openai_responses", {"input": [output], "previous_response_id": "resp_1"}) == ()
    assert find_problems("openai_responses", {"input": [output]}) != ()
