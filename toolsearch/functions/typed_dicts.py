"""`typing.TypedDict` classes before Python 3.12, in the form that pydantic reads."""

from __future__ import annotations

import sys
import types
import typing
from functools import reduce
from operator import or_
from typing import Any

import typing_extensions

SUPPORTED = sys.version_info >= (3, 12)


def readable_by_pydantic(annotation: Any) -> Any:
    """`annotation` with every `typing.TypedDict` inside replaced by an equal one of `typing_extensions`.

    Before Python 3.12 those of `typing` do not keep what pydantic has to know, and it refuses them.
    """
    if SUPPORTED:
        return annotation
    if isinstance(annotation, typing._TypedDictMeta):  # type: ignore[attr-defined]
        return _rebuilt(annotation)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(readable_by_pydantic(arguments[0]), *annotation.__metadata__)]
    mended = tuple(each if isinstance(each, list) else readable_by_pydantic(each) for each in arguments)
    if mended == arguments:
        return annotation
    return (
        reduce(or_, mended)
        if origin is types.UnionType
        else annotation.copy_with(mended)
        if hasattr(annotation, "copy_with")
        else origin[mended]
    )


def _rebuilt(typed_dict: Any) -> Any:
    hints = typing.get_type_hints(typed_dict, include_extras=True)
    fields = {}
    for key, hint in hints.items():
        required = key in typed_dict.__required_keys__
        wrapper = typing_extensions.Required if required else typing_extensions.NotRequired
        fields[key] = wrapper[readable_by_pydantic(_bare(hint))]
    made: Any = typing_extensions.TypedDict(typed_dict.__name__, fields)  # type: ignore[misc]
    made.__doc__ = typed_dict.__doc__
    made.__module__ = typed_dict.__module__
    return made


def _bare(hint: Any) -> Any:
    wrappers = {
        typing.Required,
        typing.NotRequired,
        typing_extensions.Required,
        typing_extensions.NotRequired,
    }
    return typing.get_args(hint)[0] if typing.get_origin(hint) in wrappers else hint
