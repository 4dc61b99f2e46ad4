"""`read_catalog`: catalog files, and what is said of each thing that is wrong with them."""

from __future__ import annotations

import errno
import io
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from toolsearch import naming
from toolsearch.catalog import tool_record
from toolsearch.exceptions import CatalogFileError, DefinitionError, DuplicateToolError, SchemaError
from toolsearch.sources.base import ToolSource
from toolsearch.sources.files import FileSource, LoadedCatalog, read_catalog

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": SCHEMA, **more}


def write(path: Path, *records: Any) -> Path:
    """A JSON Lines file, or one JSON value for a ``.json`` file."""
    if path.suffix == ".json":
        (value,) = records
        path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    else:
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def brief(loaded: LoadedCatalog) -> list[tuple[int | None, str, str]]:
    return [(issue.line, issue.severity, issue.tool) for issue in loaded.issues]


def test_our_own_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    record = {
        "id": "set:get_weather",
        "name": "get_weather",
        "description": "Weather of a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "server": "meteo",
        "source": "set/part",
    }
    loaded = read_catalog(write(tmp_path / "catalog.jsonl", record))
    assert loaded.issues == ()
    assert loaded.n_read == 1
    (read,) = loaded.catalog.values()
    assert (read.name, read.source, read.id) == ("meteo__get_weather", "meteo", "")
    assert read.meta == {"source": "set/part", "id": "set:get_weather"}
    again = read_catalog(write(tmp_path / "again.jsonl", tool_record(read)))
    assert list(again.catalog.values()) == [read]


