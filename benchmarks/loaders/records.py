"""Records of a data set in its form on disk, and the way from them to a catalog or a folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import BenchQuery
from toolsearch.naming import RESERVED_NAMES
from toolsearch.schema import check_schema
from toolsearch.tool import JsonObject, Tool


def catalog_of(records: Sequence[JsonObject]) -> Catalog:
    """The catalog of these records; schemas are checked and mended as those of any file.

    Tools of one server that share a name are told apart by their record's id.

    Raises:
        SchemaError: an input schema that cannot be mended.
    """
    shared = Counter((record.get("server") or "", record["name"]) for record in records)
    return Catalog(
        Tool(
            raw_name=record["name"],
            source=record.get("server") or "",
            id=record["id"] if _is_ambiguous(record, shared) else "",
            description=record["description"],
            input_schema=check_schema(record["name"], record["input_schema"]).schema,
            meta={"id": record["id"]},
        )
        for record in records
    )


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


def _query_record(query: BenchQuery) -> JsonObject:
    record: JsonObject = {"id": query.id, "query": query.text, "gold": list(query.gold)}
    if query.alternatives:
        record["gold_alt"] = {gold: list(others) for gold, others in query.alternatives.items()}
    if query.kind:
        record["kind"] = query.kind
    return record


def _is_ambiguous(record: JsonObject, shared: Counter[tuple[str, str]]) -> bool:
    source = record.get("server") or ""
    return shared[source, record["name"]] > 1 or (not source and record["name"] in RESERVED_NAMES)


def _write(path: Path, records: Iterable[JsonObject]) -> None:
    with path.open("w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
