"""Functions, tools and catalogs are accepted alike wherever tools are given; anything else is named."""

import asyncio
import types
from collections.abc import Callable
from typing import Any

import pytest

from toolsearch import tokens
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatRequest
from toolsearch.formats import read_tools, write_tools
from toolsearch.functions.decorator import tool
from toolsearch.given import as_tools
from toolsearch.lint.linter import lint_catalog
from toolsearch.messages import AssistantMessage, UserMessage
from toolsearch.retrieval.building import build_index, update_index
from toolsearch.retrieval.lazy import CatalogSearcher
from toolsearch.router import ToolRouter
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call
from toolsearch.tools import Tool


def close_account(number: int) -> str:
    """Close an account."""
    return f"Account {number} is closed."


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"Sunny in {city}."


FUNCTIONS: list[Callable[..., Any]] = [close_account, get_weather]
TOOLS = [tool(each) for each in FUNCTIONS]
CATALOG = Catalog(TOOLS)
NAMES = ["close_account", "get_weather"]
EMBEDDER = HashingEmbedder(32)
QUESTION = (UserMessage.of("Hello?"),)


def run_by_manager(tools: Any) -> list[str]:
    message = AssistantMessage(content=(tool_call("nothing_like_it"),))
    (result,) = asyncio.run(ToolCallingManager().run(message, tools)).results
    return [name for name in NAMES if name in result.text]


def sent_by_chain(tools: Any) -> list[str]:
    model = ScriptedChatModel(["Hello."])
    asyncio.run(AdvisorChain(model, tools=tools).call(ChatRequest(QUESTION)))
    return [tool.name for tool in model.requests[0].tools]


def sent_by_run(tools: Any) -> list[str]:
    model = ScriptedChatModel(["Hello."])
    ToolRouter(model, embedder=EMBEDDER).run_sync("Hello?", tools=tools)
    return [tool.name for tool in model.requests[0].tools if tool.name in NAMES]


def router(*tools: Any, **more: Any) -> ToolRouter:
    return ToolRouter(ScriptedChatModel([]), *tools, embedder=EMBEDDER, **more)


def updated_router(tools: Any) -> ToolRouter:
    made = router()
    made.catalog = tools
    return made


def empty_index() -> Any:
    return build_index([tool(lambda: "", name="other")], EMBEDDER)


PLACES: dict[str, Callable[[Any], Any]] = {
    "Catalog": lambda given: [*Catalog(given)],
    "Catalog.of": lambda given: [*Catalog.of(given)],
    "ChatRequest": lambda given: [each.name for each in ChatRequest(QUESTION, given).tools],
    "AdvisorChain": sent_by_chain,
    "ToolCallingManager.run": run_by_manager,
    "ToolRouter": lambda given: [*router(given).catalog],
    "ToolRouter(catalog=)": lambda given: [*router(catalog=given).catalog],
    "ToolRouter.catalog": lambda given: [*updated_router(given).catalog],
    "ToolRouter.run": sent_by_run,
    "ToolSearchAdvisor": lambda given: [
        *ToolSearchAdvisor(CatalogSearcher(given), given).view(ChatRequest(QUESTION)).tools
    ],
    "CatalogSearcher": lambda given: [*CatalogSearcher(given).catalog],
    "build_index": lambda given: [*build_index(given, EMBEDDER).catalog],
    "update_index": lambda given: [*update_index(empty_index(), given, EMBEDDER).catalog],
    "ToolIndex.with_tools": lambda given: [
        name for name in empty_index().with_tools(given, EMBEDDER).catalog if name in NAMES
    ],
    "write_tools": lambda given: [each.name for each in read_tools(write_tools(given, "openai_chat"))],
    "catalog_tokens": lambda given: [*tokens.catalog_tokens(given)],
    "lint_catalog": lambda given: sorted({found.tool for found in lint_catalog(given)}),
}
FORMS: dict[str, Callable[[], Any]] = {
    "functions": lambda: FUNCTIONS,
    "tools": lambda: TOOLS,
    "both": lambda: (FUNCTIONS[0], TOOLS[1]),
    "a generator": lambda: (each for each in FUNCTIONS),
    "a catalog": lambda: CATALOG,
    "a dict of tools": lambda: dict(CATALOG),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", PLACES)
def test_tools_are_given_in_any_form_in_any_place(place: str, form: str) -> None:
    if place == "ToolSearchAdvisor" and form == "a generator":
        return  # it is given twice there
    assert PLACES[place](FORMS[form]()) == NAMES


@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_tool_is_named_with_what_to_give(place: str) -> None:
    with pytest.raises(TypeError, match=r"\[1\] is a dict\. Give a function or a Tool\. .*read_tools"):
        PLACES[place]([close_account, {"name": "get_weather"}])


@pytest.mark.parametrize("place", PLACES)
def test_a_tool_that_is_in_no_list_is_refused(place: str) -> None:
    with pytest.raises(TypeError, match=r"is one tool\. Give a list"):
        PLACES[place](close_account)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (TOOLS[0], "tools is one tool. Give a list"),
        ("close_account", "tools is the text 'close_account'. Give a list of functions and tools"),
        (7, "tools is 7. Give a list"),
        (None, "tools is None. Give a list"),
        (types.ModuleType("my.shop"), r"tools is a module. Give tools_from\(shop\)"),
        (UserMessage.of("Hi"), "tools is a UserMessage. Give a list"),
        ([TOOLS, TOOLS], r"tools\[0\] is a list. Give a function or a Tool"),
        (["close_account"], r"tools\[0\] is the text 'close_account'"),
        ({"one": 1}, r"tools\[0\] is 1"),
    ],
)
def test_each_thing_that_holds_no_tools_has_its_advice(given: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        as_tools(given)


def test_tools_stay_the_objects_that_they_are() -> None:
    assert as_tools(TOOLS) == tuple(TOOLS)
    assert Catalog.of(CATALOG) is CATALOG
    assert [type(each) for each in as_tools([Tool(raw_name="x")])] == [Tool]
