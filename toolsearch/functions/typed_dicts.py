"""`TypedDict` classes before Python 3.12, in the form that pydantic reads."""

from __future__ import annotations

import sys
import typing
from typing import Any

import typing_extensions

from toolsearch.functions.annotations import with_inner

_WRAPPERS = {typing.Required: True, typing.NotRequired: False}


def readable_by_pydantic(annotation: Any) -> Any:
    """`annotation` with every `TypedDict` inside replaced by an equal one that pydantic takes.

    Before Python 3.12 those of `typing` do not keep all that it has to know, and it refuses them.

    Raises:
        NameError: a field names a type that does not exist.
    """
    return annotation if sys.version_info >= (3, 12) else _readable(annotation, {})


def _readable(annotation: Any, made: dict[Any, Any]) -> Any:
    if typing_extensions.is_typeddict(annotation):
        return made[annotation] if annotation in made else _rebuilt(annotation, made)
    return with_inner(annotation, lambda inner: _readable(inner, made))


def _rebuilt(typed_dict: Any, made: dict[Any, Any]) -> Any:
    # Filled afterwards, since a field may hold the same type again.
    twin: Any = typing_extensions.TypedDict(typed_dict.__name__, {})  # type: ignore[misc]
    twin.__doc__, twin.__module__ = typed_dict.__doc__, typed_dict.__module__
    made[typed_dict] = twin
    required = set()
    for key, hint in typing.get_type_hints(typed_dict, include_extras=True).items():
        wrapper = typing.get_origin(hint)
        if _WRAPPERS.get(wrapper, key in typed_dict.__required_keys__):
            required.add(key)
        twin.__annotations__[key] = _readable(
            typing.get_args(hint)[0] if wrapper in _WRAPPERS else hint, made
        )
    twin.__required_keys__ = frozenset(required)
    twin.__optional_keys__ = frozenset(twin.__annotations__) - required
    return twin
