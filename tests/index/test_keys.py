"""`Keys` against sorted lists of Python strings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.index import snapshot
from toolsearch.index.keys import Keys
from toolsearch.index.names import NameIndex
from toolsearch.index.tool_index import ToolIndex
from toolsearch.testing import HashingEmbedder

from .support import some_tools

LETTERS = st.text(alphabet="abß天\ud800😀", min_size=1, max_size=5)


@pytest.fixture(params=["listed", "in arrays"], scope="module")
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How texts are looked at: a table of few keeps a list of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolsearch.index.keys._LISTED", 65_536 if request.param == "listed" else -1)
        yield request.param


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(LETTERS, max_size=30), part=LETTERS)
def test_texts_are_found_whole_and_by_either_end(way: str, texts: list[str], part: str) -> None:
    keys = Keys.build((text, row) for row, text in enumerate(texts))
    rows = {text: [row for row, each in enumerate(texts) if each == text] for text in texts}
    assert set(keys) == set(rows)
    assert [keys.rows_of(text) for text in rows] == list(rows.values())
    assert keys.rows_of(part) == rows.get(part, [])
    assert (part in keys) == (part in rows)
    assert dict(keys.starting_with(part)) == {t: rows[t] for t in rows if t.startswith(part)}
    assert dict(keys.ending_with(part)) == {t: rows[t] for t in rows if t.endswith(part)}


@given(texts=st.lists(LETTERS, max_size=30), length=st.integers(0, 6))
@settings(max_examples=50, deadline=None)
def test_a_length_leaves_out_no_text_that_is_near_it(way: str, texts: list[str], length: int) -> None:
    keys = Keys.build((text, row) for row, text in enumerate(texts))
    near = {text for text in texts if abs(len(text) - length) <= 1}
    assert {t for t, _ in keys.starting_with("a", length=length)} >= {t for t in near if t[0] == "a"}
    assert {t for t, _ in keys.ending_with("a", length=length)} >= {t for t in near if t[-1] == "a"}


def test_a_pair_that_comes_twice_counts_once(tmp_path: Path) -> None:
    keys = Keys.build([("b", 0), ("a", 1), ("b", 0), ("b", 2)])
    keys.write(tmp_path)
    for each in (keys, Keys.read(tmp_path, 3)):
        assert (list(each), each.rows_of("b"), len(each)) == (["a", "b"], [0, 2], 2)


def test_no_keys_are_written_and_read(tmp_path: Path) -> None:
    Keys.build([]).write(tmp_path)
    keys = Keys.read(tmp_path, 0)
    assert (len(keys), list(keys), keys.rows_of("a"), list(keys.starting_with("a"))) == (0, [], [], [])


@pytest.mark.parametrize("file", ["text", "starts", "firsts", "rows", "backwards"])
def test_a_file_of_other_keys_is_refused(file: str, tmp_path: Path) -> None:
    for name, n in (("a", 40), ("b", 30)):
        (tmp_path / name).mkdir()
        Keys.build((f"name{i}", i) for i in range(n)).write(tmp_path / name)
    name = f"names.{file}.npy"
    (tmp_path / "b" / name).replace(tmp_path / "a" / name)
    with pytest.raises(ValueError, match="keys of the names"):
        Keys.read(tmp_path / "a", 40)
    np.save(tmp_path / "a" / name, np.zeros(3, np.float64))
    with pytest.raises(ValueError, match="keys of the names"):
        Keys.read(tmp_path / "a", 40)


def test_many_names_are_kept_with_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "NAMES_KEPT_FROM", 50)
    embedder = HashingEmbedder(32)
    few, many = (ToolIndex.build(some_tools(n), embedder) for n in (49, 50))
    assert not any(name.startswith("names.") for name in few.save(tmp_path / "few").files)
    assert any(name.startswith("names.") for name in many.save(tmp_path / "many").files)
    monkeypatch.setattr(Keys, "build", None)
    loaded = ToolIndex.load(tmp_path / "many", embedder)
    for query in ("send_message_0", "messge_25", "mail.delete_page_35", "message_0", "`send message 0`"):
        assert loaded.name_index.resolve(query) == many.name_index.resolve(query)
    assert loaded.name_index.near("sned_mesage_0") == many.name_index.near("sned_mesage_0")
    monkeypatch.undo()
    less = loaded.without(loaded.columns.names[0])
    assert not any(name.startswith("names.") for name in less.save(tmp_path / "less").files)


def test_near_among_many_names_looks_at_those_that_begin_or_end_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"{('send', 'list', 'drop')[i % 3]}_{'thing' * (i % 2)}_{i}" for i in range(300)]
    index = NameIndex.build(names, [""] * 300, names)
    monkeypatch.setattr("toolsearch.index.names.COMPARED_ALL", 100)
    assert [names[row] for row in index.near("sendd_thing_87")][:1] == ["send_thing_87"]
