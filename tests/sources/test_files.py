"""Reading catalog files."""

from __future__ import annotations

import json
from pathlib import Path

from toolsearch.catalog import tool_record
from toolsearch.sources.files import read_catalog


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_own_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    record = {
        "id": "set:get_weather",
        "name": "get_weather",
        "description": "Weather of a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "server": "meteo",
        "source": "set/part",
    }
    loaded = read_catalog(write_lines(tmp_path / "catalog.jsonl", record))
    assert loaded.issues == ()
    assert loaded.n_read == 1
    (tool,) = loaded.catalog.values()
    assert (tool.name, tool.source, tool.id) == ("meteo__get_weather", "meteo", "")
    assert tool.meta == {"source": "set/part", "id": "set:get_weather"}
    again = read_catalog(write_lines(tmp_path / "again.jsonl", tool_record(tool)))
    assert list(again.catalog.values()) == [tool]
