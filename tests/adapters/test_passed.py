"""Functions become tools of a framework by its own rules; what it refuses is told with their names."""

from collections.abc import Callable
from typing import Any

import pytest

from toolsearch.adapters.langchain import ToolSearchMiddleware
from toolsearch.adapters.openai_agents import AgentToolSearch
from toolsearch.exceptions import DefinitionError

ADAPTERS = [(ToolSearchMiddleware, "LangChain"), (AgentToolSearch, "OpenAI Agents")]


class Parcel:
    """No JSON is one."""


@pytest.mark.parametrize(("adapter", "framework"), ADAPTERS)
def test_an_error_names_the_function_that_the_framework_makes_no_tool_of(
    adapter: Callable[[list[Any]], object], framework: str
) -> None:
    def good(place: str) -> str:
        """Send something."""
        return place

    def bad(place: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
        """Send something else."""
        return str(place)

    with pytest.raises(DefinitionError, match=f"'bad': {framework} makes no tool .*'Nowhere' is not defined"):
        adapter([good, bad])
    with pytest.raises(TypeError, match=f"3 is no tool. Give a function, a Tool, or a tool of {framework}"):
        adapter([good, 3])


@pytest.mark.parametrize(("adapter", "framework"), ADAPTERS)
def test_an_error_names_the_function_whose_arguments_are_no_json(
    adapter: Callable[[list[Any]], object], framework: str
) -> None:
    del framework

    def send(parcel: Parcel) -> str:
        """Send a parcel."""
        return str(parcel)

    with pytest.raises(DefinitionError, match=r"'send'.*Parcel"):
        adapter([send])
