"""Calls of a model's answer: searches, and what must not run, are answered; the program runs the rest."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from toolsearch.adapters.passed import PassedTool
from toolsearch.adapters.planned import answered_here, meant_calls, planned_calls
from toolsearch.adapters.wire import is_custom, read_call
from toolsearch.api.sessions import AnswerCalls, HandledCall, HandledCalls
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.exceptions import RequestRefusedError
from toolsearch.messages import ToolCall
from toolsearch.naming import PUBLIC_NAME, RESERVED_NAMES
from toolsearch.server.answers import answer
from toolsearch.server.asking import Searching
from toolsearch.server.routers.sessions import SessionPath, searched
from toolsearch.server.sent import DELIVERIES, check_delivery, sent_result
from toolsearch.tools import JsonObject, Tool

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])


@router.post(
    "/{session_id}/handle",
    response_model=HandledCalls,
    summary="Handle the calls of an answer",
    operation_id="handle_calls",
)
async def handle_calls(session_id: SessionPath, body: AnswerCalls, asking: Searching) -> Response:
    """Searches are carried out. What must not run is told to the model: calls of tools that the session had
    not discovered when the model made them, and arguments that are no JSON object.

    A call without a ``result`` is to be run, under ``name`` with ``arguments``; with ``bridge`` these are of
    the tool that is meant. Give all calls of an answer at once: what one finds the others cannot call.
    """
    check_delivery(body.delivery, body.form)
    calls = [_read(record, f"calls[{place}]") for place, record in enumerate(body.calls)]
    own = [_own(name) for name in body.own]

    def handled() -> HandledCalls:
        discovery = asking.discovery(session_id, DELIVERIES[body.delivery])
        offer = discovery.offer()
        meant, offered = meant_calls(calls, discovery.delivery, offer)
        planned = planned_calls(meant, (*own, *offered))
        out: list[HandledCall] = []
        notes: list[JsonObject] = []
        for record, call, told, plan in zip(body.calls, calls, meant, planned, strict=True):
            if is_custom(record):
                out.append(HandledCall(call_id=call.id, name=call.name))
                continue
            result = answered_here(plan, discovery, offer)
            if result is None:
                out.append(HandledCall(call_id=call.id, name=told.name, arguments=plan.arguments))
                continue
            found: tuple[Tool, ...] = ()
            if plan.call.name == SEARCH_TOOL and plan.refusal is None:
                found = searched(asking, session_id, result, body.delivery)
            # Only a search has an answer of its own kind.
            way = body.delivery if plan.call.name == SEARCH_TOOL else "append"
            written, more = sent_result(result, way, body.form, call.id, found)
            notes += more
            out.append(
                HandledCall(
                    call_id=call.id,
                    name=told.name,
                    result=written,
                    is_error=result.is_error,
                    discovered=result.discovered,
                )
            )
        return HandledCalls(calls=tuple(out), notes=tuple(notes))

    return answer(await asking.run(handled))


def _read(record: JsonObject, where: str) -> ToolCall:
    """The call in an answer.

    Raises:
        RequestRefusedError: it is none.
    """
    try:
        return read_call(record)
    except (ValueError, TypeError, RecursionError):
        raise RequestRefusedError(f"{where} is no call of a tool as a model makes it.") from None


def _own(name: str) -> Tool:
    """Stands for a tool of the program.

    Raises:
        RequestRefusedError: no tool may have this name.
    """
    if name in RESERVED_NAMES or not PUBLIC_NAME.fullmatch(name):
        raise RequestRefusedError("'own' names tools as providers take them: letters, digits, '_' and '-'.")
    return PassedTool(raw_name=name, given_name=name)
