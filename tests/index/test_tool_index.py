"""`ToolIndex`: what is built, updated, saved and loaded is the same index."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.processes import die_at_step, on_each_step, processes, read_while_writing, run
from tests.index.support import contents, some_tools
from toolsearch.catalog import Catalog
from toolsearch.document import render_document
from toolsearch.exceptions import (
    DuplicateToolError,
    EmbeddingError,
    IndexDamagedError,
    IndexFormatError,
    ReservedNameError,
    UnknownToolError,
)
from toolsearch.index import tool_index
from toolsearch.index.embedding import MAX_TEXTS_PER_CALL
from toolsearch.index.folder import save_folder
from toolsearch.index.snapshot import Snapshot
from toolsearch.index.tool_index import ToolIndex
from toolsearch.index.vectors import Kind
from toolsearch.testing import FlakyEmbedder, HashingEmbedder
from toolsearch.tools import JsonObject, Tool


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder(32)


def found(index: ToolIndex, query: str, k: int = 5) -> list[str]:
    (result,) = index.vectors.search(HashingEmbedder(32).embed_queries([query]), k)
    return [index.columns.names[row] for row in result.rows]


def assert_same(first: ToolIndex, second: ToolIndex, folder: Path) -> None:
    """All that is kept of two indexes is the same, to the byte."""
    for name, index in (("first", first), ("second", second)):
        index.save(folder / name)
    assert contents(folder / "first") == contents(folder / "second")
    assert dict(first.catalog) == dict(second.catalog)
    assert first.catalog.fingerprint == second.catalog.fingerprint
    assert first.catalog.sources == second.catalog.sources


def test_rows_follow_the_names_in_every_part(embedder: HashingEmbedder) -> None:
    catalog = Catalog(reversed(some_tools(60)))
    index = ToolIndex.build(catalog, embedder)
    assert index.catalog is catalog
    assert index.columns.names == tuple(catalog)
    assert len(index) == len(index.vectors) == len(index.lexicon) == len(index.name_index) == 60
    for row, tool in enumerate(catalog.values()):
        assert index.tool(row) is tool
        assert index.row_of(tool.name) == row
        (expected,) = embedder.embed_documents([render_document(tool)])
        assert np.allclose(index.vectors.vector(row), expected, atol=1e-6)
        assert index.lexicon.scores(f"{tool.raw_name}").raw.argmax() == row
        assert index.name_index.resolve(tool.name)[0].row == row
    assert index.row_of("nobody") is None


def test_equal_tools_rank_by_name_in_any_order_of_insertion(embedder: HashingEmbedder) -> None:
    """(E129)"""
    tools = [Tool(raw_name=f"do_it_{c}", description="Do it.") for c in "fbdace"]
    alike = [replace(tool, raw_name="x", source=tool.raw_name[-1] * 3) for tool in tools]
    for seed in range(5):
        random.Random(seed).shuffle(alike)
        index = ToolIndex.build(
            Catalog(alike), FlakyEmbedder(embedder, rows=dict.fromkeys(texts(alike), ONE))
        )
        assert found(index, "do it", k=3) == ["aaa__x", "bbb__x", "ccc__x"]


ONE = [1.0] + 31 * [0.0]


def texts(tools: list[Tool]) -> list[str]:
    return [render_document(tool) for tool in tools]


def test_each_text_is_embedded_once_in_calls_of_bounded_size() -> None:
    """(E148)"""
    tools = some_tools(1300)
    embedder = HashingEmbedder(32)
    told: list[tuple[int, int]] = []
    flaky = FlakyEmbedder(embedder, max_texts=512)
    index = ToolIndex.build(Catalog(tools), flaky, progress=lambda done, total: told.append((done, total)))
    assert sorted(embedder.embedded) == sorted(texts(tools))
    assert max(map(len, embedder.document_calls)) == MAX_TEXTS_PER_CALL == 512
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (1300, 1300)
    assert found(index, render_document(tools[777]), k=1) == [tools[777].name]


def test_a_failing_embedder_is_not_answered_for(embedder: HashingEmbedder) -> None:
    failing = FlakyEmbedder(embedder, failures=[EmbeddingError("overloaded")])
    with pytest.raises(EmbeddingError, match="overloaded"):
        ToolIndex.build(Catalog(some_tools(3)), failing)


def test_rows_of_any_length_become_unit_rows(embedder: HashingEmbedder) -> None:
    """(E147)"""
    a, b = Tool(raw_name="a"), Tool(raw_name="b")
    east = np.eye(1, 32, dtype=np.float32)
    rows = {render_document(a): [10.0, 10.0] + 30 * [0.0], render_document(b): east[0].tolist()}
    index = ToolIndex.build(Catalog([a, b]), FlakyEmbedder(embedder, rows=rows))
    (result,) = index.vectors.search(east, k=2)
    assert [index.columns.names[row] for row in result.rows] == ["b", "a"]
    assert result.scores.tolist() == pytest.approx([1.0, 0.5**0.5])


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_a_loaded_index_is_the_saved_one(kind: Kind, embedder: HashingEmbedder, tmp_path: Path) -> None:
    catalog = Catalog(some_tools(60))
    index = ToolIndex.build(catalog, embedder, kind=kind)
    manifest = index.with_calibration({"scores": [0.25]}).save(tmp_path / "index")
    loaded = ToolIndex.load(tmp_path / "index", embedder)
    assert manifest.summary == loaded.summary == index.summary
    assert loaded.summary.vectors == kind
    assert loaded.calibration == {"scores": [0.25]}
    assert loaded.path == tmp_path / "index"
    assert dict(loaded.catalog) == dict(catalog)
    assert loaded.catalog.fingerprint == catalog.fingerprint
    for query in ("send a message", "folder number 7", "nothing"):
        assert found(loaded, query, k=60) == found(index, query, k=60)
        assert np.array_equal(loaded.lexicon.scores(query).raw, index.lexicon.scores(query).raw)
    assert ToolIndex.verify(tmp_path / "index") == manifest
    loaded.save(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(tmp_path / "index")


def test_every_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """Whatever the seed of its hashes and its number of threads (E191)."""
    script = """
