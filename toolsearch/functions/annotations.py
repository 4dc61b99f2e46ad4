"""Annotations taken apart: what a name stands for, and types inside of types."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import typing_extensions

# From Python 3.12 on these are two classes, unless both packages agree.
_ALIASES: tuple[type[Any], ...] = (
    typing_extensions.TypeAliasType,
    getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType),
)


def unaliased(annotation: Any) -> Any:
    """What `annotation` is called another name of: by an alias, a `NewType`, a `TypeVar` with a bound."""
    while True:
        origin: Any = typing.get_origin(annotation)
        if isinstance(annotation, _ALIASES):
            annotation = annotation.__value__
        elif isinstance(origin, _ALIASES):
            annotation = origin.__value__[typing.get_args(annotation)]
        elif isinstance(annotation, typing.NewType):
            annotation = annotation.__supertype__
        elif isinstance(annotation, typing.TypeVar) and annotation.__bound__ is not None:
            annotation = annotation.__bound__
        else:
            return annotation


def checked_at_once(annotation: Any) -> Any:
    """`annotation` with lists for iterables, which pydantic checks only as they are run through."""
    if annotation in (typing.Iterable, collections.abc.Iterable):
        return list
    if typing.get_origin(annotation) is collections.abc.Iterable:
        return list[checked_at_once(typing.get_args(annotation)[0])]  # type: ignore[misc]
    return with_inner(annotation, checked_at_once)


def with_inner(annotation: Any, change: Callable[[Any], Any]) -> Any:
    """`annotation` with each type directly inside of it as `change` makes it."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not arguments or origin is typing.Literal:
        return annotation
    if origin is typing.Annotated:
        return typing.Annotated[(change(arguments[0]), *annotation.__metadata__)]
    changed = tuple(each if isinstance(each, list) else change(each) for each in arguments)
    if changed == arguments:
        return annotation
    if origin is types.UnionType:
        return reduce(or_, changed)
    return annotation.copy_with(changed) if hasattr(annotation, "copy_with") else origin[changed]
