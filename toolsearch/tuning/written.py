"""Requests that a chat model writes for the tools of a catalog. Nothing uses this unless it is asked to."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence

import numpy as np

from toolsearch.chat.base import ChatModel, ChatRequest
from toolsearch.document import render_document
from toolsearch.embedders.base import Embedder
from toolsearch.messages import AssistantMessage, SystemMessage, UserMessage
from toolsearch.tools import Tool
from toolsearch.tuning.pairs import Example

INSTRUCTION = (
    "You are shown a tool. Write {n} short requests of different people who need just this tool, in everyday "
    "words, one a line. Do not name the tool. Make up what a request needs, such as names and dates."
)
_SHOWN = (
    UserMessage.of("taxi book ride: Order a taxi. Parameters: pickup: Address; time; passengers"),
    AssistantMessage.of(
        "I need a car from 5 Main Street to the airport at six\n"
        "get four of us home from the theatre tonight\n"
        "can somebody pick up my mother at the station tomorrow at noon?"
    ),
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_LEAST_WORDS, _MOST_WORDS = 3, 40


async def write_queries(
    tools: Sequence[Tool],
    model: ChatModel,
    *,
    per_tool: int = 3,
    at_once: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Example]:
    """Requests for each tool, as the model writes them; row i is ``tools[i]``.

    Small models repeat the description, or write about something else: pass the result through
    `keep_findable`.

    Args:
        tools: The tools of a catalog, in its order.
        model: Any chat model.
        per_tool: How many requests to ask for; lines beyond that are passed over.
        at_once: How many tools are asked about at a time.
        progress: Called with (done, total) tools.

    Raises:
        ChatModelError: the model refused or failed.
    """
    gate = asyncio.Semaphore(at_once)
    done = 0

    async def one(row: int, tool: Tool) -> list[Example]:
        nonlocal done
        async with gate:
            request = ChatRequest(
                messages=(
                    SystemMessage.of(INSTRUCTION.format(n=per_tool)),
                    *_SHOWN,
                    UserMessage.of(render_document(tool)),
                )
            )
            response = await model.complete(request)
        done += 1
        if progress is not None:
            progress(done, len(tools))
        return [Example(text, (row,)) for text in requests_of(response.message.text)[:per_tool]]

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(row, tool)) for row, tool in enumerate(tools)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [example for task in tasks for example in task.result()]


def requests_of(answer: str) -> list[str]:
    """The lines of an answer that may be requests, each once, without bullets, numbers and quotes."""
    lines = (_BULLET.sub("", line).strip().strip("\"'`*“”").strip() for line in answer.splitlines())
    kept = (line for line in lines if _LEAST_WORDS <= len(line.split()) <= _MOST_WORDS)
    return [line for line in dict.fromkeys(kept) if not line.endswith(":") and line not in _SHOWN[1].text]


def keep_findable(
    examples: Sequence[Example], documents: Sequence[str], embedder: Embedder, *, depth: int = 10
) -> list[Example]:
    """The examples whose tool is among the `depth` best of `embedder`, so that it is likely what was meant.

    Source: Alberti et al., ACL 2019 (round-trip consistency); Dai et al., "Promptagator", ICLR 2023.
    """
    if not examples:
        return []
    queries = embedder.embed_queries([example.query for example in examples])
    told = embedder.embed_documents(documents)
    kept = []
    for vector, example in zip(queries, examples, strict=True):
        scores = told @ vector
        best = max(scores[row] for row in example.positives)
        if int(np.count_nonzero(scores > best)) < depth:
            kept.append(example)
    return kept
