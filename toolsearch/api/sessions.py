"""Sessions: what each conversation has discovered."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from toolsearch.api.base import Answered, Asked, Form, Name, SessionId, Text
from toolsearch.api.search import MAX_NAMES

Way: TypeAlias = Literal["append", "bridge", "native"]
"""How discovered tools reach the model."""

ProviderForm: TypeAlias = Literal["openai_chat", "openai_responses", "anthropic"]
"""Forms of requests to a model, which have a place for results of calls."""

CallId: TypeAlias = Annotated[Text, Field(max_length=256)]
_Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_NAMES)]


class NewSession(Asked):
    """A session with this id, or one of the service's choice.

    Attributes:
        id: Letters, digits and ``._:~-``; no ``/``, and no dot first.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"id": "ticket-4711"}]})

    id: SessionId | None = None


class SessionEntry(Answered):
    """A session: the tools that it has discovered, in the order in which it found them.

    Attributes:
        id: Of the session.
        discovered: Public names.
    """

    id: str
    discovered: tuple[str, ...] = ()


class ToolNamesBody(Asked):
    """Public names of tools.

    Attributes:
        names: As a search gives them.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"names": ["mail__send_email"]}]})

    names: _Names


class ForgetBody(Asked):
    """Public names of tools; without them everything is forgotten.

    Attributes:
        names: As a search gives them; None for all.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"names": ["mail__send_email"]}, {}]})

    names: _Names | None = None


class SessionTools(Answered):
    """What to send to the model in the next round.

    Attributes:
        tools: In the form that was asked for; each list begins with the one of the round before. With
            ``native`` those of Anthropic that are hidden are among them, with ``defer_loading``.
        instructions: What the system message should say; empty where no tool is hidden.
        discovered: Of these tools, those that the session has discovered.
        form: That of `tools`.
        delivery: How discovered tools reach the model.
    """

    form: str
    delivery: str
    tools: Any
    instructions: str = ""
    discovered: tuple[str, ...] = ()


class SearchCall(Asked):
    """A call of ``tool_search`` as the model made it; the arguments are checked as those of the model.

    Attributes:
        arguments: Those of the call, as an object.
        delivery: How discovered tools reach the model.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"arguments": {"queries": ["refund an order"]}},
                {
                    "arguments": {"queries": ["refund an order"]},
                    "delivery": "native",
                    "form": "anthropic",
                    "call_id": "toolu_01A09q90qw90lq917835lq9",
                },
            ]
        }
    )

    arguments: dict[str, Any]
    delivery: Way = "append"
    form: ProviderForm | None = Field(default=None, description="Have the result in this form, too.")
    call_id: CallId = Field(default="", description="The id of the call, for a result in a form.")


class SearchCallResult(Answered):
    """The result of a search, for the model and for the program.

    Attributes:
        text: What to send to the model.
        is_error: Whether the call could not be carried out; `text` then tells the model why.
        discovered: Tools that are new to the session.
        result: The same in the form that was asked for, under the id of the call: a message, an item of the
            input, or for Anthropic a block of a user message. With ``native`` it refers to the tools, or
            brings them, instead of telling the text.
        notes: Items for the place after all results of the answer: what `result` has no room for.
    """

    text: str
    is_error: bool = False
    discovered: tuple[str, ...] = ()
    result: dict[str, Any] | None = None
    notes: tuple[dict[str, Any], ...] = ()


class AnswerCalls(Asked):
    """The calls of one answer of the model, each as it came.

    Attributes:
        own: Tools of the program beside the catalog; their calls are the program's to run.
        form: That of the answer, and of what is sent back.
        calls: As the answer of the model has them.
        delivery: How discovered tools reach the model.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "form": "anthropic",
                    "calls": [
                        {
                            "type": "tool_use",
                            "id": "toolu_01A09q90qw90lq917835lq9",
                            "name": "tool_search",
                            "input": {"queries": ["refund an order"]},
                        }
                    ],
                    "delivery": "native",
                },
                {
                    "form": "openai_chat",
                    "calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {
                                "name": "call_tool",
                                "arguments": '{"name": "mail__send_email", "arguments": {"to": "Ann"}}',
                            },
                        }
                    ],
                    "delivery": "bridge",
                },
            ]
        }
    )

    form: ProviderForm
    calls: Annotated[tuple[dict[str, Any], ...], Field(min_length=1, max_length=128)]
    delivery: Way = "append"
    own: Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES)] = ()


class HandledCall(Answered):
    """What becomes of a call: the service has answered it, or it is for the program to run.

    Attributes:
        call_id: Of the call.
        name: The tool that is meant: with ``bridge`` the one inside.
        arguments: To run it with; nothing for a call that is answered, or that takes a text.
        result: The answer in the form of the calls: a message, an item of the input, or for Anthropic a block
            of a user message. Nothing for a call that is to be run.
        is_error: Whether the answer tells the model what was wrong with its call.
        discovered: Tools that the call made known to the session.
    """

    call_id: str
    name: str
    arguments: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    is_error: bool = False
    discovered: tuple[str, ...] = ()


class HandledCalls(Answered):
    """What becomes of the calls of an answer, in their order.

    Attributes:
        notes: Items for the place after all results: what these have no room for.
        calls: What becomes of each.
    """

    calls: tuple[HandledCall, ...]
    notes: tuple[dict[str, Any], ...] = ()


class RenderBody(Asked):
    """Which tools to write, and how: those of these names, in their order, or those of a session.

    Attributes:
        names: Public names; either these or a session.
        session_id: Of the session whose tools to write.
        form: To write them in.
        delivery: How discovered tools reach the model.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"names": ["mail__send_email"], "form": "anthropic"}]}
    )

    names: _Names | None = None
    session_id: SessionId | None = None
    form: Form = "openai_chat"
    delivery: Way = "append"


class Receipt(Answered):
    """What the tools of a session cost in each round, and what the whole catalog would.

    Attributes:
        session_id: Of the session.
        sent: Public names of what is sent, with the tokens of each.
        sent_tokens: Of all that is sent.
        catalog_tools: How many tools there are.
        catalog_tokens: Of all tools that there are.
        spared_tokens: Of those that are not sent.
    """

    session_id: str
    sent: dict[str, int]
    sent_tokens: int
    catalog_tools: int
    catalog_tokens: int
    spared_tokens: int
