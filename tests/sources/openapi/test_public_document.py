"""A public document of more than 500 operations, as its makers publish it."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from tests.real_servers.installed import ADVICE, OPENAPI_DOCUMENT
from tests.sources.openapi.documents import Recorder
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.messages import ToolResult
from toolsearch.sources.openapi import OpenApiSource

VARIABLE = "TOOLSEARCH_OPENAPI_DOCUMENT"


@pytest.fixture(scope="module")
def path() -> Path:
    found = Path(os.environ.get(VARIABLE) or OPENAPI_DOCUMENT)
    if not found.is_file():
        pytest.skip(f"no large document: set {VARIABLE} to the path of one, or {ADVICE}")
    return found


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture(scope="module")
def source(path: Path, recorder: Recorder) -> OpenApiSource:
    return OpenApiSource.from_file(path, transport=recorder, server="https://big.example.com", environment={})


def test_every_operation_becomes_a_tool(source: OpenApiSource) -> None:
    tools = source.list_tools()
    assert len(tools) > 500
    assert [issue for issue in source.issues if issue.severity == "error"] == []
    assert len({tool.name for tool in tools}) == len(tools)
    assert [tool.name for tool in tools if not tool.description.strip()] == []


def test_operations_without_required_arguments_are_sent_where_they_say(
    source: OpenApiSource, recorder: Recorder
) -> None:
    """Every operation that takes no argument by need is called; each of the others refuses to be."""
    called = 0
    for tool in source.list_tools():
        told = tool.meta["openapi"]
        if tool.input_schema.get("required"):
            with pytest.raises(ToolArgumentsError, match="is a required property"):
                tool.call_sync({})
            continue
        before = len(recorder.requests)
        result = tool.call_sync({})
        assert isinstance(result, ToolResult)
        if result.is_error:
            # The service wants to know who asks.
            assert len(recorder.requests) == before
            continue
        called += 1
        assert recorder.last.method == told["method"]
        assert recorder.last.url == httpx.URL(f"https://big.example.com{told['path']}")
    assert called > 20
