"""Values checked against schemas from elsewhere, in a time that no pattern of theirs can stretch.

Python's `re` takes exponential time for a pattern such as ``^(a+)+$``, and holds up every thread meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolsearch.schema.keywords import quiet_regex, subschemas
from toolsearch.tools import JsonObject

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_BUDGET_S = 0.1
_SHOWN = 60


@dataclass
class _Budget:
    left_s: float = _BUDGET_S


_BUDGET: ContextVar[_Budget] = ContextVar("_BUDGET")


class _TooSlowError(Exception):
    pass


def bounded_validator(kind: type[Validator], schema: JsonObject, **settings: Any) -> Validator:
    """A validator of the class `kind`, for `find_errors`.

    Patterns take linear time, and mean what they mean in ECMA-262. Those with look-around or references back,
    which cannot, share a tenth of a second. ``unevaluatedProperties`` is not checked in a schema that has
    ``patternProperties`` too.

    Args:
        settings: As of `kind`.
    """
    from jsonschema import validators

    rules: dict[str, Any] = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _additional(kind.VALIDATORS["additionalProperties"]),
    }
    if "unevaluatedProperties" in kind.VALIDATORS and _has_pattern_properties(schema):
        rules["unevaluatedProperties"] = _check_nothing
    bounded: Any = validators.extend(kind, rules)  # type: ignore[no-untyped-call]
    validator: Validator = bounded(schema, **settings)
    return validator


def find_errors(validator: Validator, value: Any) -> list[ValidationError]:
    """What `validator` finds wrong with `value`, in no special order; one error where that takes too long."""
    from jsonschema.exceptions import ValidationError

    token = _BUDGET.set(_Budget())
    try:
        return list(validator.iter_errors(value))
    except _TooSlowError as exc:
        return [ValidationError(f"It takes too long to compare a text of it with the pattern {exc}")]
    finally:
        _BUDGET.reset(token)


def _check_pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError

    del schema
    if validator.is_type(instance, "string") and not _finder(pattern)(instance):
        yield ValidationError(f"{_shown(instance)} does not match {pattern!r}")


def _check_pattern_properties(
    validator: Any, patterns: JsonObject, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    del schema
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if _finder(pattern)(name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional(check: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    """``additionalProperties``, given only those that fit no pattern."""

    def checked(validator: Any, rule: Any, instance: Any, schema: JsonObject) -> Iterator[ValidationError]:
        patterns = schema.get("patternProperties", ())
        if patterns and validator.is_type(instance, "object"):
            fitting = {name for name in instance for pattern in patterns if _finder(pattern)(name)}
            instance = {name: value for name, value in instance.items() if name not in fitting}
            schema = {key: value for key, value in schema.items() if key != "patternProperties"}
        yield from check(validator, rule, instance, schema) or ()

    return checked


def _check_nothing(*given: Any) -> tuple[()]:
    del given
    return ()


def _has_pattern_properties(schema: Any) -> bool:
    return isinstance(schema, dict) and (
        "patternProperties" in schema or any(_has_pattern_properties(part) for _, part in subschemas(schema))
    )


@lru_cache(maxsize=1024)
def _finder(pattern: str) -> Callable[[str], bool]:
    """Says whether a text has a place that fits `pattern`."""
    try:
        return SchemaValidator(
            core_schema.str_schema(pattern=pattern, regex_engine="rust-regex")
        ).isinstance_python
    except SchemaError:
        return _slow_finder(pattern)


def _slow_finder(pattern: str) -> Callable[[str], bool]:
    import regex

    with quiet_regex():
        compiled = regex.compile(pattern)

    def finds(text: str) -> bool:
        budget = _BUDGET.get()
        start_s = time.thread_time()
        try:
            return compiled.search(text, timeout=budget.left_s) is not None
        except TimeoutError:
            raise _TooSlowError(repr(pattern)) from None
        finally:
            # Less than zero would be no limit.
            budget.left_s = max(budget.left_s - (time.thread_time() - start_s), 0.0)

    return finds


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")
