"""One process of a service whose runs pause: ``python -m tests.advisors.paused_process FOLDER ROLE [DIES]``.

As ``ask`` it runs until calls wait and writes the state; as ``resume`` it approves of all of them, goes on,
looks again, and prints what the model was told; as ``take_over`` it does so whoever else does. DIES says when
it is killed, or as ``stop`` only stopped: ``ran:ID`` once that call has had its effect, ``noted:ID`` once its
result is in the journal too, ``model`` when the model is asked next, ``last`` when for the last time.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from toolsearch import ToolContext, ToolSearcher, build_index, tool
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Approve
from toolsearch.advisors.chain import AdvisorChain
from toolsearch.advisors.journal import SqliteCallJournal
from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.advisors.paused import PausedRun
from toolsearch.advisors.tool_calling import ToolCallingAdvisor
from toolsearch.advisors.tool_search import ToolSearchAdvisor
from toolsearch.catalog import Catalog
from toolsearch.chat.base import ChatRequest, ChatResponse
from toolsearch.messages import ToolCall, ToolMessage, UserMessage
from toolsearch.session.sqlite import SqliteSessionStore
from toolsearch.testing import HashingEmbedder, ScriptedChatModel, tool_call

FOLDER, ROLE, DIES = Path(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:])


def die_at(moment: str) -> None:
    if moment == DIES:
        os.kill(os.getpid(), signal.SIGSTOP if ROLE == "stop" else signal.SIGKILL)


def note(text: str) -> None:
    with (FOLDER / "ran.txt").open("a") as file:
        file.write(f"{text}\n")


@tool(pinned=True)
async def look(context: ToolContext) -> str:
    """Look around."""
    note("look")
    die_at(f"ran:{context.call_id}")
    return "A mess."


@tool
async def delete_file(name: str, context: ToolContext) -> str:
    """Delete a file."""
    note(name)
    die_at(f"ran:{context.call_id}")
    return f"{name} is gone."


class Journal(SqliteCallJournal):
    def note(self, run_id: str, holder: str, name: str, text: str) -> bool:
        is_noted = super().note(run_id, holder, name, text)
        if json.loads(text).get("result"):
            die_at(f"noted:{name.partition('/')[2]}")
        return is_noted


def answer(request: ChatRequest) -> ToolCall | str:
    results = [message for message in request.messages if isinstance(message, ToolMessage)]
    if results[-1].call_id != "z":
        die_at("model")
        return tool_call("look", id="z")
    die_at("last")
    return json.dumps({each.call_id: [each.text, each.is_error] for each in results})


def call(model: ScriptedChatModel, request: ChatRequest) -> ChatResponse:
    embedder = HashingEmbedder()
    searcher = ToolSearcher(build_index(Catalog([look, delete_file]), embedder), embedder)
    chain = AdvisorChain(
        model,
        [
            ToolCallingAdvisor(
                ToolCallingManager(max_concurrency=1), journal=Journal(FOLDER / "calls.sqlite")
            ),
            ToolSearchAdvisor(searcher, store=SqliteSessionStore(FOLDER / "sessions.sqlite")),
            ApprovalAdvisor(tools=["delete_file"]),
        ],
    )
    return asyncio.run(chain.call(request))


def ask() -> None:
    deletions = [tool_call("delete_file", {"name": each}, id=each) for each in "abc"]
    model = ScriptedChatModel(
        [
            tool_call("tool_search", {"queries": ["select:delete_file"]}, id="s"),
            [tool_call("look", id="l"), *deletions],
        ]
    )
    context = {"session_id": "s", "tenant": "t"}
    response = call(model, ChatRequest((UserMessage.of("Tidy up."),), context=context))
    (FOLDER / "state.json").write_text(response.metadata["paused_run"].model_dump_json(), encoding="utf-8")


def resume() -> None:
    state = PausedRun.model_validate_json((FOLDER / "state.json").read_text(encoding="utf-8"))
    decisions = {waiting.call.id: Approve() for waiting in state.waiting}
    request = state.resume(decisions, take_over=ROLE == "take_over")
    print(call(ScriptedChatModel(answer), request).text)


(ask if ROLE == "ask" else resume)()
