"""An index folder is always the whole old or the whole new index, and never read unchecked."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.index.processes import die_at_step, on_each_step, processes, read_while_writing, run
from tests.index.support import contents
from toolsearch.exceptions import (
    IndexDamagedError,
    IndexFormatError,
    IndexLockedError,
    IndexNotFoundError,
    ToolIndexError,
)
from toolsearch.index.folder import load_folder, read_manifest, save_folder
from toolsearch.index.lock import write_lock
from toolsearch.index.manifest import FileEntry, IndexSummary, Manifest

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
needs_sigkill = pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")


def summary(text: str) -> IndexSummary:
    return IndexSummary(
        n_tools=len(text),
        catalog_fingerprint=hashlib.sha256(text.encode()).hexdigest(),
        document_version=1,
        embedder_id="test",
        dim=2,
        vectors="flat",
        recall_at_10=1.0,
    )


def writer(text: str) -> Callable[[Path], None]:
    """Writes two files and one in a folder, which hold `text` in different numbers."""

    def write(folder: Path) -> None:
        (folder / "part").mkdir()
        for times, name in enumerate(("a.txt", "b.txt", "part/c.txt"), start=1):
            (folder / name).write_text(text * times)

    return write


def save(path: Path, text: str) -> Manifest:
    return save_folder(path, summary(text), writer(text))


def read(manifest: Manifest, folder: Path) -> str:
    """The text, if all files and the manifest are of one."""
    text = (folder / "a.txt").read_text()
    assert (folder / "b.txt").read_text() == 2 * text
    assert (folder / "part/c.txt").read_text() == 3 * text
    assert manifest.summary == summary(text)
    return text


def load(path: Path) -> str:
    return load_folder(path, read)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """An index of the text "old"."""
    save(tmp_path / "index", "old")
    return tmp_path / "index"


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    manifest = save(tmp_path / "some" / "where", "text")
    assert load(tmp_path / "some" / "where") == "text"
    assert read_manifest(tmp_path / "some" / "where") == manifest
    assert set(manifest.files) == {"a.txt", "b.txt", "part/c.txt"}
    assert manifest.files["b.txt"].sha256 == hashlib.sha256(b"texttext").hexdigest()


def test_the_same_content_is_the_same_folder_whatever_was_there(old: Path, tmp_path: Path) -> None:
    save(old, "new")
    save(old, "newer")
    save(tmp_path / "other", "newer")
    assert contents(old) == contents(tmp_path / "other")
    save(old, "newer")
    assert contents(old) == contents(tmp_path / "other")


def test_all_is_synced_before_the_manifest_names_it(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: set[int] = set()
    left: list[set[str]] = []
    replace = Path.replace

    def checked(source: Path, target: Path) -> Path:
        if target.name == "manifest.json":
            written = {source, *old.glob("snapshot-*"), *old.glob("snapshot-*/**/*")}
            left.append({path.name for path in written if path.stat().st_ino not in synced})
        return replace(source, target)

    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(Path, "replace", checked)
    (old / read_manifest(old).snapshot / "a.txt").write_text("damaged")
    save(old, "old")
    save(old, "new")
    assert left == [set(), set()]
    assert old.stat().st_ino in synced


def test_a_failed_write_leaves_the_old_index_and_nothing_else(old: Path) -> None:
    """(E140)"""
    before = contents(old)

    def full_disk(folder: Path) -> None:
        (folder / "a.txt").write_text("new")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left"):
        save_folder(old, summary("new"), full_disk)
    assert contents(old) == before
    assert load(old) == "old"


def test_a_failed_first_write_leaves_no_index(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(OSError, match="error"):
        save_folder(tmp_path / "index", summary("new"), fail)
    with pytest.raises(IndexNotFoundError, match="toolsearch index build"):
        load(tmp_path / "index")
    save(tmp_path / "index", "new")
    assert load(tmp_path / "index") == "new"


def steps_of_a_save(path: Path, result: Connection) -> None:
    steps: list[None] = []
    on_each_step(lambda: steps.append(None))
    save(path, "new")
    result.send(len(steps))


def save_and_die(path: Path, step: int) -> None:
    die_at_step(step)
    save(path, "new")


@needs_sigkill
def test_a_writer_killed_at_any_step_leaves_the_old_or_the_new_index(old: Path, tmp_path: Path) -> None:
    """(E140)"""
    receiver, sender = processes.Pipe(duplex=False)
    save(tmp_path / "counted", "old")
    assert run(steps_of_a_save, tmp_path / "counted", sender) == 0
    n_steps = receiver.recv()
    clean = contents(old)
    seen = []
    for step in range(1, n_steps + 1):
        assert run(save_and_die, old, step) == -signal.SIGKILL
        seen.append(load(old))
        # What the dead left goes with the next writer.
        save(old, "old")
        assert contents(old) == clean
    assert n_steps > 20
    assert seen == sorted(seen, reverse=True)
    assert set(seen) == {"old", "new"}


@needs_sigkill
def test_a_first_writer_killed_at_any_step_leaves_no_index_or_the_new_one(tmp_path: Path) -> None:
    outcomes = []
    for step in range(1, 22, 3):
        path = tmp_path / str(step)
        assert run(save_and_die, path, step) == -signal.SIGKILL
        try:
            outcomes.append(load(path))
        except IndexNotFoundError:
            outcomes.append("none")
        save(path, "again")
        assert load(path) == "again"
    assert set(outcomes) <= {"none", "new"}


def test_readers_in_other_processes_see_whole_indexes_while_they_are_replaced(old: Path) -> None:
    texts = itertools.cycle(("new", "newer", "old"))
    found = read_while_writing(load, old, lambda: save(old, next(texts)))
    assert set(found) <= {"old", "new", "newer"}
    assert len(set(found)) > 1


def test_a_reader_whose_snapshot_is_replaced_starts_again(old: Path) -> None:
    attempts = []

    def slow(manifest: Manifest, folder: Path) -> str:
        attempts.append(folder.name)
        if len(attempts) < 3:
            # The same text twice: a manifest that is replaced by its like is still another one.
            save(old, "new")
            save(old, "old")
            (folder / "gone.txt").read_text()
        return read(manifest, folder)

    assert load_folder(old, slow) == "old"
    assert len(attempts) == 3


def test_a_reader_that_fails_for_its_own_reasons_is_not_called_again(old: Path) -> None:
    attempts = []

    def broken(manifest: Manifest, folder: Path) -> str:
        attempts.append(folder)
        raise RuntimeError("of its own")

    with pytest.raises(RuntimeError, match="of its own"):
        load_folder(old, broken)
    assert len(attempts) == 1


def test_a_second_writer_gets_a_clear_error(old: Path) -> None:
    with write_lock(old, timeout_s=0), pytest.raises(IndexLockedError, match="another process or thread"):
        save_folder(old, summary("new"), writer("new"), timeout_s=0.05)
    assert load(old) == "old"


def test_a_second_writer_waits_for_the_first(old: Path) -> None:
    waiting = threading.Thread(target=save, args=(old, "second"))

    def first(folder: Path) -> None:
        waiting.start()
        writer("first")(folder)

    save_folder(old, summary("first"), first)
    waiting.join()
    assert load(old) == "second"


def lock_and_die(path: Path) -> None:
    with write_lock(path, timeout_s=0):
        os.kill(os.getpid(), signal.SIGKILL)


@needs_sigkill
def test_the_lock_of_a_dead_writer_does_not_hold(old: Path) -> None:
    assert run(lock_and_die, old) == -signal.SIGKILL
    save_folder(old, summary("new"), writer("new"), timeout_s=0)
    assert load(old) == "new"
    assert not (old / ".lock").exists()


def test_other_content_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ToolIndexError, match="other content"):
        save(tmp_path, "new")
    assert contents(tmp_path) == {"notes.txt": b"mine"}
    with pytest.raises(ToolIndexError, match="is a file"):
        save(tmp_path / "notes.txt", "new")
    (tmp_path / "notes.txt").rename(tmp_path / "manifest.json")
    with pytest.raises(ToolIndexError, match="other content"):
        save(tmp_path, "new")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that an index must not touch, with files named as in an index."""
    folder = tmp_path / "outside"
    (folder / "part").mkdir(parents=True)
    for name in ("a.txt", "part/c.txt", "mine.txt"):
        (folder / name).write_text("mine")
    return folder


