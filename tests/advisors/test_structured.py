"""An answer is asked for again until it has the form that is wanted."""

import time
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from tests.advisors.runs import call, question, stream
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Advisor, Approve
from toolsearch.advisors.memory import MemoryAdvisor, MemoryConversationStore
from toolsearch.advisors.structured import StructuredOutputAdvisor
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.chat.base import ChatResponse, RunFinished, Usage
from toolsearch.exceptions import AnswerFormatError
from toolsearch.functions import tool
from toolsearch.messages import AssistantMessage, TextPart
from toolsearch.testing import ScriptedChatModel, tool_call


class Weather(BaseModel):
    city: str
    degrees: int


@tool
async def measure(city: str) -> int:
    """Measures."""
    return 7


GOOD = '{"city": "Oslo", "degrees": 7}'
SCHEMA = {"type": "object", "properties": {"degrees": {"type": "integer"}}, "required": ["degrees"]}


def ask(model: ScriptedChatModel, form: Any, *more: Advisor, attempts: int = 3) -> ChatResponse:
    advisors: list[Advisor] = [ToolCallingAdvisor(), StructuredOutputAdvisor(form, attempts=attempts), *more]
    return call(model, (measure,), advisors, question(session_id="s"))


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (Weather, Weather(city="Oslo", degrees=7)),
        (TypeAdapter(dict[str, str | int]), {"city": "Oslo", "degrees": 7}),
        (SCHEMA, {"city": "Oslo", "degrees": 7}),
    ],
)
@pytest.mark.parametrize("written", [GOOD, f"```json\n{GOOD}\n```"])
def test_a_valid_answer_is_read(form: Any, value: Any, written: str) -> None:
    response = ask(ScriptedChatModel([written]), form)
    assert response.metadata["structured"] == value
    assert response.metadata["attempts"] == 1


def test_the_model_is_told_the_schema_and_then_what_was_wrong() -> None:
    model = ScriptedChatModel(["It is 7.", '{"city": "Oslo", "degrees": "warm"}', GOOD])
    response = ask(model, Weather)
    assert response.metadata["structured"] == Weather(city="Oslo", degrees=7)
    assert response.metadata["attempts"] == 3
    system, user = model.requests[0].messages
    assert '"degrees"' in system.text
    assert user.text == "Go."
    assert model.requests[1].messages[2].text == "It is 7."
    assert "Invalid JSON" in model.requests[1].messages[3].text
    assert "degrees: Input should be a valid integer" in model.requests[2].messages[5].text


def test_a_json_schema_says_where_it_is_broken() -> None:
    model = ScriptedChatModel(["[", '{"degrees": "warm"}', '{"degrees": 7}'])
    assert ask(model, SCHEMA).metadata["structured"] == {"degrees": 7}
    assert "it is not JSON" in model.requests[1].messages[-1].text
    assert "$.degrees: 'warm' is not of type 'integer'" in model.requests[2].messages[-1].text


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_has_not_is_asked_for_again(number: str) -> None:
    model = ScriptedChatModel([f'{{"degrees": {number}}}', '{"degrees": 7}'])
    assert ask(model, {"properties": {"degrees": {"type": "number"}}}).metadata["structured"] == {
        "degrees": 7
    }
    assert "it is not JSON" in model.requests[1].messages[-1].text


def test_tools_may_be_called_in_every_attempt_and_all_is_summed_up() -> None:
    measured = ChatResponse(
        AssistantMessage(content=(tool_call("measure", {"city": "Oslo"}),)), "tool_calls", Usage(10, 1)
    )
    bad = ChatResponse(AssistantMessage(content=(TextPart(text="7"),)), usage=Usage(10, 1))
    good = ChatResponse(AssistantMessage(content=(TextPart(text=GOOD),)), usage=Usage(10, 1))
    response = ask(ScriptedChatModel([measured, bad, measured, good]), Weather)
    assert response.usage == Usage(40, 4)
    assert response.metadata["rounds"] == 4
    roles = [message.role for message in response.metadata["messages"]]
    assert roles == ["assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"]


