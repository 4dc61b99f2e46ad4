"""``${VAR}`` and ``${VAR:-default}`` in the texts of a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


class MissingVariableError(LookupError):
    """A text names a variable that is not set and gives no default; `name` is that variable."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"the environment variable {name} is not set. Set it, or write ${{{name}:-default}}")


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """`text` with the values of the variables that it names.

    A default also stands in for a variable that is empty, as in a shell. Nothing within a value is expanded
    again. Anything else with a dollar sign stays as it is.

    Raises:
        MissingVariableError: for the first variable that is not set and has no default.
    """

    def value(found: re.Match[str]) -> str:
        name, default = found["name"], found["default"]
        if default is not None:
            return environment.get(name) or default
        if name not in environment:
            raise MissingVariableError(name)
        return environment[name]

    return _REFERENCE.sub(value, text)


def variables(text: str) -> tuple[str, ...]:
    """The variables that `text` names, in its order."""
    return tuple(found["name"] for found in _REFERENCE.finditer(text))