def plant(place: Path, kind: str, outside: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    match kind:
        case "file":
            place.write_text("planted")
        case "folder":
            (place / "deep").mkdir(parents=True)
            (place / "deep" / "file.txt").write_text("planted")
        case "link":
            place.symlink_to(outside, target_is_directory=True)
        case "link to a file":
            place.symlink_to(outside / "mine.txt")
        case "link to nothing":
            place.symlink_to(outside / "nothing")


KINDS = ("file", "folder", "link", "link to a file", "link to nothing")
OF_NEW = Manifest(
    summary=summary("new"),
    files={
        name: FileEntry(size=3 * times, sha256=hashlib.sha256(b"new" * times).hexdigest())
        for times, name in enumerate(("a.txt", "b.txt", "part/c.txt"), start=1)
    },
).snapshot
PLACES = (
    ".lock",
    "snapshot-partial",
    "manifest.json.partial",
    "snapshot-0123456789abcdef",
    OF_NEW,
    f"{OF_NEW}/part",
    f"{OF_NEW}/a.txt",
    f"{OF_NEW}/part/c.txt",
)


@needs_links
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES, ids=[place.replace(OF_NEW, "new") for place in PLACES])
def test_what_was_planted_in_an_index_is_replaced_and_never_followed(
    old: Path, outside: Path, place: str, kind: str
) -> None:
    if OF_NEW in place:
        save(old, "new")
        assert read_manifest(old).snapshot == OF_NEW
    before = contents(outside)
    plant(old / place, kind, outside)
    save_folder(old, summary("new"), writer("new"), timeout_s=0)
    assert load(old) == "new"
    assert contents(outside) == before
    assert {path.name for path in old.iterdir()} == {"manifest.json", OF_NEW}
    assert not any(path.is_symlink() for path in old.rglob("*"))
    save(old, "newer")
    assert load(old) == "newer"
    assert contents(outside) == before


