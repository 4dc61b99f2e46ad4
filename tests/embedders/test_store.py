"""Stored vectors come back bit for bit or not at all."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from toolsearch.embedders.base import Vectors
from toolsearch.embedders.store import VectorStore, default_cache_path
from toolsearch.exceptions import EmbeddingCacheError

DAY_S = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "cache.sqlite"


def vectors(*texts: str, dim: int = 3) -> dict[str, Vectors]:
    rng = np.random.default_rng(len(texts))
    return {text: rng.normal(size=dim).astype(np.float32) for text in texts}


def test_vectors_come_back_bit_for_bit(path: Path) -> None:
    put = vectors("", "a", "größer\x00\ud800", "b" * 50_000)
    VectorStore(path).put("m", put)
    got = VectorStore(path).get("m", [*put, "unknown"], dim=3)
    assert {text: row.tobytes() for text, row in got.items()} == {t: row.tobytes() for t, row in put.items()}


def test_embedders_do_not_see_each_others_vectors(path: Path) -> None:
    store = VectorStore(path)
    store.put("m@1", vectors("a"))
    assert store.get("m@2", ["a"], dim=3) == {}
    assert store.get("m", ["@1a"], dim=3) == {}


def test_a_vector_of_another_dimension_is_not_handed_out(path: Path) -> None:
    store = VectorStore(path)
    store.put("m", vectors("a", dim=3))
    assert store.get("m", ["a"], dim=4) == {}


def test_a_later_vector_replaces_the_earlier(path: Path) -> None:
    store = VectorStore(path)
    store.put("m", {"a": np.zeros(2, np.float32)})
    store.put("m", {"a": np.ones(2, np.float32)})
    assert store.get("m", ["a"], dim=2)["a"].tolist() == [1, 1]
    assert store.counts() == {"m": 1}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vectors SET vector = zeroblob(12) WHERE rowid = 1",
        "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE rowid = 2) WHERE rowid = 1",
        "UPDATE vectors SET (vector, checksum) = (SELECT vector, checksum FROM vectors WHERE rowid = 2) "
        "WHERE rowid = 1",
        "UPDATE vectors SET checksum = x'0000000000000000' WHERE rowid = 1",
        "UPDATE vectors SET vector = substr(vector, 1, 8) WHERE rowid = 1",
    ],
)
def test_a_damaged_row_reads_as_missing_and_can_be_put_again(path: Path, damage: str) -> None:
    store = VectorStore(path)
    put = vectors("a", "b")
    store.put("m", put)
    connection = sqlite3.connect(path)
    connection.execute(damage)
    connection.commit()
    connection.close()
    assert store.get("m", ["a", "b"], dim=3).keys() == {"b"}
    store.put("m", {"a": put["a"]})
    assert store.get("m", ["a"], dim=3)["a"].tobytes() == put["a"].tobytes()


@pytest.mark.parametrize("damage", ["garbage", "truncated", "overwritten"])
def test_a_damaged_file_is_an_error_that_says_what_to_do(path: Path, damage: str) -> None:
    store = VectorStore(path)
    put = vectors(*(f"text {i}" for i in range(200)), dim=384)
    store.put("m", put)
    content = path.read_bytes()
    path.write_bytes(
        {
            "garbage": b"not a database" * 1000,
            "truncated": content[: len(content) // 3],
            "overwritten": content[:4096] + b"\xff" * (len(content) - 4096),
        }[damage]
    )
    with pytest.raises(EmbeddingCacheError, match=r"damaged.*Delete it") as caught:
        store.get("m", put, dim=384)
    assert caught.value.path == path


def test_other_databases_and_formats_are_left_alone(path: Path) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE bookmarks (url)")
    connection.commit()
    with pytest.raises(EmbeddingCacheError, match="something else"):
        VectorStore(path).put("m", vectors("a"))
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    connection.close()


def test_a_file_of_another_release_is_refused(path: Path) -> None:
    store = VectorStore(path)
    store.put("m", vectors("a"))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(EmbeddingCacheError, match=r"format 99.*Delete it"):
        store.get("m", ["a"], dim=3)


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddingCacheError, match=r"file.*TOOLSEARCH_CACHE_DIR"):
        VectorStore(tmp_path / "file" / "cache.sqlite").counts()
    with pytest.raises(EmbeddingCacheError, match=r"unable to open.*TOOLSEARCH_CACHE_DIR"):
        VectorStore(tmp_path).counts()


def test_pruning_by_embedder_keeps_the_named_ones(path: Path) -> None:
    store = VectorStore(path)
    for embedder in ("m1", "m2", "m3"):
        store.put(embedder, vectors("a", "b"))
    assert store.prune(keep_ids=["m2"]) == 4
    assert store.counts() == {"m2": 2}


def test_pruning_by_age_keeps_what_was_asked_for_since(path: Path) -> None:
    now = [1_000 * DAY_S]
    store = VectorStore(path, clock=lambda: now[0])
    store.put("m", vectors("old", "used"))
    now[0] += 20 * DAY_S
    store.get("m", ["used"], dim=3)
    now[0] += 20 * DAY_S
    assert store.prune(unused_days=30) == 1
    assert store.get("m", ["old", "used"], dim=3).keys() == {"used"}


def test_pruning_gives_the_space_back(path: Path) -> None:
    store = VectorStore(path)
    store.put("m", vectors(*map(str, range(500)), dim=384))
    full = path.stat().st_size
    store.prune(keep_ids=[])
    assert path.stat().st_size < full / 10


def test_processes_may_make_and_fill_a_file_at_once(path: Path) -> None:
    script = (
        "import sys, numpy as np; from toolsearch.embedders.store import VectorStore\n"
        "store, me = VectorStore(sys.argv[1]), int(sys.argv[2])\n"
        "for i in range(25):\n"
        "    store.put('m', {f'{me} {i}': np.full(4, me, np.float32), 'shared': np.ones(4, np.float32)})\n"
        "    assert len(store.get('m', [f'{me} {i}', 'shared'], dim=4)) == 2\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), str(me)]) for me in range(3)]
    assert [process.wait(timeout=120) for process in running] == [0, 0, 0]
    got = VectorStore(path).get("m", [f"{me} {i}" for me in range(3) for i in range(25)], dim=4)
    assert len(got) == 75
    assert all(row.tolist() == [int(text[0])] * 4 for text, row in got.items())


def test_nothing_is_opened_for_no_texts(path: Path) -> None:
    VectorStore(path).put("m", {})
    assert VectorStore(path).get("m", [], dim=3) == {}
    assert not path.parent.exists()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"HOME": "/home/ada"}, "/home/ada/.cache/toolsearch"),
        ("linux", {"HOME": "/home/ada", "XDG_CACHE_HOME": "/xdg"}, "/xdg/toolsearch"),
        ("darwin", {"HOME": "/Users/ada"}, "/Users/ada/Library/Caches/toolsearch"),
        ("win32", {"LOCALAPPDATA": "/Local"}, "/Local/toolsearch"),
        ("linux", {"XDG_CACHE_HOME": "/xdg", "TOOLSEARCH_CACHE_DIR": "/mine"}, "/mine"),
    ],
)
def test_the_default_place_follows_the_platform_and_the_variable(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "TOOLSEARCH_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_cache_path() == Path(expected, "embeddings.sqlite")


@pytest.mark.parametrize("operation", ["get", "put", "counts", "prune"])
def test_bytes_of_the_file_may_be_anything(path: Path, operation: str) -> None:
    """Each use works or says that the cache is damaged, whatever was overwritten."""
    VectorStore(path).put("m", vectors(*map(str, range(20))))
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    uses: dict[str, Callable[[VectorStore], object]] = {
        "get": lambda store: store.get("m", map(str, range(20)), dim=3),
        "put": lambda store: store.put("m", vectors("new")),
        "counts": VectorStore.counts,
        "prune": lambda store: store.prune(unused_days=7),
    }
    errors = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(100, 8000, size=rng.choice([3, 30, 300])):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            uses[operation](VectorStore(path))
        except EmbeddingCacheError as exc:
            errors += str(path) in str(exc)
    assert errors > 10


def test_a_column_of_another_type_is_damage(path: Path) -> None:
    VectorStore(path).put("m", vectors("a"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vectors SET vector = 7")
    with pytest.raises(EmbeddingCacheError, match="is damaged"):
        VectorStore(path).get("m", ["a"], dim=3)


@pytest.mark.skipif(os.name == "nt", reason="Windows makes up a home folder for anybody")
def test_a_home_folder_that_nobody_has_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", "~no-such-user/cache")
    with pytest.raises(EmbeddingCacheError, match=r"'~no-such-user/cache/.*TOOLSEARCH_CACHE_DIR"):
        default_cache_path()
    for name in ("TOOLSEARCH_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", str)
    with pytest.raises(EmbeddingCacheError, match="TOOLSEARCH_CACHE_DIR"):
        default_cache_path()
