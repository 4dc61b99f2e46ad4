from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import botocore.loaders
import pytest

from benchmarks.loaders.bfcl import ANSWERED, DISTRACTORS, load_bfcl, read_bfcl
from benchmarks.loaders.botocore import load_botocore, read_botocore
from benchmarks.loaders.records import write_folder
from toolsearch.evaluation.datasets import load_dataset_folder
from toolsearch.exceptions import EvaluationError


def function(name: str, description: str = "Does it.") -> dict[str, Any]:
    parameters = {"type": "dict", "properties": {"x": {"type": "float"}}, "required": ["x"]}
    return {"name": name, "description": description, "parameters": parameters}


@pytest.fixture
def bfcl(tmp_path: Path) -> Path:
    """A data folder laid out as the package's, with two requests in one category and a distractor."""
    lines: dict[str, list[Any]] = {category: [] for category in (*ANSWERED, *DISTRACTORS)}
    keys: dict[str, list[Any]] = {category: [] for category in ANSWERED}
    lines["parallel_multiple"] = [
        {
            "id": "pm_0",
            "question": [
                [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Area and root"}]
            ],
            "function": [function("area"), function("root"), function("spare")],
        },
        {
            "id": "pm_1",
            "question": [[{"role": "user", "content": "Root twice"}]],
            "function": [function("root", "Another root."), function("area")],
        },
    ]
    keys["parallel_multiple"] = [
        {"id": "pm_0", "ground_truth": [{"root": {"x": [4]}}, {"area": {"x": [1]}}]},
        {"id": "pm_1", "ground_truth": [{"root": {"x": [4]}}, {"root": {"x": [9]}}]},
    ]
    lines["irrelevance"] = [{"id": "i_0", "question": [[]], "function": [function("noise")]}]
    (tmp_path / "possible_answer").mkdir()
    for folder, table in ((tmp_path, lines), (tmp_path / "possible_answer", keys)):
        for category, rows in table.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"BFCL_v4_{category}.json").write_text(text, encoding="utf-8")
    return tmp_path


def test_bfcl_functions_are_joined_and_called_ones_are_gold(bfcl: Path) -> None:
    dataset = load_bfcl(bfcl)
    assert sorted(dataset.id_of.values()) == [
        "bfcl:area",
        "bfcl:noise",
        "bfcl:root",
        "bfcl:root~2",
        "bfcl:spare",
    ]
    assert [(q.id, q.text, q.gold, q.kind) for q in dataset.queries] == [
        ("bfcl/pm_0", "Area and root", ("bfcl:root", "bfcl:area"), "parallel_multiple"),
        ("bfcl/pm_1", "Root twice", ("bfcl:root~2",), "parallel_multiple"),
    ]
    assert dataset.near_duplicates == (("bfcl:root", "bfcl:root~2"),)


def test_bfcl_types_are_mended(bfcl: Path) -> None:
    schema = load_bfcl(bfcl).catalog["area"].input_schema
    assert (schema["type"], schema["properties"]["x"]["type"]) == ("object", "number")


def test_a_written_folder_reads_back_as_the_same_data_set(bfcl: Path, tmp_path: Path) -> None:
    write_folder(tmp_path / "out", *read_bfcl(bfcl))
    records, queries, groups = read_bfcl(bfcl)
    read = load_dataset_folder(tmp_path / "out")
    assert list(read.queries) == queries
    assert list(read.near_duplicates) == groups
    assert sorted(read.id_of.values()) == sorted(record["id"] for record in records)


def test_a_missing_bfcl_file_names_the_package(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"part of bfcl-eval=="):
        read_bfcl(tmp_path)


MODELS: Any = {
    "zeta": {"operations": {"Ping": {}}, "shapes": {}},
    "alpha": {
        "operations": {
            "PutItem": {
                "documentation": "<p>Stores an <b>item</b> &amp; more.</p>",
                "input": {"shape": "PutItemInput"},
            }
        },
        "shapes": {
            "PutItemInput": {
                "type": "structure",
                "required": ["Key"],
                "members": {
                    "Key": {"shape": "Text", "documentation": "<p>Its key.</p>"},
                    "Mode": {"shape": "Mode"},
                    "Count": {"shape": "Long"},
                    "Node": {"shape": "Node"},
                    "Tags": {"shape": "Tags"},
                },
            },
            "Text": {"type": "string"},
            "Mode": {"type": "string", "enum": ["fast", "safe"]},
            "Long": {"type": "long"},
            "Node": {
                "type": "structure",
                "members": {"Name": {"shape": "Text"}, "Children": {"shape": "Nodes"}},
            },
            "Nodes": {"type": "list", "member": {"shape": "Node"}},
            "Tags": {"type": "map", "key": {"shape": "Text"}, "value": {"shape": "Text"}},
        },
    },
}


class FakeLoader:
    """Two services of AWS, one with a structure that holds itself."""

    def list_available_services(self, type_name: str) -> Sequence[str]:
        return list(MODELS)

    def load_service_model(self, service: str, type_name: str) -> Any:
        return MODELS[service]


def test_operations_become_tools_with_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.loaders, "Loader", FakeLoader)
    put, ping = read_botocore()
    assert (ping["name"], ping["server"], ping["input_schema"]) == (
        "Ping",
        "zeta",
        {"type": "object", "properties": {}},
    )
    assert put["description"] == "Stores an item & more."
    assert put["input_schema"] == {
        "type": "object",
        "properties": {
            "Key": {"type": "string", "description": "Its key."},
            "Mode": {"type": "string", "enum": ["fast", "safe"]},
            "Count": {"type": "integer"},
            "Node": {
                "type": "object",
                "properties": {
                    "Name": {"type": "string"},
                    "Children": {"type": "array", "items": {"type": "object"}},
                },
            },
            "Tags": {"type": "object", "additionalProperties": {"type": "string"}},
        },
        "required": ["Key"],
    }
    assert list(load_botocore()) == ["alpha__PutItem", "zeta__Ping"]
