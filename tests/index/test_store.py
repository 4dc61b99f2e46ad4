"""Tools on disk come back as they were, and only when they are asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.support import some_tools
from toolsearch.catalog import Catalog, tool_digest, tool_from_record, tool_record
from toolsearch.exceptions import IndexDamagedError, UnknownToolError
from toolsearch.index import store
from toolsearch.index.columns import ToolColumns
from toolsearch.index.store import OverlaidTools, StoredTools, tool_line, write_tools
from toolsearch.tokens import definition_tokens
from toolsearch.tools import Tool

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.builds(
    Tool,
    raw_name=st.text(min_size=1, max_size=20).filter(str.strip),
    source=TEXT,
    id=TEXT,
    description=st.text(),
    input_schema=st.dictionaries(TEXT, JSON, max_size=4),
    output_schema=st.none() | st.dictionaries(TEXT, JSON, max_size=2),
    title=TEXT,
    tags=st.lists(TEXT, max_size=3).map(tuple),
    search_hint=TEXT,
    pinned=st.booleans(),
    read_only=st.none() | st.booleans(),
    destructive=st.none() | st.booleans(),
    return_direct=st.booleans(),
    meta=st.dictionaries(TEXT, JSON, max_size=3) | st.just({"id": "some:id", "x": 1}),
)


def stored(folder: Path, catalog: Catalog) -> StoredTools:
    write_tools(folder, catalog)
    return StoredTools.read(folder, {name: row for row, name in enumerate(catalog)})


@settings(max_examples=200, deadline=None)
@given(TOOLS)
def test_a_record_gives_back_its_tool(tool: Tool) -> None:
    assert tool_from_record(json.loads(tool_line(tool))) == tool
    assert tool_from_record(tool_record(tool)).name == tool.name


def test_a_lone_surrogate_survives() -> None:
    tool = Tool(raw_name="broken", description="half \ud83d an emoji")
    assert tool_from_record(json.loads(tool_line(tool))) == tool


def test_line_i_is_the_ith_tool_by_name(tmp_path: Path) -> None:
    catalog = Catalog(some_tools(40))
    stored(tmp_path, catalog)
    lines = (tmp_path / "tools.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [tool_record(tool) for tool in catalog.values()]


def test_stored_tools_are_a_mapping_of_the_same_tools(tmp_path: Path) -> None:
    catalog = Catalog(some_tools(40))
    tools = stored(tmp_path, catalog)
    assert dict(tools) == dict(catalog)
    assert list(tools) == list(catalog)
    assert "nobody" not in tools
    with pytest.raises(KeyError):
        tools["nobody"]


def test_no_tools_are_stored_too(tmp_path: Path) -> None:
    assert dict(stored(tmp_path, Catalog())) == {}


def test_only_what_is_asked_for_is_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def spy(record: dict[str, Any]) -> Tool:
        decoded.append(record["name"])
        return tool_from_record(record)

    catalog = Catalog(some_tools(40))
    monkeypatch.setattr(store, "tool_from_record", spy)
    over = Catalog.over(stored(tmp_path, catalog), fingerprint=catalog.fingerprint, sources=catalog.sources)
    assert (len(over), list(over), over.sources) == (40, list(catalog), catalog.sources)
    assert over.fingerprint == catalog.fingerprint
    assert decoded == []
    name = list(catalog)[7]
    assert over[name] is over[name]
    assert over[name] == catalog[name]
    assert decoded == [catalog[name].raw_name]
    with pytest.raises(UnknownToolError):
        over["nobody"]


def test_no_more_than_so_many_decoded_tools_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "DECODED_TOOLS", 2)
    tools = stored(tmp_path, Catalog(some_tools(3)))
    first, second, third = tools
    kept = tools[first]
    assert tools[first] is kept
    _ = tools[second], tools[third]
    assert tools[first] is not kept
    assert tools[first] == kept


def test_a_catalog_over_stored_tools_changes_like_any_other(tmp_path: Path) -> None:
    catalog = Catalog(some_tools(6))
    over = Catalog.over(stored(tmp_path, catalog), fingerprint=catalog.fingerprint, sources=catalog.sources)
    first, *rest = catalog
    assert dict(over.without(first)) == {name: catalog[name] for name in rest}
    assert over.without(first).fingerprint == catalog.without(first).fingerprint
    assert not over.diff(catalog)


def test_a_line_of_another_tool_is_not_taken_for_it(tmp_path: Path) -> None:
    """(E138)"""
    catalog = Catalog(some_tools(4))
    snapshot = tmp_path / "index" / "snapshot"
    snapshot.mkdir(parents=True)
    stored(snapshot, catalog)
    file = snapshot / "tools.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    lines[1], lines[2] = lines[2], lines[1].replace(b"name", b"nome")
    file.write_bytes(b"".join(lines))
    np.save(snapshot / "tools.offsets.npy", np.cumsum([0, *map(len, lines)], dtype=np.int64))
    tools = StoredTools.read(snapshot, {name: row for row, name in enumerate(catalog)})
    names = list(catalog)
    assert tools[names[0]] == catalog[names[0]]
    with pytest.raises(IndexDamagedError, match=r"tools\.jsonl:2 is another tool") as caught:
        tools[names[1]]
    assert caught.value.path == tmp_path / "index"
    with pytest.raises(IndexDamagedError, match=r"tools\.jsonl:3 is not a tool"):
        tools[names[2]]


def test_offsets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    catalog = Catalog(some_tools(4))
    row_of = {name: row for row, name in enumerate(catalog)}
    stored(tmp_path, catalog)
    with pytest.raises(ValueError, match=r"\(5,\) offsets for 3 tools"):
        StoredTools.read(tmp_path, {name: row_of[name] for name in list(catalog)[:3]})
    with (tmp_path / "tools.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(ValueError, match="offsets do not fit"):
        StoredTools.read(tmp_path, row_of)


def test_overlaid_tools_prefer_the_newer_ones_and_copy_none(tmp_path: Path) -> None:
    older, newer = Catalog(some_tools(10)), Catalog(some_tools(10, version=2)[:4])
    names = sorted({*list(older)[2:], *newer})
    base = stored(tmp_path, older)
    once = OverlaidTools(names, base, newer)
    assert dict(once) == {name: newer[name] if name in newer else older[name] for name in names}
    twice = OverlaidTools(names[:-1], OverlaidTools(names, once, {}), {names[0]: older[names[0]]})
    assert list(twice) == names[:-1]
    assert twice[names[0]] == older[names[0]]
    assert names[-1] not in twice
    with pytest.raises(KeyError):
        twice[names[-1]]
    untouched = next(name for name in names[1:] if name not in newer)
    assert twice.part(untouched) is base


def test_overlaid_tools_write_the_lines_that_a_catalog_of_them_writes(tmp_path: Path) -> None:
    older, newer = Catalog(some_tools(10)), Catalog(some_tools(10, version=2)[:4])
    for name in ("base", "overlaid", "plain"):
        (tmp_path / name).mkdir()
    overlaid = OverlaidTools(sorted({*older, *newer}), stored(tmp_path / "base", older), newer)
    write_tools(tmp_path / "overlaid", overlaid)
    write_tools(tmp_path / "plain", Catalog(overlaid.values()))
    for file in ("tools.jsonl", "tools.offsets.npy"):
        assert (tmp_path / "overlaid" / file).read_bytes() == (tmp_path / "plain" / file).read_bytes()


def documents(tools: list[Tool]) -> list[str]:
    return [tool.description for tool in tools]


def test_columns_say_of_each_tool_what_it_says_itself(tmp_path: Path) -> None:
    tools = list(Catalog(some_tools(30)).values())
    ToolColumns.of(tools, documents(tools)).write(tmp_path)
    columns = ToolColumns.read(tmp_path)
    assert len(columns) == 30
    for row, tool in enumerate(tools):
        assert columns.row_of[tool.name] == row
        assert (columns.names[row], columns.raw_names[row]) == (tool.name, tool.raw_name)
        assert (columns.sources[row], columns.tags[row]) == (tool.source, tool.tags)
        assert (columns.read_only[row], columns.destructive[row]) == (tool.read_only, tool.destructive)
        assert columns.pinned[row] == tool.pinned
        assert columns.tokens[row] == definition_tokens(tool.definition)
        assert columns.tool_digests[row].hex() == tool_digest(tool)
    assert columns.fingerprint == Catalog(tools).fingerprint
    assert {source: rows.tolist() for source, rows in columns.source_rows.items()} == {
        source: [row for row, tool in enumerate(tools) if tool.source == source]
        for source in ("", "files", "mail")
    }
    assert columns.tag_rows["slow"].tolist() == [row for row, tool in enumerate(tools) if tool.tags]


def test_updated_columns_equal_fresh_ones(tmp_path: Path) -> None:
    tools = some_tools(12)
    old, new = tools[:8], tools[8:]
    source_rows = np.array([5, -1, 0, -1, -1, 7, -1])
    pending = iter(new)
    merged = [old[row] if row >= 0 else next(pending) for row in source_rows]
    updated = ToolColumns.of(old, documents(old)).updated(source_rows, ToolColumns.of(new, documents(new)))
    for name, columns in (("a", updated), ("b", ToolColumns.of(merged, documents(merged)))):
        (tmp_path / name).mkdir()
        columns.write(tmp_path / name)
    for file in ("columns.json", "columns.npy"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
