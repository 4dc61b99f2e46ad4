"""What servers ask of whoever calls them, in the middle of a call: for words of a user, or of a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import mcp_types as types

from toolsearch.sources.mcp.config import McpServerConfig

Question: TypeAlias = types.ElicitRequestParams | types.CreateMessageRequestParams
Reply: TypeAlias = (
    types.ElicitResult | types.CreateMessageResult | types.CreateMessageResultWithTools | types.ErrorData
)
OnQuestion: TypeAlias = Callable[[str, Question], Awaitable[Reply]]
"""Given the name of a server and what it asks: what it is told. It raises nothing."""


def question_callbacks(
    config: McpServerConfig, on_question: OnQuestion | None, pause: Callable[[], AbstractContextManager[None]]
) -> dict[str, Any]:
    """The callbacks of a session for what its server may ask; of anything else it is told that it may not.

    A server is told at its greeting what it may ask for, so nothing is promised that is not given. While it
    waits for a reply, `pause` is held.
    """
    if on_question is None:
        return {}
    ask = on_question

    async def callback(context: Any, params: Question) -> Reply:
        del context
        with pause():
            return await ask(config.name, params)

    return {f"{what}_callback": callback for what in config.settings.asks}
