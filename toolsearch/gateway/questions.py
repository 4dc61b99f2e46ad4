"""What a server behind a gateway asks in the middle of a call, asked of the client that made it."""

from __future__ import annotations

from collections.abc import Sequence

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from toolsearch.gateway.clients import Flight, Request
from toolsearch.sources.mcp.asking import Question, Reply


async def asked(server: str, question: Question, flights: Sequence[Flight]) -> Reply:
    """The client's reply; an error for the server where there is nobody to ask.

    A question does not say which call it belongs to, so while several clients call the server none is asked.
    Whoever reads it is told which server asks, and the server is given nothing but the reply.
    """
    if not flights:
        return _refusal("No client calls this server, so nobody can be asked.")
    if len({flight.client or flight for flight in flights}) > 1:
        return _refusal("Several clients call this server, and none of them can be asked.")
    request = flights[-1].request
    reason = _why_not(request, question)
    if reason:
        return _refusal(f"The client cannot be asked: {reason}.")
    metadata = ServerMessageMetadata(related_request_id=request.request_id)
    try:
        if isinstance(question, types.CreateMessageRequestParams):
            return await request.session.send_request(
                types.CreateMessageRequest(params=_without_context(question)),
                types.CreateMessageResultWithTools if question.tools else types.CreateMessageResult,
                metadata=metadata,
            )
        told = question.model_copy(update={"message": f"[{server}] {question.message}"})
        return await request.session.send_request(
            types.ElicitRequest(params=told), types.ElicitResult, metadata=metadata
        )
    except MCPError as exc:
        return types.ErrorData(code=exc.code, message=exc.message, data=exc.data)
    except ValidationError:
        return _refusal("The client replied with something that MCP does not allow.")


def _why_not(request: Request, question: Question) -> str:
    """Why this client cannot be asked that; empty where it can."""
    if not request.session.can_send_request:
        return "by its version or transport of MCP, servers send it no requests"
    able = request.session.client_capabilities or types.ClientCapabilities()
    if isinstance(question, types.CreateMessageRequestParams):
        if able.sampling is None:
            return "it does not take sampling"
        if question.tools and able.sampling.tools is None:
            return "it does not take tools in sampling"
        return ""
    if able.elicitation is None:
        return "it does not take elicitation"
    if isinstance(question, types.ElicitRequestURLParams) and able.elicitation.url is None:
        return "it does not take elicitation by URL"
    return ""


def _without_context(question: types.CreateMessageRequestParams) -> types.CreateMessageRequestParams:
    """The question without the wish to have other messages of the client added, which are of all servers."""
    return question.model_copy(update={"include_context": None})


def _refusal(message: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=message)