def test_after_the_last_attempt_the_caller_is_told() -> None:
    with pytest.raises(AnswerFormatError, match="None of 2 answers had the form") as caught:
        ask(ScriptedChatModel(["no", "{}"]), Weather, attempts=2)
    assert (caught.value.answer, caught.value.attempts) == ("{}", 2)
    assert caught.value.problems == ("city: Field required", "degrees: Field required")


@pytest.mark.parametrize("order", [200, 500])
def test_memory_outside_and_inside_the_loop_has_every_message_once(order: int) -> None:
    store = MemoryConversationStore()
    model = ScriptedChatModel([tool_call("measure", {"city": "Oslo"}), "7", GOOD])
    ask(model, Weather, MemoryAdvisor(store, order=order))
    roles = [message.role for message in store.messages("s", "")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert [m.role for m in model.requests[2].messages] == ["system", *roles[:-1]]


def test_a_run_without_an_answer_is_handed_on_and_can_be_resumed() -> None:
    model = ScriptedChatModel([tool_call("measure", {"city": "Oslo"}), "7", GOOD])
    gate = ApprovalAdvisor()
    paused = ask(model, Weather, gate)
    assert paused.finish_reason == "paused"
    resumed = paused.metadata["paused_run"].resume({"call_1": Approve()})
    advisors: list[Advisor] = [ToolCallingAdvisor(), StructuredOutputAdvisor(Weather), gate]
    response = call(model, (measure,), advisors, resumed)
    assert response.metadata["structured"] == Weather(city="Oslo", degrees=7)
    roles = [message.role for message in model.requests[2].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]


def test_streaming_gives_the_same_response() -> None:
    advisors: list[Advisor] = [ToolCallingAdvisor(), StructuredOutputAdvisor(Weather)]
    last = stream(ScriptedChatModel(["no", GOOD]), (measure,), advisors)[-1]
    assert isinstance(last, RunFinished)
    assert last.response == call(ScriptedChatModel(["no", GOOD]), (measure,), advisors)


def test_no_attempts_are_refused() -> None:
    with pytest.raises(ValueError, match="attempts is 0"):
        StructuredOutputAdvisor(Weather, attempts=0)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"$ref": "http://schemas.invalid/x"}, "'http://schemas.invalid/x' is outside of this schema"),
        ({"properties": {"a": {"$ref": "file:///etc/hosts"}}}, "outside of this schema"),
        ({"$id": "http://schemas.invalid/", "items": {"$dynamicRef": "y#z"}}, "outside of this schema"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": {"$ref": "x.json"}}, "outside"),
        ({"$ref": "#/$defs/missing"}, "leads nowhere"),
        ({"$ref": "#"}, "leads back to itself"),
    ],
)
def test_a_schema_must_hold_what_it_refers_to_and_nothing_is_fetched(
    form: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched(*_: object, **__: object) -> None:
        raise AssertionError("fetched")

    monkeypatch.setattr("urllib.request.urlopen", fetched)
    with pytest.raises(ValueError, match=problem):
        StructuredOutputAdvisor(form)


def test_a_schema_may_refer_to_itself_by_its_own_names() -> None:
    tree = {
        "$id": "http://schemas.invalid/tree",
        "type": "object",
        "properties": {"degrees": {"$ref": "tree#degrees"}, "next": {"$ref": "http://schemas.invalid/tree"}},
        "$defs": {"d": {"$anchor": "degrees", "type": "integer"}},
    }
    model = ScriptedChatModel(['{"next": {"degrees": "warm"}}', '{"next": {"degrees": 7}}'])
    assert ask(model, tree).metadata["structured"] == {"next": {"degrees": 7}}
    assert "$.next.degrees: 'warm' is not of type 'integer'" in model.requests[1].messages[-1].text


@pytest.mark.parametrize(
    "text", ["```json" + "\n" * 100_000, "```\n" + "\n `" * 100_000, " " * 100_000 + "```"]
)
def test_an_answer_of_line_breaks_is_refused_at_once(text: str) -> None:
    """Small models come to repeat themselves until they are cut off."""
    started = time.perf_counter()
    with pytest.raises(AnswerFormatError):
        ask(ScriptedChatModel([text]), SCHEMA, attempts=1)
    assert time.perf_counter() - started < 5
