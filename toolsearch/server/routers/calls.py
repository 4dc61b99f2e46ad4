"""Calling tools that the service was started with; without any, there is no such path."""

from __future__ import annotations

import json
import logging

from fastapi import APIRouter, Request
from starlette.responses import Response

from toolsearch.advisors.manager import ToolCallingManager
from toolsearch.api.calls import CallBody, CallResult
from toolsearch.api.usage import FeedbackBody
from toolsearch.exceptions import NotCallableError
from toolsearch.messages import AssistantMessage, ToolCall
from toolsearch.server.answers import answer
from toolsearch.server.asking import Asking, Calling
from toolsearch.server.feedback import kept_feedback
from toolsearch.server.rounds import SessionEvent
from toolsearch.tools import Tool, ToolContext

router = APIRouter(prefix="/v1/calls", tags=["calls"])

_CALL_ID = "call"

_log = logging.getLogger("toolsearch.server")


@router.post("", response_model=CallResult, summary="Call a tool", operation_id="call_tool")
async def call_tool(body: CallBody, request: Request, asking: Calling) -> Response:
    """The result of a call, or why there is none, in words for the model.

    A tool that the caller may not know of is answered like one that does not exist.
    """
    tool = await asking.run(_callable, asking, body)
    request.state.subject = {"tool": tool.name}
    call = ToolCall(id=body.call_id or _CALL_ID, name=tool.name, arguments=json.dumps(body.arguments))
    context = ToolContext(session_id=body.session_id or "", call_id=call.id, tenant=asking.caller.tenant)
    manager = ToolCallingManager(call_timeout_s=asking.service.settings.call_timeout_s)
    batch = await manager.run(AssistantMessage(content=(call,)), [tool], context=context)
    (result,) = batch.results
    asking.service.usage.called(asking.caller.tenant)
    if asking.service.learning is not None:
        told = FeedbackBody(
            tool=tool.name, outcome="failed" if result.is_error else "succeeded", session_id=body.session_id
        )
        await _keep(asking, told)
    if body.session_id is not None:
        event = SessionEvent(kind="call", names=(tool.name,), is_error=result.is_error)
        asking.service.rounds.add(asking.caller.tenant, body.session_id, event)
    return answer(CallResult(text=result.text, is_error=result.is_error, structured=result.structured))


async def _keep(asking: Asking, told: FeedbackBody) -> None:
    """Keeps what became of a call, if that can be done: the tool has run, and its caller is to hear of it."""
    try:
        await asking.run(kept_feedback, asking, told)
    except Exception as exc:  # noqa: BLE001 - an answer that failed would have the tool run again
        _log.warning("Nothing was learned of a call, request %s: %s", asking.request_id, type(exc).__name__)


def _callable(asking: Asking, body: CallBody) -> Tool:
    view = asking.visible()
    view.row(body.name)
    tool = asking.service.runs_for(asking.caller).get(body.name)
    if tool is None:
        raise NotCallableError(
            f"The service has nothing to run the tool {body.name!r} with. Only tools of the module that it "
            "was started with (--call MODULE) run here."
        )
    if body.session_id is not None and body.name not in {t.name for t in _offered(asking, body.session_id)}:
        raise NotCallableError(
            f"The session has not discovered the tool {body.name!r}. Search for it, or load it, first."
        )
    return tool


def _offered(asking: Asking, session_id: str) -> tuple[Tool, ...]:
    offer = asking.discovery(session_id).offer()
    return (*offer.visible, *offer.loaded)
