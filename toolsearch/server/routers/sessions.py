"""Sessions: what each conversation has discovered, and the tools that it sends to its model."""

from __future__ import annotations

import json
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from toolsearch.api.base import SESSION_ID, Form
from toolsearch.api.sessions import (
    ForgetBody,
    NewSession,
    Receipt,
    RenderBody,
    SearchCall,
    SearchCallResult,
    SessionEntry,
    SessionTools,
    ToolNamesBody,
    Way,
)
from toolsearch.api.tools import Definitions
from toolsearch.exceptions import RequestRefusedError
from toolsearch.formats.bounded import bounded
from toolsearch.messages import TextPart, ToolResult
from toolsearch.naming import RESERVED_NAMES
from toolsearch.retrieval.base import SearchResult
from toolsearch.server.answers import answer
from toolsearch.server.asking import Asking, Searching
from toolsearch.server.rounds import SessionEvent
from toolsearch.server.sent import DELIVERIES, SentTools, Told, check_delivery, sent_result, sent_tools
from toolsearch.server.written import served_tools
from toolsearch.telemetry.receipt import search_receipt
from toolsearch.tokens import catalog_tokens, count_tokens, wire_json
from toolsearch.tools import Tool

router = APIRouter(prefix="/v1", tags=["sessions"])

SessionPath = Annotated[str, Path(pattern=SESSION_ID, examples=["ticket-4711"])]


@router.post(
    "/sessions",
    response_model=SessionEntry,
    status_code=201,
    responses={201: {"headers": {"Location": {"schema": {"type": "string"}}}}},
    summary="Begin a session",
    operation_id="create_session",
)
async def create_session(asking: Searching, new: NewSession | None = None) -> Response:
    """A session with the id that was asked for, or a new one.

    Sessions are kept by tenant. One that is not known, or no longer, has discovered nothing: that is no
    error, so a conversation outlives its session.
    """
    session_id = (new and new.id) or uuid4().hex
    entry = await asking.run(_entry, asking, session_id)
    return answer(entry, 201, {"Location": f"/v1/sessions/{session_id}"})


@router.get(
    "/sessions/{session_id}", response_model=SessionEntry, summary="Get a session", operation_id="get_session"
)
async def get_session(session_id: SessionPath, asking: Searching) -> Response:
    """What the session has discovered, in the order in which it found it."""
    return answer(await asking.run(_entry, asking, session_id))


@router.delete(
    "/sessions/{session_id}", status_code=204, summary="End a session", operation_id="delete_session"
)
async def delete_session(session_id: SessionPath, asking: Searching) -> Response:
    """Forget all of it."""

    def forgotten() -> None:
        session = asking.session(session_id)
        session.store.forget(session_id, asking.caller.tenant)
        Told.of(session).forget()
        asking.service.rounds.drop(asking.caller.tenant, session_id)
        if asking.service.learning is not None:
            asking.service.learning.forget_session(asking.caller.tenant, session_id)

    await asking.run(forgotten)
    return Response(status_code=204)


@router.get(
    "/sessions/{session_id}/tools",
    response_model=SessionTools,
    summary="Tools for the next round",
    operation_id="session_tools",
)
async def session_tools(
    session_id: SessionPath, asking: Searching, form: Form = "openai_chat", delivery: Way = "append"
) -> Response:
    """``tool_search``, the pinned tools, then the discovered ones in first-seen order.

    With ``bridge`` the list is ``tool_search`` and ``call_tool``, whatever is discovered. With ``native``, of
    the forms ``anthropic`` and ``openai_responses``, it is what the provider's own tool search needs.
    """
    check_delivery(delivery, form)

    def rendered() -> SessionTools:
        discovery = asking.discovery(session_id, DELIVERIES[delivery])
        offer = discovery.offer()
        sent = sent_tools(discovery, offer, form, Told.of(asking.session(session_id)))
        _record_tools(asking, session_id, sent.seen, form, delivery)
        return SessionTools(
            form=form,
            delivery=delivery,
            tools=sent.written,
            instructions=discovery.instructions,
            discovered=tuple(tool.name for tool in offer.loaded),
        )

    return answer(await asking.run(rendered))


@router.post(
    "/sessions/{session_id}/search",
    response_model=SearchCallResult,
    summary="Carry out a call of tool_search",
    operation_id="session_search",
)
async def session_search(session_id: SessionPath, call: SearchCall, asking: Searching) -> Response:
    """The result of the model's search; what it finds is discovered. What is wrong with the call is told to
    the model, in the result."""
    check_delivery(call.delivery, call.form)
    if call.form is not None and not call.call_id:
        raise RequestRefusedError("A result in a form needs the call_id of the call.")

    def result_of_call() -> SearchCallResult:
        result = asking.discovery(session_id, DELIVERIES[call.delivery]).search(call.arguments)
        found = searched(asking, session_id, result, call.delivery)
        text = text_of(result)
        told = SearchCallResult(text=text, is_error=result.is_error, discovered=result.discovered)
        if call.form is None:
            return told
        written, notes = sent_result(result, call.delivery, call.form, call.call_id, found)
        return told.model_copy(update={"result": written, "notes": notes})

    return answer(await asking.run(result_of_call))


