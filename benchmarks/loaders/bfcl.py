"""The Berkeley function calling leaderboard as a data set, from the package ``bfcl-eval``.

    pip install --no-deps bfcl-eval==2026.3.23
    python -m benchmarks.loaders.bfcl OUT

The package asks for old releases of numpy and faiss, hence ``--no-deps``: only its data files are read.

Each request of the single-turn categories with an answer key becomes a query; the functions that the key
calls are its gold tools. The catalog joins the functions of all those categories and of the two irrelevance
categories, which add distractors. The irrelevance requests themselves are left out, as a joined catalog may
well serve them; so are the multi-turn ones, which are not understood without what was said before.

A function is one tool wherever name, description and parameters are the same. Different functions that
share a name become ``bfcl:NAME``, ``bfcl:NAME~2`` and so on, and are grouped as near-duplicates.

Source: Patil et al., The Berkeley Function Calling Leaderboard, ICML 2025. Apache-2.0.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.loaders.records import as_dataset, write_folder
from toolsearch.evaluation.datasets import BenchQuery, Dataset
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import JsonObject

REQUIREMENT = "bfcl-eval==2026.3.23"
ANSWERED = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
DISTRACTORS = ("irrelevance", "live_irrelevance")


def load_bfcl(data: Path | None = None) -> Dataset:
    """The data set; `data` is the package's data folder, by default that of the installed package.

    Raises:
        EvaluationError: the package is not installed, or its files are not as they should be.
    """
    return as_dataset("bfcl", *read_bfcl(data))


def read_bfcl(data: Path | None = None) -> tuple[list[JsonObject], list[BenchQuery], list[tuple[str, ...]]]:
    """(tool records, queries, groups of near-duplicates); see `load_bfcl`."""
    data = data or _installed_data()
    functions = _Functions()
    queries = []
    for category in ANSWERED:
        keys = {line["id"]: line["ground_truth"] for line in _lines(data / "possible_answer", category)}
        for line in _lines(data, category):
            ids = {function["name"]: functions.add(function) for function in line["function"]}
            called = [name for call in keys[line["id"]] for name in call]
            queries.append(
                BenchQuery(
                    id=f"bfcl/{line['id']}",
                    text=_request(line),
                    gold=tuple(dict.fromkeys(ids[name] for name in called)),
                    kind=category,
                )
            )
    for category in DISTRACTORS:
        for line in _lines(data, category):
            for function in line["function"]:
                functions.add(function)
    return functions.records, queries, functions.groups


@dataclass
class _Functions:
    """The functions met so far, each once."""

    records: list[JsonObject] = field(default_factory=list)
    _id_of: dict[str, str] = field(default_factory=dict)
    _ids_by_name: dict[str, list[str]] = field(default_factory=dict)

    def add(self, function: JsonObject) -> str:
        """The id of the function, whether it is new or not."""
        content = json.dumps(
            [function["name"], function.get("description"), function.get("parameters")], sort_keys=True
        )
        if content not in self._id_of:
            namesakes = self._ids_by_name.setdefault(function["name"], [])
            suffix = f"~{len(namesakes) + 1}" if namesakes else ""
            self._id_of[content] = f"bfcl:{function['name']}{suffix}"
            namesakes.append(self._id_of[content])
            self.records.append(
                {
                    "id": self._id_of[content],
                    "name": function["name"],
                    "description": function.get("description") or "",
                    "input_schema": function.get("parameters"),
                    "server": None,
                }
            )
        return self._id_of[content]

    @property
    def groups(self) -> list[tuple[str, ...]]:
        return [tuple(ids) for ids in self._ids_by_name.values() if len(ids) > 1]


def _request(line: JsonObject) -> str:
    (turn,) = line["question"]
    return "\n".join(message["content"] for message in turn if message["role"] == "user")


def _lines(folder: Path, category: str) -> Iterator[JsonObject]:
    path = folder / f"BFCL_v4_{category}.json"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise EvaluationError(f"cannot be read: {exc}. It is part of {REQUIREMENT}.", path=path) from exc
    return (json.loads(line) for line in text.split("\n") if line.strip())


def _installed_data() -> Path:
    # Found, not imported: importing it would pull in what --no-deps left out.
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None or not spec.submodule_search_locations:
        raise EvaluationError(f"BFCL is not installed. Install it: pip install --no-deps {REQUIREMENT}")
    return Path(spec.submodule_search_locations[0]) / "data"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write BFCL as a data set folder.")
    parser.add_argument("out", type=Path)
    write_folder(parser.parse_args().out, *read_bfcl())