@needs_links
@pytest.mark.parametrize("kind", ["folder", "link", "link to nothing"])
@pytest.mark.parametrize("name", ["a.txt", "part/c.txt", "part", "."])
def test_what_was_planted_in_a_snapshot_is_damage(old: Path, outside: Path, name: str, kind: str) -> None:
    plant(old / read_manifest(old).snapshot / name, kind, outside)
    with pytest.raises(IndexDamagedError):
        load(old)
    with pytest.raises(IndexDamagedError):
        load_folder(old, read, verify="size")


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_is_not_waited_for(old: Path) -> None:
    def empty(folder: Path) -> None:
        (folder / "a.txt").touch()

    manifest = save_folder(old, summary("new"), empty)
    file = old / manifest.snapshot / "a.txt"
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(IndexDamagedError, match="is no file"):
        load(old)


def test_files_beside_an_index_stay(old: Path) -> None:
    (old / "README.md").write_text("about it")
    save(old, "new")
    assert (old / "README.md").read_text() == "about it"


DAMAGES: list[tuple[str, Callable[[Path], object]]] = [
    ("is missing", Path.unlink),
    ("bytes where", lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])),
    ("bytes where", lambda file: file.write_bytes(file.read_bytes() + b"\n")),
    ("was altered", lambda file: file.write_bytes(b"?" + file.read_bytes()[1:])),
]