import sys
from tests.index.support import some_tools
from toolsearch.catalog import Catalog
from toolsearch.index.tool_index import ToolIndex
from toolsearch.testing import HashingEmbedder
catalog = Catalog(some_tools(300))
for kind in ("flat", "ivf", "hnsw"):
    ToolIndex.build(catalog, HashingEmbedder(32), kind=kind).save(f"{sys.argv[1]}/{kind}")
"""
    for seed, threads in (("0", "1"), ("1", "4")):
        variables = os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
        subprocess.run([sys.executable, "-c", script, str(tmp_path / seed)], env=variables, check=True)
    assert contents(tmp_path / "0") == contents(tmp_path / "1")


def test_an_empty_catalog_is_saved_and_loaded(embedder: HashingEmbedder, tmp_path: Path) -> None:
    ToolIndex.build(Catalog(), embedder).save(tmp_path / "index")
    loaded = ToolIndex.load(tmp_path / "index", embedder)
    assert (len(loaded), found(loaded, "anything")) == (0, [])
    grown = loaded.with_tools(some_tools(2), embedder)
    assert_same(grown, ToolIndex.build(Catalog(some_tools(2)), embedder), tmp_path)


def test_an_update_embeds_only_what_changed(embedder: HashingEmbedder, tmp_path: Path) -> None:
    old, new = some_tools(50), some_tools(55, version=2)[5:]
    ToolIndex.build(Catalog(old), embedder).save(tmp_path / "index")
    embedder.document_calls.clear()
    updated = ToolIndex.load(tmp_path / "index").update(Catalog(new), embedder)
    assert sorted(embedder.embedded) == sorted(set(texts(new)) - set(texts(old)))
    assert_same(updated, ToolIndex.build(Catalog(new), HashingEmbedder(32)), tmp_path)


def test_an_update_serves_the_tools_it_was_given(embedder: HashingEmbedder) -> None:
    index = ToolIndex.build(Catalog(some_tools(3)), embedder)

    async def call(arguments: JsonObject, context: object) -> str:
        return f"called with {arguments} and {context}"

    live = Catalog(replace(tool, call=call) for tool in some_tools(3))
    assert index.update(live, embedder).tool(0).call is call


def test_a_tool_that_only_moved_is_not_embedded_again(embedder: HashingEmbedder, tmp_path: Path) -> None:
    old = some_tools(10)
    index = ToolIndex.build(Catalog(old), embedder)
    # A variant is part of the public name but not of the text.
    new = [replace(tool, id="v2") for tool in old]
    embedder.document_calls.clear()
    updated = index.update(Catalog(new), embedder)
    assert embedder.embedded == []
    assert_same(updated, ToolIndex.build(Catalog(new), embedder), tmp_path)


def test_another_order_of_parameters_is_a_change(embedder: HashingEmbedder, tmp_path: Path) -> None:
    one, other = (
        {"a": {"type": "string"}, "b": {"type": "string"}},
        {"b": {"type": "string"}, "a": {"type": "string"}},
    )
    old, new = (Tool(raw_name="t", input_schema={"type": "object", "properties": p}) for p in (one, other))
    updated = ToolIndex.build(Catalog([old]), embedder).update(Catalog([new]), embedder)
    assert_same(updated, ToolIndex.build(Catalog([new]), embedder), tmp_path)


CATALOGS = st.dictionaries(st.integers(0, 11), st.integers(1, 2), max_size=10).map(
    lambda versions: Catalog(some_tools(12, version=version)[i] for i, version in versions.items())
)


@settings(max_examples=25, deadline=None)
@given(old=CATALOGS, new=CATALOGS, through_disk=st.booleans())
def test_an_updated_index_is_a_fresh_one(
    old: Catalog, new: Catalog, through_disk: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder, embedder = tmp_path_factory.mktemp("update"), HashingEmbedder(32)
    index = ToolIndex.build(old, embedder)
    if through_disk:
        index.save(folder / "index")
        index = ToolIndex.load(folder / "index")
    fresh = ToolIndex.build(new, embedder)
    assert_same(index.update(new, embedder), fresh, folder)
    step_by_step = index.with_tools(new.values(), embedder, replace=True)
    assert_same(step_by_step.without(*(set(old) - set(new))), fresh, folder)
    assert_same(step_by_step.restricted(names=new), fresh, folder)


def test_a_tool_that_is_refreshed_occurs_once_with_its_newest_text(embedder: HashingEmbedder) -> None:
    """(E142)"""
    index = ToolIndex.build(Catalog(), embedder)
    for edition in ("violet", "green", "orange"):
        index = index.with_tools(
            [Tool(raw_name="paint", description=f"Paint it {edition}.")], embedder, replace=True
        )
    assert (len(index), len(index.vectors), len(index.lexicon)) == (1, 1, 1)
    assert found(index, "orange") == ["paint"]
    assert index.catalog["paint"].description == "Paint it orange."
    assert index.lexicon.scores("violet").raw.tolist() == [0.0]


def test_adding_refuses_names_that_are_taken(embedder: HashingEmbedder) -> None:
    index = ToolIndex.build(Catalog(some_tools(3)), embedder)
    with pytest.raises(DuplicateToolError):
        index.with_tools(some_tools(4), embedder)
    with pytest.raises(ReservedNameError):
        index.with_tools([Tool(raw_name="tool_search")], embedder)
    with pytest.raises(UnknownToolError):
        index.without("nobody")


def test_an_index_is_not_changed_by_its_updates(embedder: HashingEmbedder, tmp_path: Path) -> None:
    index = ToolIndex.build(Catalog(some_tools(20)), embedder).with_calibration({"scores": [1]})
    index.save(tmp_path / "before")
    changed = index.with_tools(some_tools(25)[20:], embedder)
    smaller = index.without("mail__send_message_0")
    assert (len(changed), len(smaller), len(index)) == (25, 19, 20)
    assert changed.calibration is smaller.calibration is None
    index.save(tmp_path / "after")
    assert contents(tmp_path / "before") == contents(tmp_path / "after")


def test_sources_that_are_gone_are_neither_found_nor_listed_nor_saved(
    embedder: HashingEmbedder, tmp_path: Path
) -> None:
    """(E143)"""
    tools = some_tools(60, sources=("mail", "drive", ""))
    ToolIndex.build(Catalog(tools), embedder).save(tmp_path / "index")
    whole = ToolIndex.load(tmp_path / "index", embedder)
    only = whole.restricted(sources={"mail", "unheard of"})
    kept = [tool for tool in tools if tool.source == "mail"]
    assert dict(only.catalog) == dict(Catalog(kept))
    assert "drive__list_message_1" not in only.catalog
    for query in texts(tools):
        assert set(found(only, query, k=60)) == {tool.name for tool in kept}
    assert only.name_index.resolve("drive__list_message_1") == []
    only.save(tmp_path / "index")
    stored = b"".join(contents(tmp_path / "index").values())
    assert b"mail" in stored
    assert b"drive" not in stored
    assert_same(only, ToolIndex.build(Catalog(kept), embedder), tmp_path)


def test_a_restriction_to_names_takes_only_known_ones(embedder: HashingEmbedder) -> None:
    index = ToolIndex.build(Catalog(some_tools(6)), embedder)
    name = index.columns.names[3]
    assert list(index.restricted(names=[name]).catalog) == [name]
    assert len(index.restricted(names=[])) == 0
    assert len(index.restricted()) == 6
    with pytest.raises(UnknownToolError, match="nobody"):
        index.restricted(names=["nobody"])


@pytest.mark.parametrize("flags", [[], ["-O"]])
def test_an_index_of_another_embedder_is_refused(flags: list[str], tmp_path: Path) -> None:
    """(E135)"""
    ToolIndex.build(Catalog(some_tools(3)), HashingEmbedder(384)).save(tmp_path / "index")
    script = """