def test_one_tool_reads_the_same_from_every_kind_of_file(tmp_path: Path) -> None:
    record = tool("t", "Does it.")
    texts = {
        "one.json": json.dumps(record),
        "list.json": json.dumps([record], indent=1),
        "wrapped.json": json.dumps({"tools": [record]}),
        "lines.jsonl": f"\n{json.dumps(record)}\n\n",
        "lines.ndjson": json.dumps(record),
        "lines.json": f"{json.dumps(record)}\n{json.dumps(record)}\n",
        "tool.txt": json.dumps(record),
        "list.yaml": "- name: t\n  description: Does it.\n"
        "  input_schema: {type: object, properties: {a: {type: string}}}\n",
        "documents.yml": "---\nname: t\ndescription: Does it.\n"
        "input_schema:\n  type: object\n  properties:\n    a:\n      type: string\n---\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert [tool_record(t) for t in read_catalog(tmp_path / name).catalog.values()] == [record], name


def test_standard_input_is_read_as_what_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    record = tool("t")
    for text in (json.dumps([record]), json.dumps(record) + "\n" + json.dumps(tool("u")), "name: t\n"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert "t" in read_catalog("-").catalog


def test_a_folder_stands_for_its_catalog_files_in_sorted_order(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "b.jsonl", tool("t", "from b"), tool("b"))
    write(tmp_path / "a.json", [tool("t", "from a")])
    write(tmp_path / "deep" / "c.jsonl", tool("c"))
    (tmp_path / "README.md").write_text("no catalog", encoding="utf-8")
    loaded = read_catalog(tmp_path)
    assert list(loaded.catalog) == ["b", "c", "t"]
    assert loaded.catalog["t"].description == "from a"
    assert [(issue.path, issue.severity) for issue in loaded.issues] == [(str(tmp_path / "b.jsonl"), "error")]


def test_a_folder_without_catalog_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CatalogFileError, match="holds no"):
        read_catalog(tmp_path)


def test_a_source_can_be_named_for_a_file_that_names_none(tmp_path: Path) -> None:
    """(E37)"""
    path = write(tmp_path / "tools.json", {"tools": [{"name": "events.update", "inputSchema": SCHEMA}]})
    (read,) = read_catalog(path, source="cal").catalog.values()
    assert (read.source, read.raw_name) == ("cal", "events.update")
    assert read.name.startswith("cal__events_update_")


def test_servers_that_share_a_tool_name_keep_their_tools_apart(tmp_path: Path) -> None:
    """(E40) (E43) (E45)"""
    records = [
        *(tool("send_email", f"by {server}", server=server) for server in "AB"),
        *(tool("query", f"of {server}", server=server) for server in ("café", "cafè", "数据")),
        *(tool("t" * 60 + end, server="s" * 40) for end in ("_a", "_b")),
    ]
    seen = set()
    for order in itertools.islice(itertools.permutations(records), 0, 5040, 700):
        loaded = read_catalog(write(tmp_path / "catalog.jsonl", *order))
        assert loaded.issues == ()
        assert len(loaded.catalog) == len(records)
        seen.add(tuple((name, t.source, t.raw_name, t.description) for name, t in loaded.catalog.items()))
    (names,) = seen
    assert all(len(name) <= 64 and not name.startswith("_") for name, *_ in names)


def test_each_problem_is_named_with_its_line_and_the_others_are_read(tmp_path: Path) -> None:
    """(E34)"""
    lines = [
        json.dumps(tool("first")),
        json.dumps({"name": "null_schema", "inputSchema": None}),
        json.dumps({"name": "oops", "inputSchema": "oops"}),
        "",
        "{broken",
        '{"name": "twice", "name": "again"}',
        '{"name": "nan", "input_schema": {"properties": {"a": {"default": NaN}}}}',
        '{"name": "huge", "input_schema": {"properties": {"a": {"maximum": %s}}}}' % ("9" * 5000),
        '{"name": "far", "input_schema": {"properties": {"a": {"maximum": 1e999}}}}',
        "[" * 50_000,
        '{"name": "half \\ud83d"}',
        json.dumps(tool("last")),
    ]
    data = "\r\n".join(lines).encode() + b"\r\n" + b'{"name": "latin\xe9"}\r\n'
    path = tmp_path / "catalog.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + data)
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["first", "last", "null_schema"]
    assert brief(loaded) == [
        (2, "mended", "null_schema"),
        (3, "error", "oops"),
        (5, "error", ""),
        (6, "error", "again"),
        (7, "error", "nan"),
        (8, "error", "huge"),
        (9, "error", "far"),
        (10, "error", ""),
        (11, "error", "half ?"),
        (13, "error", ""),
    ]
    assert loaded.n_read == 12
    reasons = {issue.line: issue.reason for issue in loaded.issues}
    assert "null is read as no arguments" in reasons[2]
    assert "not 'oops'" in reasons[3]
    assert "not JSON" in reasons[5]
    assert reasons[6] == "the key 'name' stands twice in one object."
    assert "not JSON" in reasons[7]
    assert "nested too deeply" in reasons[10]
    assert "not UTF-8 at byte 16" in reasons[13]
    assert str(loaded.issues[1]) == f"{path}:3: error: tool 'oops': {reasons[3]}"


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_lines_are_those_of_the_definition_in_a_larger_value(tmp_path: Path, suffix: str) -> None:
    text = json.dumps(
        {"result": {"tools": [tool("a"), {"name": "b", "inputSchema": 5}, tool("c", title=7)]}}, indent=2
    )
    path = tmp_path / f"tools{suffix}"
    path.write_text(text, encoding="utf-8")
    lines = text.split("\n")
    expected = [lines.index(f'        "name": "{name}",') for name in "bc"]
    assert brief(read_catalog(path)) == [(expected[0], "error", "b"), (expected[1], "mended", "c")]


@pytest.mark.parametrize("suffix", [".json", ".yaml"])
def test_a_repeated_key_costs_only_the_definition_it_is_in(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"tools{suffix}"
    path.write_text(
        '[{"name": "a"},\n {"name": "b", "input_schema": {"properties": {"x": {}, "x": {}}}}]',
        encoding="utf-8",
    )
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["a"]
    assert brief(loaded) == [(2, "error", "b")]


def deep(levels: int) -> str:
    """A definition whose schema nests properties so many levels, two of JSON each, on several lines."""
    schema = '{"properties": {"a":\n ' * levels + '{"type": "string"}' + "}}" * levels
    return f'{{"name": "deep",\n "description": "[\\"{{", "input_schema": {schema}}}'


@pytest.mark.parametrize("levels", [65, 110, 230, 400, 440, 480, 500, 20_000])
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_a_tool_that_is_nested_too_deeply_costs_only_itself(tmp_path: Path, suffix: str, levels: int) -> None:
    """(E164)"""
    path = tmp_path / f"tools{suffix}"
    whole = [json.dumps(tool("fine")), deep(levels), json.dumps(tool("last")), '{"name": 5}']
    if suffix == ".json":
        path.write_text("[" + ",\n".join(whole) + "]", encoding="utf-8")
        lines = [2, 5 + levels]
    else:
        path.write_text("\n".join(part.replace("\n", "") for part in whole), encoding="utf-8")
        lines = [2, 4]
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["fine", "last"]
    assert brief(loaded) == [(lines[0], "error", "deep"), (lines[1], "error", loaded.issues[1].tool)]
    assert "nested" in loaded.issues[0].reason


def test_an_error_behind_a_deep_part_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(f"[{deep(600)},\n nonsense]", encoding="utf-8")
    with pytest.raises(CatalogFileError, match="not JSON") as caught:
        read_catalog(path)
    assert caught.value.line == 603


def test_wrappers_without_end_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    for levels in (40, 450, 5000):
        deep_tools = '{"tools":[' * levels + '{"name": "x"}' + "]}" * levels
        path.write_text(f'[{{"name": "fine"}},\n{deep_tools}]', encoding="utf-8")
        loaded = read_catalog(path)
        assert list(loaded.catalog) == ["fine"]
        ((line, severity, label),) = brief(loaded)
        assert (line, severity) == (2, "error")
        assert len(label) < 100
        assert "nested too deeply" in loaded.issues[0].reason


def test_what_a_folder_holds_and_cannot_be_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.json", [tool("a")])
    (tmp_path / "closed").mkdir()
    (tmp_path / "gone.json").symlink_to("nowhere.json")
    os.mkfifo(tmp_path / "pipe.yaml")
    scandir = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    loaded = read_catalog(tmp_path)
    assert list(loaded.catalog) == ["a"]
    assert [str(issue) for issue in loaded.issues] == [
        f"{tmp_path}/closed: error: cannot be read: Permission denied",
        f"{tmp_path}/gone.json: error: cannot be read: No such file or directory",
        f"{tmp_path}/pipe.yaml: error: cannot be read: it is no regular file",
    ]
    assert loaded.n_read == 4
    with pytest.raises(CatalogFileError, match="closed"):
        read_catalog(tmp_path, strict=True)


def test_reading_goes_on_behind_a_broken_file_where_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [tool("a")])
    (tmp_path / "b.json").write_text('[\n{"name": "b"', encoding="utf-8")
    write(tmp_path / "c.jsonl", tool("c"))
    with pytest.raises(CatalogFileError):
        read_catalog(tmp_path)
    loaded = read_catalog(tmp_path, keep_going=True)
    assert list(loaded.catalog) == ["a", "c"]
    assert brief(loaded) == [(2, "error", "")]
    with pytest.raises(CatalogFileError, match="No such file"):
        read_catalog(tmp_path / "none.json", keep_going=True)


@pytest.mark.parametrize(
    "bad", [{"name": None}, {"name": "t", "input_schema": 5}, {"name": "s", "description": "other"}, 7]
)
def test_strict_errors_name_their_file_and_line(tmp_path: Path, bad: Any) -> None:
    path = write(tmp_path / "c.jsonl", tool("s"), bad)
    with pytest.raises(DefinitionError) as caught:
        read_catalog(path, strict=True)
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    assert str(caught.value).startswith(f"{path}:2: Tool ")
    assert "''" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "reason", "line"),
    [
        ("missing.json", None, "cannot be read", None),
        ("empty.json", b"", "the file is empty", None),
        ("blank.yaml", b" \n\n", "the file is empty", None),
        ("broken.json", b'[\n{"name": "a"},\n{"name": }]', "not JSON: Expecting value (column 10)", 3),
        ("deep.json", b"[" * 100_000, "nested too deeply", None),
        ("latin.json", b'[\n"\xe9"]', "not UTF-8", 2),
        ("broken.yaml", b"- name: a\n- name: [b\n", "not YAML", 3),
        ("tagged.yaml", b"- !python/object:os.system {}\n", "not YAML", 1),
        ("deep.yaml", b"[" * 20_000, "", None),
        ("self.yaml", b"&a [*a]", "an alias leads to itself", 1),
        (
            "laughs.yaml",
            b"a: &a [x]\n"
            + b"".join(
                b"%c: &%c [*%c, *%c, *%c, *%c]\n" % (i + 1, i + 1, i, i, i, i) for i in range(97, 115)
            ),
            "expand to more than",
            None,
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_place(
    tmp_path: Path, name: str, data: bytes | None, reason: str, line: int | None
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(CatalogFileError) as caught:
        read_catalog(path)
    assert reason in str(caught.value)
    assert str(caught.value.path) == str(path)
    if line is not None:
        assert caught.value.line == line


@pytest.mark.parametrize("name", ["catalog.json", "catalog.jsonl", "catalog.yaml"])
def test_an_empty_catalog_is_a_catalog(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("" if name.endswith("jsonl") else "[]", encoding="utf-8")
    loaded = read_catalog(path)
    assert (len(loaded.catalog), loaded.issues, loaded.n_read) == (0, (), 0)


def test_utf_16_with_its_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps([tool("t", "größe")], ensure_ascii=False), encoding="utf-16")
    assert read_catalog(path).catalog["t"].description == "größe"


def test_yaml_scalars_mean_what_json_would_say(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(
        "tools:\n"
        "- name: t\n"
        "  input_schema:\n"
        "    type: object\n"
        "    properties:\n"
        "      on: {type: string, default: no, enum: [yes, 2024-01-01, 1:30, 010, 0x1F, 1_000, ~]}\n"
        "      200: {type: integer, minimum: -1, maximum: 1e3}\n",
        encoding="utf-8",
    )
    assert read_catalog(path).catalog["t"].input_schema["properties"] == {
        "on": {
            "type": "string",
            "default": "no",
            "enum": ["yes", "2024-01-01", "1:30", 10, 31, "1_000", None],
        },
        "200": {"type": "integer", "minimum": -1, "maximum": 1000.0},
    }


@pytest.mark.parametrize("number", [f"0x{'f' * 4000}", f"0x{'f' * 9000}", f"0o{'7' * 6000}", "9" * 5000])
def test_a_number_that_is_too_long_to_be_written_costs_only_its_tool(tmp_path: Path, number: str) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(
        f"- name: good\n- name: bad\n  input_schema: {{properties: {{a: {{default: {number}}}}}}}\n",
        encoding="utf-8",
    )
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["good"]
    assert brief(loaded) == [(2, "error", "bad")]


def test_yaml_anchors_and_merges_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(
        "- &base\n  name: a\n  server: s\n  description: same\n- <<: *base\n  name: b\n",
        encoding="utf-8",
    )
    loaded = read_catalog(path)
    assert loaded.issues == ()
    assert [(t.name, t.description) for t in loaded.catalog.values()] == [("s__a", "same"), ("s__b", "same")]


def test_the_same_definition_twice_is_kept_once_and_reported(tmp_path: Path) -> None:
    path = write(
        tmp_path / "catalog.jsonl", tool("t", "x", source="one"), tool("u"), tool("t", "x", source="two")
    )
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["t", "u"]
    assert brief(loaded) == [(3, "duplicate", "t")]
    assert f"{path}:1" in loaded.issues[0].reason


def test_another_definition_of_the_same_name_never_replaces_the_first(tmp_path: Path) -> None:
    """(E41)"""
    path = write(
        tmp_path / "catalog.jsonl", tool("account_action", "Look up."), tool("account_action", "Delete.")
    )
    loaded = read_catalog(path)
    assert loaded.catalog["account_action"].description == "Look up."
    assert brief(loaded) == [(2, "error", "account_action")]
    with pytest.raises(DuplicateToolError, match="account_action"):
        read_catalog(path, strict=True)


def test_definitions_that_state_ids_are_told_apart_by_them_in_any_order(tmp_path: Path) -> None:
    records = [tool("t", "one", id="a:t"), tool("t", "two", id="b:t"), tool("t", "three", id="t~2")]
    names = set()
    for order in itertools.permutations(records):
        loaded = read_catalog(write(tmp_path / "catalog.jsonl", *order), strict=True)
        assert {issue.severity for issue in loaded.issues} == {"mended"}
        names.add(tuple((t.meta["id"], t.name) for t in loaded.catalog.values()))
        again = read_catalog(write(tmp_path / "again.jsonl", *map(tool_record, loaded.catalog.values())))
        assert again.catalog.fingerprint == loaded.catalog.fingerprint
        assert again.issues == ()
    assert len(names) == 1


def test_a_name_that_an_id_makes_may_be_there_already(tmp_path: Path) -> None:
    original = [tool("x", id="a:x"), tool("x", "2", id="b:x")]
    first = write(tmp_path / "first.jsonl", *original)
    converted = [tool_record(t) for t in read_catalog(first).catalog.values()]
    second = write(tmp_path / "second.jsonl", *converted)
    loaded = read_catalog(first, second)
    assert loaded.catalog.fingerprint == read_catalog(first).catalog.fingerprint
    assert [(i.path, i.line) for i in loaded.issues if i.severity == "duplicate"] == [
        (str(second), 1),
        (str(second), 2),
    ]
    write(second, *({**record, "description": "other"} for record in converted))
    loaded = read_catalog(first, second)
    assert [t.description for t in sorted(loaded.catalog.values(), key=lambda t: t.id)] == ["", "2"]
    assert [(i.path, i.line) for i in loaded.issues if i.severity == "error"] == [
        (str(second), 1),
        (str(second), 2),
    ]
    with pytest.raises(DuplicateToolError) as caught:
        read_catalog(first, second, strict=True)
    assert (caught.value.path, caught.value.line) == (str(second), 1)


def test_names_that_collide_cost_one_tool_and_not_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(naming, "_digest", lambda *parts: "0" * 16)
    records = [
        tool("x.y", "1", server="s", id="148589"),
        tool("x.y", "2", server="s", id="754351"),
        tool("x y", "3", server="s"),
        tool("fine"),
    ]
    loaded = read_catalog(write(tmp_path / "catalog.jsonl", *records))
    assert [t.description for t in loaded.catalog.values()] == ["", "1"]
    assert brief(loaded) == [(2, "error", "x.y"), (3, "error", "x y")]


def test_a_tool_with_the_name_of_a_built_in_one_is_offered_under_another(tmp_path: Path) -> None:
    """(E47)"""
    loaded = read_catalog(
        write(tmp_path / "catalog.jsonl", tool("tool_search"), tool("tool_search", server="s"))
    )
    assert "tool_search" not in loaded.catalog
    local, remote = sorted(loaded.catalog.values(), key=lambda t: t.source)
    assert local.raw_name == "tool_search"
    assert local.name.startswith("tool_search_")
    assert remote.name == "s__tool_search"
    assert brief(loaded) == [(1, "mended", "tool_search")]


def test_strict_stops_at_the_first_bad_definition_and_takes_mended_ones(tmp_path: Path) -> None:
    mended = {"name": "a", "input_schema": {"properties": {"x": {"type": "dict"}}}}
    assert list(read_catalog(write(tmp_path / "m.jsonl", mended), strict=True).catalog) == ["a"]
    with pytest.raises(SchemaError) as caught:
        read_catalog(write(tmp_path / "b.jsonl", mended, {"name": "b", "input_schema": 5}, {}), strict=True)
    assert caught.value.tool == "b"
    with pytest.raises(DefinitionError):
        read_catalog(write(tmp_path / "n.jsonl", {"description": "nameless"}), strict=True)
    (tmp_path / "c.jsonl").write_text("{}x\n", encoding="utf-8")
    with pytest.raises(CatalogFileError) as broken:
        read_catalog(tmp_path / "c.jsonl", strict=True)
    assert broken.value.line == 1


def test_what_is_read_is_in_the_catalog_or_named_as_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", tool("a"), tool("a"), tool("a", "other"), {"x": 1}, tool("b"), 7)
    loaded = read_catalog(path)
    left_out = [issue for issue in loaded.issues if issue.severity != "mended"]
    assert loaded.n_read == len(loaded.catalog) + len(left_out) == 6


def test_files_are_a_tool_source(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", tool("a"), tool("b"))
    source = FileSource(path, source="s")
    assert isinstance(source, ToolSource)
    assert source.name == str(path)
    assert [t.name for t in source.list_tools()] == ["s__a", "s__b"]
