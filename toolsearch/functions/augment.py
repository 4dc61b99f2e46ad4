"""`augment`: more arguments for the model to fill, which go to the program instead of the tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from toolsearch.exceptions import DefinitionError, ToolArgumentsError
from toolsearch.functions.problems import problems_of
from toolsearch.functions.running import run
from toolsearch.functions.schemas import input_schema_of
from toolsearch.schema import inline_refs
from toolsearch.tools import JsonObject, Tool, ToolContext, ToolInvocation

Fields = TypeVar("Fields", bound=BaseModel)


@dataclass(frozen=True)
class Augmentation(Generic[Fields]):
    """What the model filled in beside the arguments of a call.

    Attributes:
        tool: Public name of the tool.
        fields: The added arguments.
        arguments: Those of the tool, not yet checked.
        context: That of the call.
    """

    tool: str
    fields: Fields
    arguments: JsonObject
    context: ToolContext


def augment(tool: Tool, fields: type[Fields], consumer: Callable[[Augmentation[Fields]], Any]) -> Tool:
    """`tool` with the fields of a pydantic model as further arguments, first in its input schema.

    On each call `consumer`, which may be async, is given what the model filled in; then the tool runs without
    it. Fields that do not fit are refused like any argument, before anything runs. Everything else about the
    tool stays.

    Raises:
        DefinitionError: the tool has an argument of that name, or cannot be called.
    """
    if tool.call is None:
        raise DefinitionError(tool.name, "it has no call, so added arguments could not be taken out again.")
    added = inline_refs(input_schema_of(fields))
    taken = [name for name in added["properties"] if name in tool.input_schema["properties"]]
    if taken:
        reason = f"it has an argument {taken[0]!r} already. Rename the added field."
        raise DefinitionError(tool.name, reason)
    schema = tool.input_schema | {"properties": added["properties"] | tool.input_schema["properties"]}
    required = [*added.get("required", ()), *tool.input_schema.get("required", ())]
    if required:
        schema["required"] = required
    call = _AugmentedCall(tool.name, tool.call, fields, frozenset(added["properties"]), consumer)
    return replace(tool, input_schema=schema, call=call)


@dataclass(frozen=True)
class _AugmentedCall(Generic[Fields]):
    tool: str
    call: ToolInvocation
    fields: type[Fields]
    names: frozenset[str]
    consumer: Callable[[Augmentation[Fields]], Any]

    async def __call__(self, arguments: JsonObject, context: ToolContext | None = None) -> Any:
        given = ToolContext() if context is None else context
        added = {name: value for name, value in arguments.items() if name in self.names}
        own = {name: value for name, value in arguments.items() if name not in self.names}
        try:
            fields = self.fields.model_validate_json(json.dumps(added))
        except ValidationError as exc:
            raise ToolArgumentsError(self.tool, problems_of(exc, added, tuple(self.names))) from exc
        await run(self.consumer, Augmentation(self.tool, fields, own, given))
        return await self.call(own, given)