import sys
from toolsearch.exceptions import IndexMismatchError
from toolsearch.index.tool_index import ToolIndex
from toolsearch.testing import HashingEmbedder
for act in (
    lambda: ToolIndex.load(sys.argv[1], HashingEmbedder(768)),
    lambda: ToolIndex.load(sys.argv[1]).check_embedder(HashingEmbedder(768)),
    lambda: ToolIndex.load(sys.argv[1]).without().with_tools([], HashingEmbedder(768)),
):
    try:
        act()
    except IndexMismatchError as error:
        assert "index build" in str(error)
        print("384" in str(error), "768" in str(error), error.built_with, error.loaded_with)
"""
    command = [sys.executable, *flags, "-c", script, str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == 3 * ["True True hashing-v1@384 hashing-v1@768"]


def test_texts_of_another_version_must_be_rebuilt(
    embedder: HashingEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_index, "DOCUMENT_VERSION", 0)
    ToolIndex.build(Catalog(some_tools(3)), embedder).save(tmp_path / "index")
    monkeypatch.undo()
    for read in (ToolIndex.load, ToolIndex.verify):
        with pytest.raises(IndexFormatError, match=r"texts of version 0.*index build"):
            read(tmp_path / "index")


@pytest.mark.parametrize("part", ["tools", "columns", "vectors", "lexicon"])
def test_parts_of_different_indexes_are_not_put_together(
    part: str, embedder: HashingEmbedder, tmp_path: Path
) -> None:
    """(E138)"""
    one, other = (ToolIndex.build(Catalog(some_tools(n)), embedder) for n in (20, 21))
    parts = Snapshot(one.tools, one.columns, one.vectors, one.lexicon, one.name_index, None)
    mixed = replace(parts, **{part: getattr(other, part)})
    save_folder(tmp_path / "index", one.summary, mixed.write)
    with pytest.raises(IndexDamagedError):
        ToolIndex.load(tmp_path / "index", embedder)


def test_a_deep_look_finds_what_fits_but_is_wrong(embedder: HashingEmbedder, tmp_path: Path) -> None:
    """(E138)"""
    one, other = (ToolIndex.build(Catalog(some_tools(20, version=v)), embedder) for v in (1, 2))
    for part in ("tools", "columns"):
        parts = Snapshot(one.tools, one.columns, one.vectors, one.lexicon, one.name_index, None)
        mixed = replace(parts, **{part: getattr(other, part)})
        save_folder(tmp_path / part, one.summary, mixed.write)
        with pytest.raises(IndexDamagedError):
            ToolIndex.verify(tmp_path / part)


def test_every_truncated_file_is_noticed(embedder: HashingEmbedder, tmp_path: Path) -> None:
    """(E138)"""
    index = ToolIndex.build(Catalog(some_tools(20)), embedder)
    manifest = index.save(tmp_path / "index")
    for name in manifest.files:
        file = tmp_path / "index" / manifest.snapshot / name
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        with pytest.raises(IndexDamagedError) as caught:
            ToolIndex.load(tmp_path / "index", embedder)
        assert caught.value.file == name
        index.save(tmp_path / "index")


def test_garbage_of_the_right_size_is_a_named_error(embedder: HashingEmbedder, tmp_path: Path) -> None:
    index = ToolIndex.build(Catalog(some_tools(20)), embedder)
    manifest = index.save(tmp_path / "index")
    for name in ("columns.json", "columns.npy", "tools.offsets.npy", "vectors.faiss", "lexicon.json"):
        file = tmp_path / "index" / manifest.snapshot / name
        file.write_bytes(b"\xff" * file.stat().st_size)
        with pytest.raises(IndexDamagedError, match=str(tmp_path)):
            ToolIndex.load(tmp_path / "index", embedder, verify="size")
        index.save(tmp_path / "index")


def test_any_damage_to_a_file_that_is_not_hashed_is_harmless_or_a_named_error(
    embedder: HashingEmbedder, tmp_path: Path
) -> None:
    index = ToolIndex.build(Catalog(some_tools(20)), embedder)
    manifest = index.save(tmp_path / "index")
    rng, errors = np.random.default_rng(0), 0
    for name in sorted(manifest.files.keys() - {"vectors.faiss", "tools.jsonl"}):
        file = tmp_path / "index" / manifest.snapshot / name
        whole = file.read_bytes()
        for _ in range(25):
            damaged = bytearray(whole)
            # The header of an array is Python source.
            for place in rng.integers(min(len(whole), 160), size=rng.choice([1, 4])):
                damaged[place] = rng.integers(256)
            file.write_bytes(damaged)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ToolIndex.load(tmp_path / "index", embedder, verify="size")
            except (IndexDamagedError, IndexFormatError) as exc:
                errors += str(tmp_path) in str(exc)
        file.write_bytes(whole)
    assert errors > 100


def save_with_little_room(path: Path, kind: Kind, room: int, result: Connection) -> None:
    """Tell what comes of a build when no file may grow past `room` bytes, as on a full disk."""
    if sys.platform == "win32":
        return
    import resource

    index = ToolIndex.build(Catalog(some_tools(40, version=2)), HashingEmbedder(32), kind=kind)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    try:
        index.save(path)
    except OSError:
        result.send("no room")
    else:
        result.send("saved")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of file sizes")
@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
def test_a_disk_that_is_full_at_any_file_is_an_os_error_and_leaves_the_old_index(
    kind: Kind, tmp_path: Path
) -> None:
    """One byte too few for each file in turn, so also where only the last buffer does not fit (E140)."""
    path, embedder = tmp_path / "index", HashingEmbedder(32)
    ToolIndex.build(Catalog(some_tools(40)), embedder).save(path)
    before = contents(path)
    index = ToolIndex.build(Catalog(some_tools(40, version=2)), embedder, kind=kind)
    sizes = {entry.size for entry in index.save(tmp_path / "other").files.values()}
    for size in sorted(sizes):
        receiver, sender = processes.Pipe(duplex=False)
        assert run(save_with_little_room, path, kind, size - 1, sender) == 0
        assert receiver.recv() == "no room"
        assert contents(path) == before


def build_and_save(path: Path) -> None:
    ToolIndex.build(Catalog(some_tools(40, version=2)), HashingEmbedder(32)).save(path)


def steps_of_a_build(path: Path, result: Connection) -> None:
    steps: list[None] = []
    on_each_step(lambda: steps.append(None))
    build_and_save(path)
    result.send(len(steps))


def build_and_die(path: Path, step: int, delay_s: float) -> None:
    die_at_step(step, delay_s=delay_s)
    build_and_save(path)


@pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")
def test_a_build_killed_at_twenty_moments_leaves_the_old_or_the_new_index(tmp_path: Path) -> None:
    """(E140)"""
    path, embedder = tmp_path / "index", HashingEmbedder(32)
    old, new = (ToolIndex.build(Catalog(some_tools(40, version=v)), embedder) for v in (1, 2))
    old.save(path)
    clean = contents(path)
    old.save(tmp_path / "counted")
    receiver, sender = processes.Pipe(duplex=False)
    assert run(steps_of_a_build, tmp_path / "counted", sender) == 0
    n_steps = receiver.recv()

    random_moments = random.Random(20)
    seen = []
    for i in range(20):
        step = 1 + int((i + random_moments.random()) * n_steps / 20)
        code = run(build_and_die, path, step, random_moments.uniform(1e-5, 2e-3))
        assert code in {-signal.SIGALRM, 0}
        seen.append(ToolIndex.verify(path).summary.catalog_fingerprint)
        expected = {index.catalog.fingerprint: index for index in (old, new)}[seen[-1]]
        loaded = ToolIndex.load(path, embedder)
        assert dict(loaded.catalog) == dict(expected.catalog)
        assert found(loaded, "send a message", k=40) == found(expected, "send a message", k=40)
        old.save(path)
        assert contents(path) == clean
    assert (seen[0], seen[-1]) == (old.catalog.fingerprint, new.catalog.fingerprint)


def loaded_version(path: Path) -> int:
    """The number of tools of an index in which the text and the vector of every row go together."""
    embedder = HashingEmbedder(32)
    index = ToolIndex.load(path, embedder)
    expected = embedder.embed_documents([render_document(tool) for tool in index.catalog.values()])
    cosines = [index.vectors.similarity(vector, [row])[0] for row, vector in enumerate(expected)]
    assert np.allclose(cosines, 1.0, atol=1e-5)
    return len(index)


def test_readers_in_other_processes_load_whole_indexes_while_one_writes(tmp_path: Path) -> None:
    path, embedder = tmp_path / "index", HashingEmbedder(32)
    versions = [ToolIndex.build(Catalog(some_tools(30 + v, version=v)), embedder) for v in range(3)]
    versions[0].save(path)
    held = ToolIndex.load(path)
    turns = itertools.cycle(versions)
    assert set(read_while_writing(loaded_version, path, lambda: next(turns).save(path))) <= {30, 31, 32}
    # What was loaded before all that is still there, though its files are not.
    assert dict(held.catalog) == dict(versions[0].catalog)
    assert found(held, "send a message") == found(versions[0], "send a message")
