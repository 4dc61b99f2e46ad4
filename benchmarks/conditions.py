"""`conditions.yaml`: what is run on what, and which scores are expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolsearch.exceptions import EvaluationError

CONDITIONS_FILE = Path(__file__).with_name("conditions.yaml")


class Condition(BaseModel):
    """A retriever and an embedder, and the scores that are expected of them on each data set.

    Attributes:
        expected: By data set, then by measure as in the report's JSON. A data set without scores is run and
            compared with nothing.
        tolerance: How far a score may be from the expected one, to either side.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    retriever: str
    embedder: str
    tolerance: float = Field(default=0.002, ge=0)
    expected: dict[str, dict[str, float]]


@dataclass(frozen=True)
class Deviation:
    """A score next to the expected one."""

    dataset: str
    measure: str
    expected: float
    measured: float
    tolerance: float

    @property
    def is_within(self) -> bool:
        # Half of the last of the four digits that are written down.
        return abs(self.measured - self.expected) <= self.tolerance + 5e-5


def read_conditions(path: Path = CONDITIONS_FILE) -> dict[str, Condition]:
    """The conditions by name, in the file's order.

    Raises:
        EvaluationError: the file cannot be read, or a condition is not as it should be.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as exc:
        raise EvaluationError(f"cannot be read: {exc}", path=path) from exc
    if not isinstance(content, dict):
        raise EvaluationError("must map names to conditions.", path=path)
    return {name: _condition(name, value, path) for name, value in content.items()}


def write_conditions(conditions: Mapping[str, Condition], path: Path = CONDITIONS_FILE) -> None:
    """Write the conditions; comments at the top of the file stay."""
    header = ""
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        header = "".join(lines[: next((i for i, line in enumerate(lines) if line[:1] != "#"), len(lines))])
    body = {name: condition.model_dump() for name, condition in conditions.items()}
    text = yaml.safe_dump(body, sort_keys=False, default_flow_style=None, width=200, allow_unicode=True)
    path.write_text(f"{header}{text}", encoding="utf-8")


def compare(condition: Condition, dataset: str, measured: Mapping[str, float]) -> list[Deviation]:
    """Each expected score of a data set next to the measured one.

    Raises:
        EvaluationError: a measure that the report does not have.
    """
    expected = condition.expected[dataset]
    unknown = tuple(sorted(expected.keys() - measured.keys()))
    if unknown:
        raise EvaluationError(f"There is no measure {unknown[0]!r}; there are {', '.join(measured)}.")
    return [
        Deviation(dataset, name, value, measured[name], condition.tolerance)
        for name, value in expected.items()
    ]


def _condition(name: str, value: Any, path: Path) -> Condition:
    try:
        return Condition.model_validate(value)
    except ValidationError as exc:
        problem = exc.errors()[0]
        where = ".".join(map(str, (name, *problem["loc"])))
        raise EvaluationError(f"{where}: {problem['msg']}.", path=path) from exc
