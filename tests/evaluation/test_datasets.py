from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from toolsearch.catalog import Catalog
from toolsearch.evaluation.datasets import (
    BenchQuery,
    load_dataset,
    load_dataset_folder,
    make_dataset,
    read_queries,
)
from toolsearch.exceptions import EvaluationError
from toolsearch.tools import Tool


def record(name: str, *, server: str | None = None, tool_id: str | None = None) -> dict[str, Any]:
    return {
        "id": tool_id or f"set:{name}",
        "name": name,
        "description": f"Does {name}.",
        "input_schema": {"type": "object", "properties": {}},
        "server": server,
    }


def write(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(
        tmp_path / "catalog.jsonl", [record("send_mail"), record("read_mail"), record("pay", server="bank")]
    )
    write(
        tmp_path / "queries.dev.jsonl",
        [
            {"id": "q1", "query": "write to Ann", "gold": ["set:send_mail"], "kind": "direct"},
            {"id": "q2", "query": "mail and pay", "gold": ["set:read_mail", "set:pay", "set:pay"]},
            {"id": "q3", "query": "sing", "gold": []},
        ],
    )
    return tmp_path


def test_a_folder_gives_catalog_queries_and_groups(folder: Path) -> None:
    write(folder / "near_duplicates.jsonl", [{"ids": ["set:send_mail", "set:read_mail"]}])
    dataset = load_dataset_folder(folder, name="mail")
    assert dataset.name == "mail"
    assert sorted(dataset.id_of.values()) == ["set:pay", "set:read_mail", "set:send_mail"]
    assert dataset.id_of["bank__pay"] == "set:pay"
    assert [(q.id, q.text, q.gold, q.kind) for q in dataset.queries] == [
        ("q1", "write to Ann", ("set:send_mail",), "direct"),
        ("q2", "mail and pay", ("set:read_mail", "set:pay"), ""),
        ("q3", "sing", (), ""),
    ]
    assert dataset.group_of == {"set:send_mail": "set:send_mail", "set:read_mail": "set:send_mail"}


def test_catalog_and_queries_may_be_folders_of_files(tmp_path: Path) -> None:
    write(tmp_path / "catalog" / "b.jsonl", [record("two")])
    write(tmp_path / "catalog" / "a.jsonl", [record("one")])
    write(tmp_path / "queries" / "x.jsonl", [{"id": "q", "query": "first", "gold": ["set:one"]}])
    write(tmp_path / "queries" / "y.jsonl", [{"id": "r", "query": "second", "gold": ["set:two"]}])
    dataset = load_dataset_folder(tmp_path)
    assert (sorted(dataset.catalog), [q.id for q in dataset.queries]) == (["one", "two"], ["q", "r"])


def test_tools_of_one_name_are_told_apart_by_their_id(tmp_path: Path) -> None:
    write(tmp_path / "catalog.jsonl", [record("get", tool_id="s:get"), record("get", tool_id="s:get~2")])
    write(tmp_path / "queries.jsonl", [{"id": "q", "query": "get", "gold": ["s:get~2"]}])
    dataset = load_dataset_folder(tmp_path)
    assert len(dataset.catalog) == 2
    assert sorted(dataset.id_of.values()) == ["s:get", "s:get~2"]


def test_gold_tools_that_the_catalog_lacks_are_listed(folder: Path) -> None:
    write(
        folder / "queries.dev.jsonl",
        [
            {"id": "q1", "query": "a", "gold": ["set:pay"]},
            {"id": "q2", "query": "b", "gold": ["set:fly", "set:pay", "set:swim"]},
        ],
    )
    with pytest.raises(EvaluationError, match=r"2 gold tools .*'set:fly', 'set:swim'") as caught:
        load_dataset_folder(folder)
    assert caught.value.ids == ("set:fly", "set:swim")
    dataset = load_dataset_folder(folder, drop_missing=True)
    assert ([q.id for q in dataset.queries], dataset.dropped) == (["q1"], ("q2",))


def test_ids_are_server_and_name_where_records_have_none(tmp_path: Path) -> None:
    tools = [
        {"name": "pay", "server": "bank", "description": "Pays."},
        {"name": "sing", "description": "Sings."},
    ]
    write(tmp_path / "catalog.jsonl", tools)
    write(
        tmp_path / "queries.jsonl",
        [
            {"id": "q1", "query": "a", "gold": ["bank.pay", "sing"]},
            {"id": "q2", "query": "b", "gold": ["bank__pay"], "gold_alt": {"bank__pay": ["sing"]}},
        ],
    )
    dataset = load_dataset_folder(tmp_path)
    assert [query.gold for query in dataset.queries] == [("bank.pay", "sing"), ("bank.pay",)]
    assert dataset.queries[1].alternatives == {"bank.pay": ("sing",)}


def test_definitions_that_cannot_be_used_are_counted_and_named(folder: Path) -> None:
    bad = {"name": "fly", "description": "Flies.", "input_schema": {"type": "array"}, "id": "set:fly"}
    with (folder / "catalog.jsonl").open("a") as out:
        out.write(json.dumps(bad) + "\n")
    (problem,) = load_dataset_folder(folder).left_out
    assert f"{folder / 'catalog.jsonl'}:4" in problem
    write(folder / "queries.dev.jsonl", [{"id": "q", "query": "fly", "gold": ["set:fly"]}])
    with pytest.raises(EvaluationError, match=r"1 definitions could not be read, the first: .*jsonl:4"):
        load_dataset_folder(folder)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{not json", "is not JSON"),
        ("[1]", "JSON object"),
        ('{"query": "x", "gold": []}', "'id'"),
        ('{"id": "q", "query": 3, "gold": []}', "'query'"),
        ('{"id": "q", "query": "x"}', "'gold'"),
        ('{"id": "q", "query": "x", "gold": "set:pay"}', "'gold'"),
        ('{"id": "q", "query": "x", "gold": [], "gold_alt": {"set:a": ["set:b"]}}', "no gold tool"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "q0", "query": "fine", "gold": []}\n\n' + line + "\n", encoding="utf-8")
    with pytest.raises(EvaluationError, match=reason) as caught:
        read_queries(path)
    assert (caught.value.path, caught.value.line) == (path, 3)
    assert f"{path}:3: " in str(caught.value)


def test_a_line_separator_inside_a_query_is_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "q", "query": "one\u2028two", "gold": []}\r\n', encoding="utf-8")
    assert read_queries(path)[0].text == "one\u2028two"


def test_ids_that_are_there_twice_are_refused(folder: Path) -> None:
    write(folder / "queries.dev.jsonl", [{"id": "q", "query": "a", "gold": []}] * 2)
    with pytest.raises(EvaluationError, match="queries") as caught:
        load_dataset_folder(folder)
    assert caught.value.ids == ("q",)


def test_a_tool_in_two_groups_is_refused(folder: Path) -> None:
    groups = write(folder / "groups.jsonl", [{"ids": ["set:pay", "a"]}, {"ids": ["set:pay", "b"]}])
    with pytest.raises(EvaluationError, match="near-duplicate"):
        load_dataset(folder / "catalog.jsonl", folder / "queries.dev.jsonl", groups)


def test_a_folder_with_two_query_files_asks_for_one(folder: Path) -> None:
    write(folder / "queries.jsonl", [{"id": "q", "query": "a", "gold": []}])
    with pytest.raises(EvaluationError, match=r"queries\.dev\.jsonl and queries\.jsonl"):
        load_dataset_folder(folder)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match=r"gone\.jsonl: cannot be read"):
        read_queries(tmp_path / "gone.jsonl")


@pytest.mark.parametrize("gold", ["mail__send", "mail.send"])
def test_ids_come_out_as_the_qrels_write_them(gold: str) -> None:
    catalog = Catalog([Tool(raw_name="send", source="mail"), Tool(raw_name="read", source="mail")])
    dataset = make_dataset("d", catalog, [BenchQuery("q", "send it", gold=(gold,))])
    assert dataset.queries[0].gold == (gold,)
    assert dataset.id_of["mail__send"] == gold


def test_the_id_of_a_record_comes_before_its_names() -> None:
    catalog = Catalog(
        [Tool(raw_name="send", source="mail", meta={"id": "t1"}), Tool(raw_name="x", source="y")]
    )
    queries = [BenchQuery("q", "send it", gold=("mail__send",)), BenchQuery("r", "do x", gold=("y.x",))]
    dataset = make_dataset("d", catalog, queries)
    assert [query.gold for query in dataset.queries] == [("t1",), ("y.x",)]