@router.post(
    "/sessions/{session_id}/load",
    response_model=SessionEntry,
    summary="Discover tools by name",
    operation_id="load_tools",
)
async def load_tools(session_id: SessionPath, body: ToolNamesBody, asking: Searching) -> Response:
    """Add these tools to what the session has discovered; all of them, or none where one is not there."""

    def loaded() -> SessionEntry:
        tools = asking.visible().tools(body.names)
        discovery = asking.discovery(session_id, wanted=tuple(tool.name for tool in tools))
        event = SessionEvent(kind="load", names=_names(tools))
        asking.service.rounds.add(asking.caller.tenant, session_id, event)
        return SessionEntry(id=session_id, discovered=_names(discovery.offer().loaded))

    return answer(await asking.run(loaded))


@router.post(
    "/sessions/{session_id}/forget",
    response_model=SessionEntry,
    summary="Forget tools",
    operation_id="forget_tools",
)
async def forget_tools(session_id: SessionPath, body: ForgetBody, asking: Searching) -> Response:
    """Drop these tools from what the session has discovered, or all of them. Others are passed over."""

    def forgotten() -> SessionEntry:
        session = asking.session(session_id)
        session.store.forget(session_id, asking.caller.tenant, body.names)
        Told.of(session).forget(body.names)
        event = SessionEvent(kind="forget", names=body.names or ())
        asking.service.rounds.add(asking.caller.tenant, session_id, event)
        return _entry(asking, session_id)

    return answer(await asking.run(forgotten))


@router.get(
    "/sessions/{session_id}/receipt",
    response_model=Receipt,
    summary="Token receipt",
    operation_id="session_receipt",
)
async def session_receipt(
    session_id: SessionPath,
    asking: Searching,
    delivery: Annotated[Way, Query(description="How discovered tools are sent.")] = "append",
) -> Response:
    """What the tools of the session cost in each round, and what the whole catalog would cost."""

    def receipt() -> Receipt:
        # What the model does not see costs nothing, and this form has no place for it.
        sent = catalog_tokens(_sent(asking, session_id, delivery, "openai_responses").seen)
        view = asking.visible()
        return Receipt(
            session_id=session_id,
            sent=sent,
            sent_tokens=sum(sent.values()),
            catalog_tools=len(view),
            catalog_tokens=view.tokens,
            spared_tokens=view.tokens - sum(sent.values()),
        )

    return answer(await asking.run(receipt))


@router.post("/render", response_model=Definitions, summary="Write tools in a form", operation_id="render")
async def render(body: RenderBody, asking: Searching) -> Response:
    """The definitions of tools by name, or those that a session sends, in the form of any provider."""
    if (body.names is None) == (body.session_id is None):
        raise RequestRefusedError("Give either names or a session_id.")
    if body.session_id is not None:
        check_delivery(body.delivery, body.form)

    def written() -> Definitions:
        if body.session_id is None:
            tools = asking.visible().tools(body.names or ())
            written = served_tools(map(bounded, tools), body.form)
        else:
            sent = _sent(asking, body.session_id, body.delivery, body.form)
            tools, written = sent.seen, sent.written
        tokens = sum(catalog_tokens(tools).values())
        compact = json.dumps(written, separators=(",", ":"), ensure_ascii=False)
        return Definitions(form=body.form, tools=written, tokens=tokens, form_tokens=count_tokens(compact))

    return answer(await asking.run(written))


def _sent(asking: Asking, session_id: str, delivery: Way, form: Form) -> SentTools:
    """The tools of the next round, as they are sent."""
    discovery = asking.discovery(session_id, DELIVERIES[delivery])
    return sent_tools(discovery, discovery.offer(), form, Told.of(asking.session(session_id)))


def _record_tools(asking: Asking, session_id: str, tools: tuple[Tool, ...], form: str, delivery: str) -> None:
    """A round begins: these tools are sent."""
    built_in = [tool for tool in tools if tool.name in RESERVED_NAMES]
    event = SessionEvent(
        kind="tools",
        names=tuple(tool.name for tool in tools if tool.name not in RESERVED_NAMES),
        built_in=_names(tuple(built_in)),
        form=form,
        delivery=delivery,
    )
    text = "".join(wire_json(tool.definition) for tool in built_in)
    asking.service.rounds.add(asking.caller.tenant, session_id, event, text=text)


def searched(asking: Asking, session_id: str, result: ToolResult, delivery: Way) -> tuple[Tool, ...]:
    """The tools that a search of a session found, of which note is taken: it counts as used like any other
    search, and with ``native`` the provider is told of them."""
    receipt, found = search_receipt(result), result.discovered
    event = SessionEvent(kind="search", queries=receipt.queries, names=found, is_error=result.is_error)
    asking.service.rounds.add(asking.caller.tenant, session_id, event, text=text_of(result))
    if asking.service.learning is not None:
        asking.service.learning.searched(asking.caller.tenant, session_id, result)
    if result.is_error:
        return ()
    if delivery == "native":
        Told.of(asking.session(session_id)).add(result)
    view = asking.visible()
    tokens = view.tokens_of(found)
    returned = sum(tokens.values())
    told = SearchResult(
        nothing_fits=receipt.nothing_fits, returned_tokens=returned, spared_tokens=view.tokens - returned
    )
    asking.service.usage.searched(asking.caller.tenant, told)
    return view.tools(tokens)


def text_of(result: ToolResult) -> str:
    """What a result says to the model."""
    return "".join(part.text for part in result.content if isinstance(part, TextPart))


def _entry(asking: Asking, session_id: str) -> SessionEntry:
    return SessionEntry(id=session_id, discovered=_names(asking.discovery(session_id).offer().loaded))


def _names(tools: tuple[Tool, ...]) -> tuple[str, ...]:
    return tuple(tool.name for tool in tools)
