"""What only an agent framework could pass is refused, and named, when the tool is made."""

from typing import Annotated, Any

import pytest
from agents import RunContextWrapper
from agents.tool_context import ToolContext as AgentsContext
from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId
from langgraph.prebuilt import InjectedState
from langgraph.runtime import Runtime
from pydantic_ai import RunContext

from toolsearch import tool
from toolsearch.exceptions import ParameterError
from toolsearch.functions import tool_from_schema


@pytest.mark.parametrize(
    ("annotation", "named"),
    [
        (RunContext, "RunContext of pydantic_ai"),
        (RunContext[str], "RunContext of pydantic_ai"),
        (RunContext[str] | None, "RunContext of pydantic_ai"),
        ("RunContext[str]", "RunContext of pydantic_ai"),
        (RunContextWrapper[int], "RunContextWrapper of agents"),
        (AgentsContext[Any], "ToolContext of agents"),
        (ToolRuntime, "ToolRuntime of langgraph"),
        (ToolRuntime | None, "ToolRuntime of langgraph"),
        (Runtime[None], "Runtime of langgraph"),
        (RunnableConfig, "RunnableConfig of langchain_core"),
        (Annotated[dict[str, int], InjectedState], "InjectedState of langgraph"),
        (Annotated[dict[str, int], InjectedState("counts")], "InjectedState of langgraph"),
        (Annotated[str, InjectedToolCallId], "InjectedToolCallId of langchain_core"),
        (Annotated[str, InjectedToolArg()], "InjectedToolArg of langchain_core"),
    ],
)
def test_the_context_of_a_framework_is_named_with_what_to_take_instead(annotation: Any, named: str) -> None:
    def refund(order: int, passed: Any) -> str:
        return f"{order} {passed}"

    refund.__annotations__["passed"] = annotation
    with pytest.raises(ParameterError, match=rf"'refund'.*'passed': {named} .*toolsearch\.ToolContext"):
        tool(refund)


def test_data_built_tools_refuse_it_too() -> None:
    def refund(arguments: dict[str, Any], passed: RunContext[str]) -> str:
        return f"{arguments} {passed}"

    with pytest.raises(ParameterError, match="RunContext of pydantic_ai"):
        tool_from_schema(refund, name="refund")


def test_a_class_of_ones_own_may_have_such_a_name() -> None:
    class Context(dict[str, int]):
        pass

    @tool
    def count(passed: Annotated[dict[str, int], Context()]) -> int:
        return sum(passed.values())

    assert list(count.input_schema["properties"]) == ["passed"]
