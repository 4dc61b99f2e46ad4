"""Connections to services, over real sockets: none is left open when its event loop ends."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed; it is one of the dev extra")

from fastapi import FastAPI, Request

from tests.sources.mcp.support import served
from tests.sources.openapi.documents import text_of
from toolsearch.messages import ToolResult
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import ToolContext

app = FastAPI(title="Ports")


@app.get("/port", operation_id="port")
async def port(request: Request) -> int:
    """The port of the caller: the same for one connection."""
    assert request.client is not None
    return request.client.port


@pytest.fixture(scope="module")
def source() -> Iterator[OpenApiSource]:
    with served(app) as url:
        yield OpenApiSource(app.openapi(), server=url)


async def several(source: OpenApiSource) -> set[str]:
    tool = source.list_tools()[0]
    assert tool.call is not None
    results = [await tool.call({}, ToolContext()) for _ in range(3)]
    assert all(isinstance(result, ToolResult) for result in results)
    return {text_of(result) for result in results}


def test_calls_of_one_event_loop_share_a_connection_and_its_end_closes_it(source: OpenApiSource) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        first, second = asyncio.run(several(source)), asyncio.run(several(source))
        alone = text_of(source.list_tools()[0].call_sync({}))
        gc.collect()
    assert len({*first, *second, alone}) == 3
    assert [str(each.message) for each in told] == []


def test_a_source_that_is_closed_opens_anew_if_it_is_called_again(source: OpenApiSource) -> None:
    async def run() -> set[str]:
        first = await several(source)
        await source.aclose()
        await source.aclose()
        return first | await several(source)

    assert len(asyncio.run(run())) == 2
