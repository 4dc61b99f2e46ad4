"""A tool: the definition that a model sees, and what the program keeps beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import CoreSchema, core_schema

from toolsearch.checks import check_number
from toolsearch.exceptions import DefinitionError, RunningLoopError
from toolsearch.naming import RESERVED_NAMES, public_name

JsonObject: TypeAlias = dict[str, Any]


def empty_schema() -> JsonObject:
    """The input schema of a tool without arguments, in the form that every provider accepts."""
    return {"type": "object", "properties": {}}


class ToolDefinition(BaseModel):
    """What a model sees of a tool.

    `name` is the public name and fits ``^[a-zA-Z0-9_-]{1,64}$``; `input_schema` is a JSON Schema
    (draft 2020-12) of type ``object`` with ``properties``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    description: str = ""
    input_schema: JsonObject = Field(default_factory=empty_schema)
    output_schema: JsonObject | None = None
    title: str = ""


@dataclass(frozen=True)
class ToolContext:
    """What a running tool may know of the conversation. Never in a schema, never sent to a model.

    Attributes:
        session_id: The conversation; empty for none.
        call_id: The model's id of this call.
        tenant: On whose behalf; empty where there is only one.
        state: Whatever the program hands to its tools.
    """

    session_id: str = ""
    call_id: str = ""
    tenant: str = ""
    state: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        """That of an instance: no input schema describes a type that holds one, no arguments make one."""
        del source, handler
        return core_schema.is_instance_schema(cls)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: Any) -> NoReturn:
        del schema, handler
        raise PydanticInvalidForJsonSchema("it holds a ToolContext, which no model may see or set")


ToolInvocation: TypeAlias = Callable[[JsonObject, ToolContext], Awaitable[Any]]
"""Runs a tool: ``await call(arguments, context)`` gives a `messages.ToolResult`, or what can be made one."""


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool as its source lists it. Its public name is `definition.name`, derived and never stored.

    Attributes:
        raw_name: The name that the source knows, not blank; calls go out under it.
        source: The tool source, such as a server's name; empty for local tools.
        id: What tells apart tools of one source that share a raw name; empty where none do.
        prefix: What its public name begins with in place of `source`, nothing if it is empty; None for
            `source`. Whoever sets it sees to it that no two sources of a catalog have the same.
        description: As the source wrote it; may be empty.
        input_schema: A checked JSON Schema of type ``object`` with ``properties``.
        output_schema: The schema of structured results, where the source states one.
        title: A name for people, where the source states one.
        tags: Categories, in the source's order.
        search_hint: Words that only the search sees, such as MCP's ``_meta`` ``searchHint``.
        pinned: Sent to the model in every round, discovered or not.
        read_only, destructive: What the source claims; None where it says nothing.
        return_direct: The result goes to the caller, not back to the model.
        timeout_s: Seconds that a call may take, `math.inf` for any number; None leaves it to who runs it.
        meta: Whatever else the source said, kept for writing the tool back.
        call: How to run it; None for a tool that is only known by its definition. Arguments that do not fit
            raise `ToolArgumentsError` before anything runs. Of a tool made from Python it may be given no
            context, and gives a `messages.ToolResult`.

    Raises:
        DefinitionError: the raw name is blank, or `timeout_s` is no number above 0.
    """

    raw_name: str
    source: str = ""
    id: str = ""
    prefix: str | None = None
    description: str = ""
    input_schema: JsonObject = field(default_factory=empty_schema)
    output_schema: JsonObject | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    search_hint: str = ""
    pinned: bool = False
    read_only: bool | None = None
    destructive: bool | None = None
    return_direct: bool = False
    meta: JsonObject = field(default_factory=dict)
    timeout_s: float | None = field(default=None, compare=False)
    call: ToolInvocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.raw_name.strip():
            raise DefinitionError(self.raw_name, "a tool needs a name.")
        try:
            check_number("timeout_s", self.timeout_s, or_none=True)
        except (TypeError, ValueError) as exc:
            raise DefinitionError(self.name, str(exc)) from None

    @cached_property
    def name(self) -> str:
        """The public name, unique for source, raw name and id."""
        begins = self.source if self.prefix is None else self.prefix
        variant = self.id
        if self.source and not begins and self.raw_name in RESERVED_NAMES:
            # No source takes the name of a built-in tool.
            variant = variant or self.source
        return public_name(begins, self.raw_name, variant=variant)

    @cached_property
    def definition(self) -> ToolDefinition:
        """What a model sees of this tool."""
        return ToolDefinition(
            name=self.name,
            description=self.description,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
            title=self.title,
        )

    def call_sync(self, arguments: JsonObject, context: ToolContext | None = None) -> Any:
        """What awaiting `call` gives, for callers without an event loop.

        Raises:
            DefinitionError: the tool has no `call`.
            RunningLoopError: there is an event loop in this thread; await `call` there.
            Exception: as `call`, such as `ToolArgumentsError`.
        """
        if self.call is None:
            raise DefinitionError(self.name, "it has no `call`: only its definition is known. Give it one.")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_awaited(self.call(arguments, context or ToolContext())))
        raise RunningLoopError("call_sync", "call")


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
