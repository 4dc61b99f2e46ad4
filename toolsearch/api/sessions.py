"""Sessions: what each conversation has discovered."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Form, Name, SessionId
from toolsearch.api.search import MAX_NAMES

Way: TypeAlias = Literal["append", "bridge"]
_Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_NAMES)]


class NewSession(Asked):
    """A session with this id, or one of the service's choice."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"id": "ticket-4711"}]})

    id: SessionId | None = None


class SessionEntry(Answered):
    """A session: the tools that it has discovered, in the order in which it found them."""

    id: str
    discovered: tuple[str, ...] = ()


class ToolNamesBody(Asked):
    """Public names of tools."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"names": ["mail__send_email"]}]})

    names: _Names


class ForgetBody(Asked):
    """Public names of tools; without them everything is forgotten."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"names": ["mail__send_email"]}, {}]})

    names: _Names | None = None


class SessionTools(Answered):
    """What to send to the model in the next round.

    Attributes:
        tools: In the form that was asked for; each list begins with the one of the round before.
        instructions: What the system message should say; empty where no tool is hidden.
        discovered: Of these tools, those that the session has discovered.
    """

    form: str
    delivery: str
    tools: Any
    instructions: str = ""
    discovered: tuple[str, ...] = ()


class SearchCall(Asked):
    """A call of ``tool_search`` as the model made it; the arguments are checked as those of the model."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"arguments": {"queries": ["refund an order"]}}]}
    )

    arguments: dict[str, Any]
    delivery: Way = "append"


class SearchCallResult(Answered):
    """The result of a search, for the model and for the program.

    Attributes:
        text: What to send to the model.
        is_error: Whether the call could not be carried out; `text` then tells the model why.
        discovered: Tools that are new to the session.
    """

    text: str
    is_error: bool = False
    discovered: tuple[str, ...] = ()


class RenderBody(Asked):
    """Which tools to write, and how: those of these names, in their order, or those of a session."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"names": ["mail__send_email"], "form": "anthropic"}]}
    )

    names: _Names | None = None
    session_id: SessionId | None = None
    form: Form = "openai_chat"
    delivery: Way = "append"


class Receipt(Answered):
    """What the tools of a session cost in each round, and what the whole catalog would."""

    session_id: str
    sent: dict[str, int]
    sent_tokens: int
    catalog_tools: int
    catalog_tokens: int
    spared_tokens: int
