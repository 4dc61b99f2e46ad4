"""Data sets: a catalog, queries, and the tools that answer each.

On disk a data set is a folder, or single files:

- ``catalog.jsonl``, or any catalog files in ``catalog/``: tools in any form that `read_catalog` knows
- ``queries.dev.jsonl`` or ``queries.jsonl``, or ``*.jsonl`` in ``queries/``: one object a line,
  ``{"id", "query", "gold": [tool ids], "gold_alt"?: {gold id: [tool ids]}, "kind"?}``
- ``near_duplicates.jsonl`` (optional): ``{"ids": [tool ids]}``, tools that a reader would call the same

The id of a tool is that of its record; without one ``server.name``, or ``name`` for a local tool. Queries and
groups may also use its public name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from toolsearch.catalog import Catalog
from toolsearch.exceptions import EvaluationError
from toolsearch.sources.files import read_catalog
from toolsearch.tools import JsonObject, Tool


@dataclass(frozen=True)
class BenchQuery:
    """A request and the tools that answer it.

    Attributes:
        gold: Ids of the relevant tools, each once; empty where nothing in the catalog fits.
        alternatives: For some gold tools, other tools that serve as well.
        kind: What it tests, such as ``paraphrase``; means are also given by kind. May be empty.
    """

    id: str
    text: str
    gold: tuple[str, ...]
    alternatives: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kind: str = ""

    @property
    def served_by(self) -> frozenset[str]:
        """Ids of all tools that serve it: the relevant ones, and those that serve as well."""
        return frozenset(self.gold).union(*(self.alternatives.get(gold, ()) for gold in self.gold))


@dataclass(frozen=True)
class Dataset:
    """A catalog with queries over it; made by `make_dataset` or read by `load_dataset`.

    Attributes:
        near_duplicates: Groups of tool ids; the "near" figures take a group for one tool.
        dropped: Ids of queries left out because gold tools were not in the catalog.
        left_out: What was wrong with each definition that did not make it into the catalog.
        by_public_name: The qrels use public names where a record has no ``id``, not ``server.name``.
    """

    name: str
    catalog: Catalog
    queries: tuple[BenchQuery, ...]
    near_duplicates: tuple[tuple[str, ...], ...] = ()
    dropped: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    by_public_name: bool = False

    @cached_property
    def id_of(self) -> Mapping[str, str]:
        """The data set's id of each tool by public name, as its qrels write it."""
        return _ids(self.catalog, by_public_name=self.by_public_name)

    @cached_property
    def group_of(self) -> Mapping[str, str]:
        """For each tool id in a group of near-duplicates, the first id of the group."""
        return {member: group[0] for group in self.near_duplicates for member in group}


def tool_id(tool: Tool, *, by_public_name: bool = False) -> str:
    """What qrels call a tool: the ``id`` of its record, else ``server.name`` or the public name."""
    if "id" in tool.meta:
        return str(tool.meta["id"])
    if by_public_name:
        return tool.name
    return f"{tool.source}.{tool.raw_name}" if tool.source else tool.raw_name


def _ids(catalog: Catalog, *, by_public_name: bool) -> dict[str, str]:
    return {name: tool_id(tool, by_public_name=by_public_name) for name, tool in catalog.items()}


def make_dataset(
    name: str,
    catalog: Catalog,
    queries: Iterable[BenchQuery],
    near_duplicates: Iterable[Sequence[str]] = (),
    *,
    drop_missing: bool = False,
    left_out: Iterable[str] = (),
) -> Dataset:
    """A data set whose queries, qrels and catalog fit together.

    With `drop_missing`, queries with a gold tool that the catalog lacks are left out and listed in
    `dropped`. An alternative that the catalog lacks is no error: the gold tool can still be found.

    Raises:
        EvaluationError: a gold tool is not in the catalog (`ids` lists all such), two tools or two queries
            share an id, or a tool is in two groups of near-duplicates.
    """
    queries = tuple(queries)
    qualified = _ids(catalog, by_public_name=False)
    golds = {gold for query in queries for gold in query.gold}
    by_public_name = bool(golds & qualified.keys()) and not golds & (
        set(qualified.values()) - qualified.keys()
    )
    id_of = _ids(catalog, by_public_name=by_public_name)
    _check_unique(list(id_of.values()), f"tools of data set {name!r}")
    # Either name of a tool is understood; what comes out is the one that the qrels use.
    ids = {**{qualified[public]: own for public, own in id_of.items()}, **id_of}
    ids |= {own: own for own in id_of.values()}
    queries = tuple(_with_ids(query, ids) for query in queries)
    _check_unique([query.id for query in queries], f"queries of data set {name!r}")
    groups = tuple(tuple(ids.get(member, member) for member in group) for group in near_duplicates if group)
    _check_unique([member for group in groups for member in group], f"near-duplicate groups of {name!r}")
    missing = {query.id: [gold for gold in query.gold if gold not in ids] for query in queries}
    dropped = tuple(query_id for query_id, lacking in missing.items() if lacking)
    left_out = tuple(left_out)
    if dropped and not drop_missing:
        _refuse_missing(
            name, tuple(dict.fromkeys(g for lacking in missing.values() for g in lacking)), left_out
        )
    kept = tuple(query for query in queries if not missing[query.id])
    return Dataset(name, catalog, kept, groups, dropped, left_out, by_public_name)


def _with_ids(query: BenchQuery, ids: Mapping[str, str]) -> BenchQuery:
    """The query with every name of a tool replaced by its id."""
    return replace(
        query,
        gold=tuple(dict.fromkeys(ids.get(gold, gold) for gold in query.gold)),
        alternatives={
            ids.get(gold, gold): tuple(ids.get(other, other) for other in others)
            for gold, others in query.alternatives.items()
        },
    )


