"""Configuration files that are changed: an entry comes or goes, everything else stays as it was."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.exceptions import McpConfigError
from toolsearch.sources.config_file import ConfigFile
from toolsearch.sources.json_members import with_member, without_member

ENTRY = {"command": "uvx", "args": ["mcp-server-time"]}

INDENTED = """{
    "theme" : "dark",   "n": 1.50,
    "mcpServers": {
        "notes": {"command": "node", "args": ["a\\u00e9.js"]}
    },

    "last": [1,2]
}
"""


def text_after(tmp_path: Path, text: str, name: str = "time", entry: Any = ENTRY, **options: Any) -> str:
    path = tmp_path / "mcp.json"
    path.write_bytes(text.encode())
    ConfigFile(path).add(name, entry, **options)
    return path.read_bytes().decode()


def test_an_entry_is_laid_out_like_its_neighbours_and_nothing_else_changes(tmp_path: Path) -> None:
    added = """{"command": "node", "args": ["a\\u00e9.js"]},
        "time": {
            "command": "uvx",
            "args": [
                "mcp-server-time"
            ]
        }"""
    expected = INDENTED.replace('{"command": "node", "args": ["a\\u00e9.js"]}', added)
    assert text_after(tmp_path, INDENTED) == expected
    ConfigFile(tmp_path / "mcp.json").remove("time")
    assert (tmp_path / "mcp.json").read_text(encoding="utf-8") == INDENTED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "mcpServers": {\n    "t": {\n      "url": "u"\n    }\n  }\n}'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"t": {"url": "u"}}}'),
        ('{"servers":{"x":{}}}', '{"servers":{"x":{}, "t": {"url": "u"}}}'),
        ('{"mcpServers": {"t": 7}, "b": 2}', '{"mcpServers": {"t": {"url": "u"}}, "b": 2}'),
        (
            '{\r\n\t"mcpServers": {}\r\n}',
            '{\r\n\t"mcpServers": {\r\n\t\t"t": {\r\n\t\t\t"url": "u"\r\n\t\t}\r\n\t}\r\n}',
        ),
    ],
)
def test_an_entry_finds_its_place(tmp_path: Path, text: str, expected: str) -> None:
    assert text_after(tmp_path, text, "t", {"url": "u"}) == expected


def test_a_document_stands_under_a_key_of_its_own(tmp_path: Path) -> None:
    text = text_after(tmp_path, INDENTED, "pets", {"document": "pets.yaml"}, is_document=True)
    assert json.loads(text) == {**json.loads(INDENTED), "openapi": {"pets": {"document": "pets.yaml"}}}
    assert text.startswith(INDENTED.rstrip("}\n"))
    assert ConfigFile(tmp_path / "mcp.json").entries() == {
        "notes": ("mcpServers", {"command": "node", "args": ["aé.js"]}),
        "pets": ("openapi", {"document": "pets.yaml"}),
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(
    root=st.dictionaries(st.text(max_size=5), json_values, max_size=4),
    servers=st.none() | st.dictionaries(st.text(max_size=5), json_values, max_size=4),
    name=st.text(max_size=5),
    indent=st.sampled_from([None, 0, 2, "\t"]),
)
def test_any_object_holds_the_entry_afterwards_and_not_once_it_is_removed(
    root: dict[str, Any], servers: dict[str, Any] | None, name: str, indent: Any
) -> None:
    whole = {**root, **({} if servers is None else {"mcpServers": servers})}
    if not isinstance(whole.get("mcpServers", {}), dict):
        return
    text = json.dumps(whole, indent=indent)
    added = with_member(text, ("mcpServers", name), ENTRY)
    assert json.loads(added) == {**whole, "mcpServers": {**whole.get("mcpServers", {}), name: ENTRY}}
    without = {key: value for key, value in whole.get("mcpServers", {}).items() if key != name}
    removed = without_member(added, ("mcpServers", name))
    assert json.loads(removed) == {**whole, "mcpServers": without}


def test_a_name_that_is_there_twice_is_gone_altogether(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"url": "1"}, "b": 0, "a": {"url": "2"}}}')
    ConfigFile(path).remove("a")
    assert path.read_text() == '{"mcpServers": {"b": 0}}'


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions and links")
def test_links_and_permissions_stay_and_no_other_file_does(tmp_path: Path) -> None:
    real, link = tmp_path / "real" / "mcp.json", tmp_path / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to(real)
    ConfigFile(link).add("time", ENTRY)
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"mcpServers": {"time": ENTRY}}
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["mcp.json"]


def test_a_new_file_can_be_read_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mcp.json"
    assert ConfigFile(path).entries() == {}
    ConfigFile(path).add("time", ENTRY)
    assert ConfigFile(path).entries() == {"time": ("mcpServers", ENTRY)}
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_another_program_wrote_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text("{}")
    synced = os.fsync

    def other_writer(handle: int) -> None:
        synced(handle)
        path.write_text('{"other": 1}')

    monkeypatch.setattr(os, "fsync", other_writer)
    with pytest.raises(McpConfigError, match=r"another program changed it meanwhile\. Try again"):
        ConfigFile(path).add("time", ENTRY)
    assert path.read_text() == '{"other": 1}'
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"mcpServers: {}\n", r"it is no JSON \(line 1: .*\), so nothing can be added"),
        (b"[]", "it is no JSON object"),
        (b'{"mcpServers": "x"}', "its 'mcpServers' is no object"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_changed_stays_as_it_is(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(content)
    with pytest.raises(McpConfigError, match=said):
        ConfigFile(path).add("time", ENTRY)
    assert path.read_bytes() == content


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(b"\xef\xbb\xbf{}")
    ConfigFile(path).add("time", ENTRY)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf{")


def test_a_source_that_is_not_there_cannot_be_removed(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(McpConfigError, match="MCP server 'x': there is no such source"):
        ConfigFile(path).remove("x")


def test_yaml_is_read_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "sources.yaml"
    path.write_text("mcpServers: {time: {command: uvx}} # mine\n")
    file = ConfigFile(path)
    assert file.entries() == {"time": ("mcpServers", {"command": "uvx"})}
    with pytest.raises(McpConfigError, match="Edit it by hand"):
        file.remove("time")
    assert path.read_text() == "mcpServers: {time: {command: uvx}} # mine\n"
