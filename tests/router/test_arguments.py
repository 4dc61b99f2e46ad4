"""What a router cannot work with is told when it is made, in the words of its caller."""

import asyncio
from typing import Any

import pytest

from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.memory import MemoryAdvisor
from toolsearch.discovery.settings import DiscoveryOptions
from toolsearch.functions.decorator import tool
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.router import RunOptions, ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel


@tool
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


def router(**arguments: Any) -> ToolRouter:
    model = arguments.pop("model", ScriptedChatModel(["Hello."]))
    return ToolRouter(model, [get_weather], **{"embedder": HashingEmbedder(), **arguments})


@pytest.mark.parametrize("given", [True, "yes", (1, 2), object], ids=str)
@pytest.mark.parametrize(
    "name",
    [
        "model",
        "searcher",
        "embedder",
        "filter",
        "session_store",
        "memory",
        "approval",
        "manager",
        "limits",
        "prices",
    ],
)
def test_an_argument_of_another_kind_is_told_by_its_name(name: str, given: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{name} is .*\. Give (an?|one|LoopLimits|Prices)\b"):
        router(**{name: given})


def test_what_stands_among_advisors_is_told_by_its_place() -> None:
    with pytest.raises(TypeError, match=r"advisors\[\d\] is True\. Give an Advisor"):
        router(advisors=[True])
    with pytest.raises(TypeError, match=r"store is True\. Give a ConversationStore"):
        MemoryAdvisor(True)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda name: router(model=name), AdvisorChain])
def test_the_name_of_a_model_is_no_model(make: Any) -> None:
    with pytest.raises(TypeError, match=r"load_chat_model\('openai:gpt-5'\) makes one"):
        make("openai:gpt-5")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("top_k", "There are pinned, limit, "),
        ("preselct", "Did you mean 'preselect'"),
        ("tols", "no argument or setting 'tols'"),
    ],
)
def test_an_unknown_setting_is_told_with_those_that_there_are(wrong: str, told: str) -> None:
    with pytest.raises(TypeError, match=told) as caught:
        router(**{wrong: 3})
    assert "__init__" not in str(caught.value)
    assert wrong not in DiscoveryOptions.__annotations__


def test_an_unknown_option_of_a_run_is_told_with_the_one_that_was_meant() -> None:
    async def streamed() -> None:
        async for _ in router().stream("Hello?", session="42"):  # type: ignore[call-arg]
            pass

    calls = (
        lambda: router().run_sync("Hello?", session="42"),  # type: ignore[call-arg]
        lambda: asyncio.run(router().run("Hello?", session="42")),  # type: ignore[call-arg]
        lambda: asyncio.run(streamed()),
    )
    for call in calls:
        with pytest.raises(
            TypeError, match=r"no option of a run 'session'\. Did you mean 'session_id'"
        ) as caught:
            call()
        assert "_request" not in str(caught.value)
    assert "session_id" in RunOptions.__annotations__


def test_a_searcher_that_knows_its_catalog_brings_it() -> None:
    searcher = CatalogSearcher([get_weather], HashingEmbedder())
    assert [*ToolRouter(ScriptedChatModel([]), searcher=searcher).catalog] == ["get_weather"]
    built = searcher.build()
    assert isinstance(built, ToolSearcher)
    assert [*ToolRouter(ScriptedChatModel([]), searcher=built).catalog] == ["get_weather"]