def _refuse_missing(name: str, missing: tuple[str, ...], left_out: tuple[str, ...]) -> NoReturn:
    shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
    cause = f" {len(left_out)} definitions could not be read, the first: {left_out[0]}" if left_out else ""
    raise EvaluationError(
        f"Data set {name!r}: {len(missing)} gold tools are not in its catalog: {shown}.{cause} "
        "Mend the relevant tools of these queries or the catalog.",
        ids=missing,
    )


def load_dataset(
    catalog: Path | str,
    queries: Path | str,
    near_duplicates: Path | str | None = None,
    *,
    name: str | None = None,
    drop_missing: bool = False,
) -> Dataset:
    """The data set in these files; `queries` may be a folder of ``*.jsonl``, `catalog` one of catalog files.

    `name` defaults to the name of the folder that holds the queries. See `make_dataset` for `drop_missing`.

    Raises:
        EvaluationError: a file cannot be read or a line is not as it should be, with path and line;
            or the parts do not fit together, as for `make_dataset`.
        CatalogFileError: a catalog file cannot be read at all.
    """
    queries = Path(queries)
    loaded = read_catalog(catalog)
    return make_dataset(
        name or queries.resolve().parent.name,
        loaded.catalog,
        [query for path in _files(queries) for query in read_queries(path)],
        read_near_duplicates(near_duplicates) if near_duplicates is not None else (),
        drop_missing=drop_missing,
        left_out=[str(issue) for issue in loaded.issues if issue.severity == "error"],
    )


def load_dataset_folder(
    folder: Path | str, *, name: str | None = None, drop_missing: bool = False
) -> Dataset:
    """The data set in a folder laid out as this module says.

    Raises:
        EvaluationError: a part is missing or there are two of it; otherwise as for `load_dataset`.
        CatalogFileError: a catalog file cannot be read at all.
    """
    folder = Path(folder)
    groups = folder / "near_duplicates.jsonl"
    return load_dataset(
        _the_one(folder, "catalog.jsonl", "catalog"),
        _the_one(folder, "queries.dev.jsonl", "queries.jsonl", "queries"),
        groups if groups.exists() else None,
        name=name or folder.resolve().name,
        drop_missing=drop_missing,
    )


def read_queries(path: Path | str) -> tuple[BenchQuery, ...]:
    """The queries of a JSONL file, in its order; keys that are not ours are passed over.

    Raises:
        EvaluationError: with path and line.
    """
    return tuple(_query(record, path, line) for line, record in read_records(path))


def read_near_duplicates(path: Path | str) -> tuple[tuple[str, ...], ...]:
    """The groups of a JSONL file of ``{"ids": [...]}``, in its order.

    Raises:
        EvaluationError: with path and line.
    """
    return tuple(_strings(record, "ids", path, line) for line, record in read_records(path))


def _query(record: JsonObject, path: Path | str, line: int) -> BenchQuery:
    for key in ("id", "query"):
        if not isinstance(record.get(key), str):
            raise EvaluationError(f"a query needs {key!r}, a string.", path=path, line=line)
    alternatives = record.get("gold_alt") or {}
    if not isinstance(alternatives, dict):
        raise EvaluationError("'gold_alt' maps gold ids to lists of tool ids.", path=path, line=line)
    gold = _strings(record, "gold", path, line)
    unknown = tuple(sorted(alternatives.keys() - set(gold)))
    if unknown:
        raise EvaluationError(
            f"'gold_alt' names {unknown[0]!r}, which is no gold tool of this query.",
            path=path,
            line=line,
            ids=unknown,
        )
    return BenchQuery(
        id=record["id"],
        text=record["query"],
        gold=gold,
        alternatives={key: _strings(alternatives, key, path, line) for key in alternatives},
        kind=str(record.get("kind") or ""),
    )


def _strings(record: Mapping[str, Any], key: str, path: Path | str, line: int) -> tuple[str, ...]:
    values = record.get(key)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise EvaluationError(f"{key!r} must be a list of tool ids.", path=path, line=line)
    return tuple(dict.fromkeys(values))


def read_records(path: Path | str) -> Iterator[tuple[int, JsonObject]]:
    """(line number, object) for each line that is not blank."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise EvaluationError(f"cannot be read: {exc}", path=path) from exc
    # Not splitlines: texts hold U+2028 and other breaks that JSONL does not know.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as exc:
            raise EvaluationError(f"is not JSON: {exc}", path=path, line=number) from exc
        if not isinstance(record, dict):
            raise EvaluationError("each line must be a JSON object.", path=path, line=number)
        yield number, record


def _files(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            return [path]
    except OSError as exc:
        raise EvaluationError(f"cannot be read: {exc.strerror or exc}", path=path) from exc
    files = sorted(path.glob("*.jsonl"))
    if not files:
        raise EvaluationError("holds no *.jsonl file.", path=path)
    return files


def _the_one(folder: Path, *names: str) -> Path:
    there = [folder / name for name in names if (folder / name).exists()]
    if len(there) != 1:
        found = " and ".join(path.name for path in there) or "none of them"
        raise EvaluationError(
            f"a data set has exactly one of {', '.join(names)}; found {found}. Name the files instead.",
            path=folder,
        )
    return there[0]


def _check_unique(ids: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    twice = tuple(dict.fromkeys(i for i in ids if i in seen or seen.add(i)))  # type: ignore[func-returns-value]
    if twice:
        raise EvaluationError(
            f"{len(twice)} ids are there twice among the {what} (such as {twice[0]!r}).", ids=twice
        )
