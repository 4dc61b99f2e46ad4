"""Every adapter takes functions, tools and catalogs alike, and says what to give for anything else."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import RunContext, RunUsage
from pydantic_ai.models.test import TestModel

from toolsearch.adapters.langchain import ToolSearchMiddleware
from toolsearch.adapters.openai_agents import AgentToolSearch
from toolsearch.adapters.pydantic_ai import ToolSearchToolset
from toolsearch.adapters.session import ToolSearchSession
from toolsearch.catalog import Catalog
from toolsearch.functions.decorator import tool
from toolsearch.retrieval.base import Retriever
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.retrieval.searcher import ToolSearcher
from toolsearch.testing import HashingEmbedder


def close_account(number: int) -> str:
    """Close an account."""
    return f"Account {number} is closed."


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


FUNCTIONS: list[Callable[..., Any]] = [close_account, get_weather]
NAMES = ["close_account", "get_weather"]
CATALOG = Catalog(FUNCTIONS)
EMBEDDER = HashingEmbedder(32)
EVERYTHING: dict[str, Any] = {"embedder": EMBEDDER, "pinned": ["*"]}


def of_langchain(tools: Any, **settings: Any) -> list[str]:
    return [each.name for each in ToolSearchMiddleware(tools, **settings).tools]


def of_agents(tools: Any, **settings: Any) -> list[str]:
    return [each.name for each in AgentToolSearch(tools, **settings).tools if each.name in NAMES]


def of_pydantic_ai(tools: Any, **settings: Any) -> list[str]:
    context: RunContext[None] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    offered = asyncio.run(ToolSearchToolset[None](tools, **settings).get_tools(context))
    return [name for name in offered if name in NAMES]


ADAPTERS: dict[str, Callable[..., list[str]]] = {
    "langchain": of_langchain,
    "openai_agents": of_agents,
    "pydantic_ai": of_pydantic_ai,
}


@pytest.mark.parametrize(
    "tools",
    [FUNCTIONS, (tool(close_account), get_weather), CATALOG, dict(CATALOG), CATALOG.values()],
    ids=["functions", "both", "catalog", "dict", "values"],
)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_tools_are_given_in_any_form(adapter: str, tools: Any) -> None:
    assert sorted(ADAPTERS[adapter](tools, **EVERYTHING)) == NAMES


@pytest.mark.parametrize("given", [close_account, "close_account", 7, None], ids=str)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_holds_no_tools_is_told(adapter: str, given: Any) -> None:
    with pytest.raises(TypeError, match=r"^tools is .*\. Give a list"):
        ADAPTERS[adapter](given, **EVERYTHING)


def session(tools: Any, **settings: Any) -> ToolSearchSession:
    return ToolSearchSession(CatalogSearcher(tools, settings.pop("embedder")), **settings)


@pytest.mark.parametrize("adapter", [*ADAPTERS.values(), session])
def test_an_unknown_setting_is_told_with_the_one_that_was_meant(adapter: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=r"no argument or setting 'preselct'\. Did you mean 'preselect'"):
        adapter(CATALOG, embedder=EMBEDDER, preselct=3)


SEARCHERS: list[Retriever] = [
    CatalogSearcher(FUNCTIONS, EMBEDDER),
    ToolSearcher(build_index(FUNCTIONS, EMBEDDER), EMBEDDER),
]


@pytest.mark.parametrize("searcher", SEARCHERS, ids=["CatalogSearcher", "ToolSearcher"])
def test_a_searcher_brings_the_catalog_that_it_searches(searcher: Any) -> None:
    made = ToolSearchSession(searcher, pinned=FUNCTIONS)
    assert [each["function"]["name"] for each in made.tools()] == NAMES
    assert of_pydantic_ai((), searcher=searcher, pinned=FUNCTIONS) == NAMES


@pytest.mark.parametrize(
    "given", [FUNCTIONS, CATALOG, None, ToolSearcher], ids=["list", "catalog", "None", "class"]
)
def test_what_is_no_searcher_is_told(given: Any) -> None:
    with pytest.raises(TypeError, match=r"searcher is .*\. Give one, such as CatalogSearcher\(tools\)"):
        ToolSearchSession(given)


def test_tools_of_a_session_are_functions_or_tools() -> None:
    made = ToolSearchSession(SEARCHERS[0], own=[look_around])
    assert [each["function"]["name"] for each in made.tools()] == ["tool_search", "look_around"]
    with pytest.raises(TypeError, match=r"own\[0\] is a dict\. Give a function or a Tool"):
        ToolSearchSession(SEARCHERS[0], own=[{"name": "x"}])  # type: ignore[list-item]


def look_around() -> str:
    """A tool of the caller."""
    return ""
