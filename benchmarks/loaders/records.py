"""Data sets on disk: written from records, and read back as any other catalog and queries."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolsearch.evaluation.datasets import BenchQuery, Dataset, load_dataset_folder
from toolsearch.tools import JsonObject


def write_folder(
    folder: Path,
    records: Iterable[JsonObject],
    queries: Iterable[BenchQuery] = (),
    near_duplicates: Iterable[Sequence[str]] = (),
) -> None:
    """Write the folder that `load_dataset_folder` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "catalog.jsonl", records)
    _write(folder / "queries.jsonl", (_query_record(query) for query in queries))
    _write(folder / "near_duplicates.jsonl", ({"ids": list(group)} for group in near_duplicates))


def as_dataset(
    name: str,
    records: Iterable[JsonObject],
    queries: Iterable[BenchQuery] = (),
    near_duplicates: Iterable[Sequence[str]] = (),
) -> Dataset:
    """The data set that reading the written folder gives, schemas checked and mended on the way."""
    with tempfile.TemporaryDirectory() as folder:
        write_folder(Path(folder), records, queries, near_duplicates)
        return load_dataset_folder(folder, name=name)


def _query_record(query: BenchQuery) -> JsonObject:
    record: JsonObject = {"id": query.id, "query": query.text, "gold": list(query.gold)}
    if query.alternatives:
        record["gold_alt"] = {gold: list(others) for gold, others in query.alternatives.items()}
    if query.kind:
        record["kind"] = query.kind
    return record


def _write(path: Path, records: Iterable[JsonObject]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
