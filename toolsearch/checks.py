"""Checks of what callers give, each with the one text of its error."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any, get_args

from toolsearch.naming import near_names

_SHOWN = 60


def shown(value: object) -> str:
    """`value` as messages show it: its repr, or what kind of thing it is where that says more."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str):
        return f"the text {value!r:.{_SHOWN}}"
    kind = type(value).__name__
    # Not an u: most types that begin with one are spoken like UserMessage.
    return f"{'an' if kind[0] in 'aeioAEIO' else 'a'} {kind}"


def brief(value: object) -> str:
    """The repr of `value`, cut to 60 characters."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def check_choice(name: str, value: object, choices: Any) -> None:
    """Does nothing where `value` is one of `choices`, a `Literal` or a collection of texts.

    Raises:
        ValueError: it is not; lists them.
    """
    allowed: tuple[object, ...] = get_args(choices) or tuple(choices)
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(str, allowed))}.")


def check_whole(
    name: str, value: Any, *, least: int = 1, most: int | None = None, or_none: bool = False
) -> None:
    """Does nothing where `value` is a whole number from `least` to `most`, or None where that is allowed.

    Raises:
        TypeError: it is no whole number; a bool and a float are none.
        ValueError: it is out of range.
    """
    if or_none and value is None:
        return
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    wanted = f"it must be a whole number {bounds}{', or None' if or_none else ''}."
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole:
        raise TypeError(f"{name} is {shown(value)}; {wanted}")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{name} is {value}; {wanted}")


def check_number(name: str, value: Any, *, zero: bool = False, or_none: bool = False) -> None:
    """Does nothing where `value` is a number above 0, infinity too; 0 or None where that is allowed.

    Raises:
        TypeError: it is no number; a bool is none.
        ValueError: it is out of range, or not a number (NaN).
    """
    if or_none and value is None:
        return
    bounds = "of at least 0" if zero else "above 0"
    wanted = f"it must be a number {bounds}{', or None' if or_none else ''}."
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number:
        raise TypeError(f"{name} is {shown(value)}; {wanted}")
    # NaN is neither.
    if not (value > 0 or (zero and value == 0)):
        raise ValueError(f"{name} is {value}; {wanted}")


def check_has(name: str, value: object, attributes: Iterable[str], advice: str) -> None:
    """Does nothing where `value` is an object with all of `attributes`.

    Raises:
        TypeError: it is not; `advice` says what to give.
    """
    if isinstance(value, type) or any(not hasattr(value, attribute) for attribute in attributes):
        raise TypeError(f"{name} is {shown(value)}. Give {advice}.")


def check_collection(name: str, value: object) -> None:
    """Does nothing where `value` can be gone through and is no text.

    Raises:
        TypeError: it cannot be, or is one text, whose letters would be taken one by one.
    """
    if isinstance(value, str):
        raise TypeError(f"{name} is the text {value!r}. Give a collection, such as [{value!r}].")
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} is {shown(value)}. Give a collection, such as a list.")


def check_known(what: str, given: Iterable[str], known: Collection[str]) -> None:
    """Does nothing where every name of `given` is known.

    Raises:
        TypeError: for the first that is not, with those that come near, or all.
    """
    for name in given:
        if name not in known:
            near = near_names(name, known)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
            raise TypeError(f"There is no {what} {name!r}. {hint}")