@pytest.mark.parametrize("name", ["a.txt", "b.txt", "part/c.txt"])
@pytest.mark.parametrize(("reason", "damage"), DAMAGES)
def test_a_damaged_file_is_named(old: Path, name: str, reason: str, damage: Callable[[Path], object]) -> None:
    """(E138)"""
    damage(old / read_manifest(old).snapshot / name)
    with pytest.raises(IndexDamagedError, match=reason) as caught:
        load(old)
    assert caught.value.file == name
    assert "toolsearch index build" in str(caught.value)
    # Saving what was there mends it.
    save(old, "old")
    assert load(old) == "old"


def test_sizes_alone_can_be_checked(old: Path) -> None:
    file = old / read_manifest(old).snapshot / "a.txt"
    file.write_text("odd")
    assert load_folder(old, lambda _, folder: (folder / "a.txt").read_text(), verify="size") == "odd"
    file.write_text("longer")
    with pytest.raises(IndexDamagedError, match=r"a\.txt has 6 bytes where 3"):
        load_folder(old, read, verify="size")


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["summary"].update(n_tools=99),
        lambda record: record["summary"].update(n_tools="many"),
        lambda record: record["files"].pop("a.txt"),
        lambda record: record["files"].update({"../../secret": record["files"]["a.txt"]}),
        lambda record: record.update(snapshot="snapshot-0000000000000000"),
        lambda record: record.update(snapshot="../elsewhere"),
        lambda record: record.update(snapshot=["a"]),
        lambda record: record.update(snapshot={}),
        lambda record: record.update(snapshot=7),
        lambda record: record.update(snapshot="snapshot-partial"),
        lambda record: record.update(snapshot=".lock"),
        lambda record: record["summary"].update(n_tools="3"),
        lambda record: record["summary"].update(dim=2.0),
        lambda record: record["summary"].update(recall_at_10=True),
        lambda record: record.pop("format"),
    ],
)
def test_an_altered_manifest_is_noticed(old: Path, change: Callable[[dict[str, object]], object]) -> None:
    manifest = old / "manifest.json"
    record = json.loads(manifest.read_text())
    change(record)
    manifest.write_text(json.dumps(record))
    with pytest.raises(IndexDamagedError, match=r"manifest\.json"):
        load(old)
    save(old, "new")
    assert load(old) == "new"


def test_a_truncated_manifest_is_noticed(old: Path) -> None:
    manifest = old / "manifest.json"
    for size in (0, 1, manifest.stat().st_size // 2):
        manifest.write_bytes(manifest.read_bytes()[:size])
        with pytest.raises(IndexDamagedError, match=r"manifest\.json is not JSON"):
            load(old)
    save(old, "new")
    assert load(old) == "new"


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 100_000, "1" * 10_000, "\ud800"])
def test_a_manifest_that_no_parser_likes_is_noticed(old: Path, text: str) -> None:
    (old / "manifest.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    for read_it in (load, read_manifest):
        with pytest.raises(IndexDamagedError, match=r"manifest\.json is not"):
            read_it(old)
    save(old, "new")
    assert load(old) == "new"


@pytest.mark.parametrize("version", [True, 1.0, "1", None, [1]])
def test_a_version_is_a_whole_number(old: Path, version: object) -> None:
    manifest = old / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format_version": version}))
    with pytest.raises(IndexFormatError, match="is of format version"):
        load(old)
    save(old, "new")
    assert load(old) == "new"


def test_a_manifest_that_is_a_folder_is_named_and_left_alone(old: Path) -> None:
    (old / "manifest.json").unlink()
    (old / "manifest.json").mkdir()
    with pytest.raises(IndexDamagedError, match=r"manifest\.json is a folder"):
        load(old)
    with pytest.raises(ToolIndexError, match="other content"):
        save(old, "new")


def test_another_format_version_is_refused_with_a_remedy(old: Path) -> None:
    manifest = old / "manifest.json"
    record = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(record | {"format_version": 2, "news": True}))
    with pytest.raises(IndexFormatError, match=r"version 2; this release reads version 1.*index build"):
        load(old)


def test_there_may_be_no_index(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(IndexNotFoundError):
            load(path)
