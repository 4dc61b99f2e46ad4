"""`parse_arguments`: the arguments of a call, as the model wrote them, read as a JSON object."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from toolsearch.exceptions import ToolArgumentsError
from toolsearch.tools import JsonObject

_LEVELS = 3
_SHOWN = 80


def parse_arguments(text: str, *, tool: str = "") -> JsonObject:
    """The JSON object that `text` holds; empty text and ``null`` are no arguments.

    An object that was encoded again as a JSON string is unpacked. Values inside are left as they are: text
    that looks like JSON stays text. The halves of a surrogate pair become one character, wherever a stream
    was cut between them.

    Raises:
        ToolArgumentsError: it holds no object; says where and what to write instead. `tool` is named in it.
    """
    value: Any = text
    for _ in range(_LEVELS):
        if not isinstance(value, str):
            break
        value = _decoded(value, tool)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _refusal(tool, f"They are {_KINDS[type(value)]}, not a JSON object.")
    arguments: JsonObject = value
    return arguments


def read_json(text: str, *, strict: bool = True) -> Any:
    """The value that `text` holds, every number in it finite.

    Raises:
        ValueError: it is no JSON, as ``NaN`` is none, or holds a number beyond every float.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, strict=strict, parse_constant=_refuse_constant, parse_float=_finite)


_KINDS = {str: "text", list: "a list", int: "a number", float: "a number", bool: "a boolean"}


def _decoded(text: str, tool: str) -> Any:
    if not text.strip():
        return None
    try:
        # Halves in the text itself come from a stream that was cut within an escape.
        value = read_json(_joined(text), strict=False)
        # Halves in the value come from an escape without its other half.
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _refusal(tool, "They hold half of a surrogate pair, which is no character.") from None
    except json.JSONDecodeError as exc:
        near = text[max(exc.pos - _SHOWN // 2, 0) : exc.pos + _SHOWN // 2]
        raise _refusal(
            tool, f"They are not valid JSON: {exc.msg} at character {exc.pos}, near {near!r}."
        ) from exc
    except RecursionError:
        raise _refusal(tool, "They are nested too deeply.") from None
    except ValueError as exc:
        raise _refusal(tool, f"They are not valid JSON: {exc}.") from exc
    return value


def _refusal(tool: str, problem: str) -> ToolArgumentsError:
    return ToolArgumentsError(tool, (problem, 'Write one JSON object, such as {"name": "value"}.'))


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:_SHOWN]} is too large a number")
    return number


def _joined(text: str) -> str:
    """`text` with every two halves of a surrogate pair as the one character that they stand for."""
    return (
        text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    )
