"""`Snapshot`: the files of an index, written and read part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolsearch.catalog import tool_digest
from toolsearch.exceptions import IndexDamagedError, IndexFormatError
from toolsearch.index.columns import FACTS_FILE, ToolColumns
from toolsearch.index.flat import VECTORS_FILE
from toolsearch.index.keys import Keys
from toolsearch.index.lexical import LexicalIndex
from toolsearch.index.manifest import Manifest
from toolsearch.index.names import NameIndex
from toolsearch.index.store import TOOLS_FILE, StoredTools, write_tools
from toolsearch.index.vectors import VectorIndex
from toolsearch.tools import JsonObject, Tool

CALIBRATION_FILE = "calibration.json"

NAMES_KEPT_FROM = 20_000
"""Tools from which the keys of the names are kept, as making them anew takes half a second and more."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All of an index that is kept on disk; row i of every part is the i-th tool."""

    tools: Mapping[str, Tool]
    columns: ToolColumns
    vectors: VectorIndex
    lexicon: LexicalIndex
    name_index: NameIndex
    calibration: JsonObject | None

    def write(self, folder: Path) -> None:
        """Write every part into an empty folder."""
        write_tools(folder, self.tools)
        self.columns.write(folder)
        self.vectors.write(folder)
        self.lexicon.write(folder)
        if len(self.columns) >= NAMES_KEPT_FROM:
            self.name_index.keys.write(folder)
        if self.calibration is not None:
            text = json.dumps(self.calibration, sort_keys=True) + "\n"
            (folder / CALIBRATION_FILE).write_bytes(text.encode())

    @classmethod
    def read(cls, path: Path, folder: Path, manifest: Manifest, *, mmap: bool = True) -> Snapshot:
        """The parts that `write` left in `folder`, which belongs to the index at `path`.

        Raises:
            IndexDamagedError: a part cannot be read, or does not go with the manifest and the others.
            IndexFormatError: the lexicon is of another version.
        """
        summary = manifest.summary
        with _reading(path, FACTS_FILE):
            columns = ToolColumns.read(folder)
        with _reading(path, TOOLS_FILE):
            tools = StoredTools.read(folder, columns.row_of)
        with _reading(path, VECTORS_FILE):
            vectors = VectorIndex.read(
                folder, kind=summary.vectors, recall_at_10=summary.recall_at_10, mmap=mmap
            )
        with _reading(path, "lexicon"):
            lexicon = LexicalIndex.read(folder)
        keys = None
        if any(map(Keys.is_part, manifest.files)):
            with _reading(path, "names"):
                keys = Keys.read(folder, len(columns))
        calibration = None
        if CALIBRATION_FILE in manifest.files:
            with _reading(path, CALIBRATION_FILE):
                calibration = json.loads((folder / CALIBRATION_FILE).read_bytes())

        for file, n in ((FACTS_FILE, len(columns)), (VECTORS_FILE, len(vectors)), ("lexicon", len(lexicon))):
            if n != summary.n_tools:
                raise IndexDamagedError(path, file, f"is of {n} tools where {summary.n_tools} were indexed")
        if vectors.dim != summary.dim:
            raise IndexDamagedError(path, VECTORS_FILE, f"has {vectors.dim} dimensions, not {summary.dim}")
        if columns.fingerprint != summary.catalog_fingerprint:
            raise IndexDamagedError(path, FACTS_FILE, "is of another catalog")
        names = NameIndex(columns.raw_names, columns.sources, columns.names, keys)
        return cls(tools, columns, vectors, lexicon, names, calibration)

    def check(self, path: Path) -> None:
        """Look at every tool and every vector.

        Raises:
            IndexDamagedError: one is not what was indexed.
        """
        for tool, digest in zip(self.tools.values(), self.columns.tool_digests, strict=True):
            if tool_digest(tool) != digest.hex():
                raise IndexDamagedError(path, TOOLS_FILE, f"holds another {tool.name!r} than was indexed")
        with _reading(path, VECTORS_FILE):
            self.vectors.check()


@contextmanager
def _reading(path: Path, file: str) -> Iterator[None]:
    """Names the index and the file, whatever a reader makes of other bytes than were written."""
    try:
        yield
    except IndexFormatError as exc:
        raise IndexFormatError(path, exc.reason) from exc
    except IndexDamagedError as exc:
        detail = exc.reason.removeprefix(f"is damaged: {exc.file} ")
        raise IndexDamagedError(path, exc.file, detail) from exc
    except Exception as exc:
        raise IndexDamagedError(path, file, f"cannot be read ({exc})") from exc
