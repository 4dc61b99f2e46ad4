"""Loading an index never unpickles, whoever wrote the folder."""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from tests.index.support import some_tools
from toolsearch.catalog import Catalog
from toolsearch.exceptions import IndexDamagedError
from toolsearch.index.folder import save_folder
from toolsearch.index.manifest import MANIFEST_FILE, Manifest
from toolsearch.index.tool_index import ToolIndex
from toolsearch.testing import HashingEmbedder

EMBEDDER = HashingEmbedder(32)


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.marker,)


def pickled(marker: Path) -> bytes:
    return pickle.dumps(Payload(marker))


def array_of_objects(marker: Path) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([Payload(marker)], dtype=object), allow_pickle=True)
    return file.getvalue()


def planted(index: Path, file: str, content: bytes) -> None:
    """The index with other bytes in one of its files, and a manifest that vouches for them."""
    manifest = Manifest.from_json((index / MANIFEST_FILE).read_bytes(), index)
    files = {name: (index / manifest.snapshot / name).read_bytes() for name in manifest.files}

    def write(folder: Path) -> None:
        for name, data in (files | {file: content}).items():
            (folder / name).write_bytes(data)

    save_folder(index, manifest.summary, write)


@pytest.mark.parametrize("load", [pickle.loads, lambda data: np.load(io.BytesIO(data), allow_pickle=True)])
def test_the_payloads_do_what_they_are_for(load: object, tmp_path: Path) -> None:
    marker = tmp_path / "pwned"
    assert callable(load)
    load((pickled if load is pickle.loads else array_of_objects)(marker))
    assert marker.exists()


@pytest.mark.parametrize("kind", ["flat", "ivf", "hnsw"])
@pytest.mark.parametrize("payload", [pickled, array_of_objects])
@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_of_the_index_that_is_a_pickle_is_refused(
    kind: str, payload: object, mmap: bool, tmp_path: Path
) -> None:
    """(E173)"""
    marker, index = tmp_path / "pwned", tmp_path / "index"
    assert callable(payload)
    ToolIndex.build(Catalog(some_tools(40)), EMBEDDER, kind=kind).save(index)  # type: ignore[arg-type]
    names = Manifest.from_json((index / MANIFEST_FILE).read_bytes(), index).files
    assert sum(name.endswith(".npy") for name in names) >= 5
    for name in names:
        ToolIndex.build(Catalog(some_tools(40)), EMBEDDER, kind=kind).save(index)  # type: ignore[arg-type]
        planted(index, name, payload(marker))
        with pytest.raises(IndexDamagedError):
            _read_all(ToolIndex.load(index, EMBEDDER, mmap=mmap))
    assert not marker.exists()


@pytest.mark.parametrize("name", ["index.pkl", "metadata.pkl", "docstore.pickle", "extra.npy"])
@pytest.mark.parametrize("beside", ["the manifest", "the files", "the files, in the manifest"])
def test_a_pickle_beside_the_files_of_the_index_is_ignored(name: str, beside: str, tmp_path: Path) -> None:
    """(E173)"""
    marker, index = tmp_path / "pwned", tmp_path / "index"
    tools = Catalog(some_tools(12))
    ToolIndex.build(tools, EMBEDDER).save(index)
    content = (array_of_objects if name.endswith("npy") else pickled)(marker)
    if beside == "the manifest":
        (index / name).write_bytes(content)
    elif beside == "the files":
        manifest = Manifest.from_json((index / MANIFEST_FILE).read_bytes(), index)
        (index / manifest.snapshot / name).write_bytes(content)
    else:
        planted(index, name, content)
    assert _read_all(ToolIndex.load(index, EMBEDDER)) == list(tools)
    assert not marker.exists()


def _read_all(index: ToolIndex) -> list[str]:
    """The names of its tools, after everything in it was looked at."""
    index.vectors.search(EMBEDDER.embed_queries(["send a message"]), 5)
    index.lexicon.scores("send a message")
    index.name_index.resolve("send_message_0")
    return [tool.name for tool in index.catalog.values()]
