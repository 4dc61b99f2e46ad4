"""`ToolColumns`: what filters, names and updates need of every tool, without decoding a definition."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from toolsearch.catalog import tool_digest
from toolsearch.deadlines import in_time
from toolsearch.globs import Globs
from toolsearch.index.store import tool_line
from toolsearch.tokens import definition_tokens
from toolsearch.tools import Tool

TEXTS_FILE = "columns.json"
FACTS_FILE = "columns.npy"

GLOBS_KEPT = 64

T = TypeVar("T")
Rows: TypeAlias = NDArray[np.int64]

_FACTS = np.dtype(
    [
        ("read_only", np.int8),
        ("destructive", np.int8),
        ("pinned", np.bool_),
        ("tokens", np.uint32),
        ("tool_digest", np.uint8, (32,)),
        ("line_digest", np.uint8, (16,)),
        ("document_digest", np.uint8, (16,)),
    ]
)


@dataclass(frozen=True, eq=False)
class ToolColumns:
    """Facts of n tools; row i is the i-th tool in the order of names.

    On disk the texts are lists in ``columns.json``, and `facts` is ``columns.npy``, a structured array.

    Attributes:
        names, raw_names: Public names, and the names that the sources know.
        sources, tags: Of each tool.
        facts: (n,) with the fields ``read_only`` and ``destructive`` (1, 0, or -1 where the source says
            nothing), ``pinned``, ``tokens`` (of the definition, `tokens.definition_tokens`), ``tool_digest``
            (32 bytes, `catalog.tool_digest`), ``line_digest`` and ``document_digest`` (16 bytes each,
            `short_digest` of `store.tool_line` and of the text that is embedded).
    """

    names: tuple[str, ...]
    raw_names: tuple[str, ...]
    sources: tuple[str, ...]
    tags: tuple[tuple[str, ...], ...]
    facts: NDArray[np.void]

    @classmethod
    def of(cls, tools: Sequence[Tool], documents: Iterable[str]) -> ToolColumns:
        """The columns of `tools` and of the texts that stand for them."""
        facts = np.zeros(len(tools), dtype=_FACTS)
        for row, (tool, document) in enumerate(zip(tools, documents, strict=True)):
            facts[row] = (
                -1 if tool.read_only is None else tool.read_only,
                -1 if tool.destructive is None else tool.destructive,
                tool.pinned,
                definition_tokens(tool.definition),
                np.frombuffer(bytes.fromhex(tool_digest(tool)), dtype=np.uint8),
                np.frombuffer(short_digest(tool_line(tool)), dtype=np.uint8),
                np.frombuffer(short_digest(document.encode("utf-8", "surrogatepass")), dtype=np.uint8),
            )
        return cls(
            names=tuple(tool.name for tool in tools),
            raw_names=tuple(tool.raw_name for tool in tools),
            sources=tuple(tool.source for tool in tools),
            tags=tuple(tool.tags for tool in tools),
            facts=facts,
        )

    def updated(self, source_rows: Rows, new: ToolColumns) -> ToolColumns:
        """Columns whose row i is row ``source_rows[i]`` of these, or the next of `new` for -1."""
        # `new` follows the old rows, so that one lookup serves both.
        rows = source_rows.copy()
        rows[rows < 0] = len(self) + np.arange(len(new))
        order = rows.tolist()

        def merged(column: tuple[T, ...], addition: tuple[T, ...]) -> tuple[T, ...]:
            whole = (*column, *addition)
            return tuple(whole[row] for row in order)

        return ToolColumns(
            names=merged(self.names, new.names),
            raw_names=merged(self.raw_names, new.raw_names),
            sources=merged(self.sources, new.sources),
            tags=merged(self.tags, new.tags),
            facts=np.concatenate([self.facts, new.facts])[rows],
        )

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def read_only(self) -> tuple[bool | None, ...]:
        """What each source claims; None where it says nothing."""
        return _claims(self.facts["read_only"])

    @cached_property
    def destructive(self) -> tuple[bool | None, ...]:
        """What each source claims; None where it says nothing."""
        return _claims(self.facts["destructive"])

    @property
    def pinned(self) -> NDArray[np.bool_]:
        """(n,)"""
        return self.facts["pinned"]

    @cached_property
    def tokens(self) -> NDArray[np.uint32]:
        """(n,) tokens of each definition."""
        return np.ascontiguousarray(self.facts["tokens"])

    @cached_property
    def total_tokens(self) -> int:
        """Tokens of all definitions."""
        return int(self.tokens.sum())

    @cached_property
    def claimed_read_only(self) -> NDArray[np.bool_]:
        """(n,) whether the source claims that a tool only reads."""
        claimed: NDArray[np.bool_] = self.facts["read_only"] == 1
        return claimed

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each public name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def source_rows(self) -> dict[str, Rows]:
        """The rows of each source, ascending; sources sorted."""
        return _rows_by_label([(source,) for source in self.sources])

    @cached_property
    def tag_rows(self) -> dict[str, Rows]:
        """The rows of each tag, ascending; tags sorted."""
        return _rows_by_label(self.tags)

    def matching(self, globs: tuple[str, ...]) -> NDArray[np.bool_]:
        """(n,) which public name, raw name or ``source/raw_name`` fits one of `globs`; case counts.

        The last `GLOBS_KEPT` answers are kept: permissions ask the same again with each search.

        Raises:
            TookTooLongError: nobody waits for it any more.
        """
        packed = self._matching.get(globs)
        if packed is None:
            fits = Globs(globs).fits
            names = zip(self.names, self.raw_names, self.sources, strict=True)
            mask = np.fromiter(
                (fits(name) or fits(raw) or fits(f"{source}/{raw}") for name, raw, source in in_time(names)),
                dtype=bool,
                count=len(self),
            )
            if len(self._matching) >= GLOBS_KEPT:
                self._matching.clear()
            self._matching[globs] = packed = np.packbits(mask)
        return np.unpackbits(packed, count=len(self)).view(np.bool_)

    @cached_property
    def _matching(self) -> dict[tuple[str, ...], NDArray[np.uint8]]:
        return {}

    @cached_property
    def fingerprint(self) -> str:
        """`Catalog.fingerprint` of the tools."""
        return hashlib.sha256("".join(map(bytes.hex, self.tool_digests)).encode()).hexdigest()

    @property
    def tool_digests(self) -> list[bytes]:
        return [digest.tobytes() for digest in self.facts["tool_digest"]]

    @property
    def line_digests(self) -> list[bytes]:
        return [digest.tobytes() for digest in self.facts["line_digest"]]

    @property
    def document_digests(self) -> list[bytes]:
        return [digest.tobytes() for digest in self.facts["document_digest"]]

    def write(self, folder: Path) -> None:
        texts = {key: getattr(self, key) for key in ("names", "raw_names", "sources", "tags")}
        (folder / TEXTS_FILE).write_bytes(json.dumps(texts, separators=(",", ":")).encode())
        np.save(folder / FACTS_FILE, self.facts, allow_pickle=False)

    @classmethod
    def read(cls, folder: Path) -> ToolColumns:
        """The columns that `write` left in `folder`.

        Raises:
            ValueError, KeyError: the files do not hold columns, or of different numbers of tools.
        """
        texts = json.loads((folder / TEXTS_FILE).read_bytes())
        shared: dict[str, str] = {}
        columns = cls(
            names=tuple(texts["names"]),
            raw_names=tuple(texts["raw_names"]),
            sources=tuple(shared.setdefault(source, source) for source in texts["sources"]),
            tags=tuple(tuple(shared.setdefault(tag, tag) for tag in tags) for tags in texts["tags"]),
            facts=np.load(folder / FACTS_FILE, allow_pickle=False),
        )
        lengths = {*map(len, (columns.names, columns.raw_names, columns.sources, columns.tags))}
        if lengths != {len(columns.facts)} or columns.facts.dtype != _FACTS:
            raise ValueError(f"columns of {sorted(lengths)} and {columns.facts.shape} tools")
        return columns


def short_digest(content: bytes) -> bytes:
    """16 bytes that stand for `content`."""
    return hashlib.blake2b(content, digest_size=16).digest()


def _claims(flags: NDArray[np.int8]) -> tuple[bool | None, ...]:
    return tuple(None if flag < 0 else bool(flag) for flag in flags.tolist())


def _rows_by_label(labels: Sequence[tuple[str, ...]]) -> dict[str, Rows]:
    rows: dict[str, list[int]] = {}
    for row, several in enumerate(labels):
        for label in dict.fromkeys(several):
            rows.setdefault(label, []).append(row)
    return {label: np.array(rows[label], dtype=np.int64) for label in sorted(rows)}
