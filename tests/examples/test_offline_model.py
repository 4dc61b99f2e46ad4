from __future__ import annotations

import asyncio
import importlib.util
import json

import pytest

from examples.offline_model import PACKAGES, OfflineModel, get_weather, play_music, refund_order
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatRequest
from toolsearch.embedders.bundled import BundledEmbedder
from toolsearch.messages import AssistantMessage, ToolMessage, UserMessage
from toolsearch.retrieval.building import build_index
from toolsearch.retrieval.searcher import ToolSearcher

MISSING = [package for package in PACKAGES if importlib.util.find_spec(package) is None]


@pytest.mark.skipif(
    bool(MISSING),
    reason=f"no {' and no '.join(MISSING)}, 200 MB that nothing else needs: see examples/offline_model.py",
)
def test_a_real_model_searches_calls_what_it_found_and_answers() -> None:
    embedder = BundledEmbedder()
    tools = Catalog([refund_order, get_weather, play_music])
    searcher = ToolSearcher(build_index(tools, embedder), embedder)

    async def run() -> tuple[str, tuple[object, ...]]:
        model = OfflineModel()
        try:
            chain = AdvisorChain(model, [ToolCallingAdvisor(), ToolSearchAdvisor(searcher, limit=1)])
            response = await chain.call(ChatRequest((UserMessage.of("Please refund order 7."),)))
        finally:
            await model.aclose()
        return response.text, response.metadata["messages"]

    text, messages = asyncio.run(run())
    results = [message for message in messages if isinstance(message, ToolMessage)]
    calls = [call for m in messages if isinstance(m, AssistantMessage) for call in m.tool_calls]
    assert [result.name for result in results] == ["tool_search", "refund_order"]
    assert results[0].discovered == ("refund_order",)
    order = json.loads(calls[1].arguments)["order"]
    assert results[1].text == f"Order {order} is refunded."
    assert text
