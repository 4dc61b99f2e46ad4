"""Added arguments go to the consumer, and the tool never sees them."""

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from tests.functions.support import call, text
from toolsearch import Tool, ToolContext, tool
from toolsearch.exceptions import DefinitionError, ToolArgumentsError
from toolsearch.functions import Augmentation, augment
from toolsearch.schema import check_schema


class Source(BaseModel):
    kind: Literal["user", "guess"]


class Thought(BaseModel):
    why: str = Field(description="Why this tool.")
    sources: list[Source] = []


@tool(tags=("money",), pinned=True, return_direct=True)
def refund(order: str, cents: int = 0) -> str:
    """Refund an order."""
    return f"{order}:{cents}"


def test_added_fields_come_first_and_the_rest_stays() -> None:
    made = augment(refund, Thought, print)
    assert list(made.input_schema["properties"]) == ["why", "sources", "order", "cents"]
    assert made.input_schema["properties"]["why"] == {"type": "string", "description": "Why this tool."}
    assert made.input_schema["required"] == ["why", "order"]
    assert check_schema("t", made.input_schema).schema == made.input_schema
    assert (made.name, made.description) == (refund.name, refund.description)
    assert (made.tags, made.pinned, made.return_direct) == (("money",), True, True)
    assert list(refund.input_schema["properties"]) == ["order", "cents"]


def test_the_consumer_is_given_the_fields_and_the_tool_the_rest() -> None:
    heard: list[Augmentation[Thought]] = []
    made = augment(refund, Thought, heard.append)
    context = ToolContext(session_id="s")
    arguments = {"why": "asked", "sources": [{"kind": "user"}], "order": "a", "cents": 5}
    assert text(made, arguments, context) == "a:5"
    assert heard == [
        Augmentation(
            "refund",
            Thought(why="asked", sources=[Source(kind="user")]),
            {"order": "a", "cents": 5},
            context,
        )
    ]


def test_an_async_consumer_is_awaited_first() -> None:
    order: list[str] = []

    async def consume(augmentation: Augmentation[Thought]) -> None:
        await asyncio.sleep(0)
        order.append(augmentation.fields.why)

    @tool
    def work() -> None:
        order.append("work")

    call(augment(work, Thought, consume), {"why": "first"})
    assert order == ["first", "work"]


def test_fields_that_do_not_fit_are_refused_before_anything_runs() -> None:
    @tool
    def never() -> None:
        pytest.fail("the tool ran")

    made = augment(never, Thought, lambda augmentation: pytest.fail("the consumer ran"))
    with pytest.raises(ToolArgumentsError) as caught:
        call(made, {"sources": [{"kind": "dream"}]})
    assert caught.value.problems == (
        "'why' is missing.",
        "'sources[0].kind': Input should be 'user' or 'guess', got 'dream'.",
    )


def test_a_tool_can_be_augmented_twice() -> None:
    class Mood(BaseModel):
        mood: str

    heard: list[str] = []
    made = augment(
        augment(refund, Thought, lambda a: heard.append(a.fields.why)),
        Mood,
        lambda a: heard.append(a.fields.mood),
    )
    assert text(made, {"mood": "m", "why": "w", "order": "a"}) == "a:0"
    assert heard == ["m", "w"]


def test_names_that_are_taken_and_tools_that_cannot_run_are_refused() -> None:
    class Clash(BaseModel):
        order: str

    with pytest.raises(DefinitionError, match="an argument 'order' already"):
        augment(refund, Clash, print)
    with pytest.raises(DefinitionError, match="'known': it has no call"):
        augment(Tool(raw_name="known"), Thought, print)
