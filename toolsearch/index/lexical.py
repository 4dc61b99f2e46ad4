"""The lexical channel: BM25 over the weighted fields of each tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import IndexDamagedError, IndexFormatError
from toolsearch.index.text import tokenize
from toolsearch.tool import Tool

K1 = 1.5
B = 0.75

LEXICON_VERSION = 1
"""Raised whenever the tokens, fields or weights of a tool change; part of what is written."""

_HEAD = "lexicon.json"
_VOCABULARY = "lexicon.txt"
_ARRAYS = ("lexicon.starts.npy", "lexicon.rows.npy", "lexicon.counts.npy", "lexicon.lengths.npy")

Ints: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True)
class Field:
    """How one part of a tool counts.

    Attributes:
        weight: What one occurrence of a token adds to its count.
        max_tokens: Where the field is cut.
        max_count: The most occurrences of one token that count.
    """

    weight: float
    max_tokens: int
    max_count: int


FIELDS = {
    "name": Field(weight=3, max_tokens=32, max_count=1),
    "description": Field(weight=1, max_tokens=200, max_count=3),
    "source": Field(weight=1, max_tokens=16, max_count=1),
    "parameter names": Field(weight=1, max_tokens=100, max_count=2),
    "parameter texts": Field(weight=0.5, max_tokens=300, max_count=3),
}


def lexical_fields(tool: Tool) -> dict[str, str]:
    """The text of each of `FIELDS`; a field may be empty."""
    names, texts = [], []
    for name, schema in (tool.input_schema.get("properties") or {}).items():
        names.append(name)
        if isinstance(schema, dict):
            texts.append(str(schema.get("description") or ""))
            texts += map(str, schema.get("enum") or ())
    return {
        "name": f"{tool.raw_name} {tool.title}",
        "description": f"{tool.description}\n{tool.search_hint}",
        "source": tool.source,
        "parameter names": "\n".join(names),
        "parameter texts": "\n".join(texts),
    }


@dataclass(frozen=True)
class LexicalScores:
    """What BM25 says of every row for one query.

    Attributes:
        raw: (n,) float32 BM25 scores, 0 or more.
        ceiling: What a tool could not reach that held every token of the query without end: the sum of
            their idf, with a token that no tool holds counted like the rarest.
    """

    raw: Floats
    ceiling: float

    @property
    def coverage(self) -> Floats:
        """(n,) float32 in [0, 1): `raw` over `ceiling`, comparable between queries."""
        return self.raw / np.float32(self.ceiling) if self.ceiling else self.raw


class LexicalIndex:
    """BM25 over tools: row i is the i-th tool it was built of. Immutable, safe to share between threads.

    A token's count in a tool is the weighted sum over the fields, taken before saturation, as is the length
    of the tool; then ``idf * count / (count + k1 * (1 - b + b * length / mean length))`` with
    ``idf = ln(1 + (n - df + 0.5) / (df + 0.5))``.

    Source: Robertson, Zaragoza and Taylor, CIKM 2004 (weighted fields); Lucene's idf and the saturation
    without its constant factor ``k1 + 1`` as in Kamphuis et al., ECIR 2020.
    """

    def __init__(self, postings: _Postings, *, k1: float = K1, b: float = B) -> None:
        self.k1 = k1
        self.b = b
        self._postings = postings
        self._ids = {token: i for i, token in enumerate(postings.vocabulary)}
        n = len(postings.lengths)
        frequencies = np.diff(postings.starts)
        self._idf = np.log(1 + (n - frequencies + 0.5) / (frequencies + 0.5))
        self._absent_idf = float(np.log(1 + (n + 0.5) / 0.5))
        self._scorer = _scorer(postings, self._idf, k1, b)

    @classmethod
    def build(cls, tools: Sequence[Tool], *, k1: float = K1, b: float = B) -> LexicalIndex:
        """An index whose row i is ``tools[i]``."""
        return cls(_count(tools), k1=k1, b=b)

    def __len__(self) -> int:
        return len(self._postings.lengths)

    def scores(self, query: str) -> LexicalScores:
        """BM25 of every row; all 0 for a query without tokens. A token that is repeated counts once."""
        tokens = dict.fromkeys(tokenize(query))
        ids = sorted(self._ids[token] for token in tokens if token in self._ids)
        ceiling = float(self._idf[ids].sum()) + (len(tokens) - len(ids)) * self._absent_idf
        raw = self._scorer(ids) if ids else np.zeros(len(self), dtype=np.float32)
        return LexicalScores(raw, ceiling)

    def updated(self, source_rows: NDArray[np.integer[Any]], new_tools: Sequence[Tool]) -> LexicalIndex:
        """An index whose row i is old row ``source_rows[i]``, or the next of `new_tools` where that is -1.

        Equal to an index built afresh; only `new_tools` are tokenized. No old row may be named twice.
        """
        old, new = self._postings, _count(new_tools)
        destination = np.full(len(self), -1, dtype=np.int32)
        kept = source_rows >= 0
        destination[source_rows[kept]] = np.flatnonzero(kept)
        old_rows = destination[old.rows]
        surviving = old_rows >= 0
        new_rows = np.flatnonzero(~kept).astype(np.int32)[new.rows]
        lengths = np.empty(len(source_rows), dtype=np.float32)
        lengths[kept] = old.lengths[source_rows[kept]]
        lengths[~kept] = new.lengths
        postings = _assemble(
            [*old.vocabulary, *new.vocabulary],
            np.concatenate([old.tokens()[surviving], new.tokens() + np.int32(len(old.vocabulary))]),
            np.concatenate([old_rows[surviving], new_rows]),
            np.concatenate([old.counts[surviving], new.counts]),
            lengths,
        )
        return LexicalIndex(postings, k1=self.k1, b=self.b)

    def write(self, folder: Path) -> None:
        """Write the index as files named ``lexicon.*`` into an existing folder."""
        postings = self._postings
        head = {"version": LEXICON_VERSION, "k1": self.k1, "b": self.b, "rows": len(self)}
        (folder / _HEAD).write_text(json.dumps(head) + "\n", encoding="utf-8")
        (folder / _VOCABULARY).write_text("\n".join(postings.vocabulary), encoding="utf-8", newline="\n")
        arrays: tuple[NDArray[Any], ...] = (postings.starts, postings.rows, postings.counts, postings.lengths)
        for name, array in zip(_ARRAYS, arrays, strict=True):
            np.save(folder / name, array, allow_pickle=False)

    @classmethod
    def read(cls, folder: Path) -> LexicalIndex:
        """The index that `write` left in `folder`; the postings stay on disk, mapped into memory.

        Raises:
            IndexDamagedError: a file is missing, or does not hold what was written.
            IndexFormatError: it was written in another format version.
        """
        name = _HEAD
        try:
            head = json.loads((folder / name).read_text(encoding="utf-8"))
            version, k1, b, n = head["version"], head["k1"], head["b"], head["rows"]
            if version != LEXICON_VERSION:
                raise IndexFormatError(folder, f"holds a lexicon of version {version}, not {LEXICON_VERSION}")
            name = _VOCABULARY
            text = (folder / name).read_text(encoding="utf-8")
            arrays = []
            for name in _ARRAYS:
                arrays.append(np.load(folder / name, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError, LookupError, TypeError) as exc:
            raise IndexDamagedError(folder, name, f"cannot be read ({exc})") from exc
        postings = _Postings(text.split("\n") if text else [], *arrays)
        if name := postings.misfit(n):
            raise IndexDamagedError(folder, name, "does not go with the other files")
        return cls(postings, k1=k1, b=b)


@dataclass(frozen=True)
class _Postings:
    """Weighted token counts, by token and then by row.

    The rows that hold token t, and its counts there, are ``rows[starts[t]:starts[t + 1]]`` and the same
    slice of `counts`. The vocabulary is sorted, and each of its tokens has a row.
    """

    vocabulary: list[str]
    starts: NDArray[np.int64]
    rows: Ints
    counts: Floats
    lengths: Floats

    def misfit(self, n: int) -> str:
        """The first file that does not fit `n` rows and the others; empty where all do."""
        size = len(self.rows)
        if len(self.starts) != len(self.vocabulary) + 1 or self.starts[-1] != size:
            return _VOCABULARY
        if size and not 0 <= self.rows.min() <= self.rows.max() < n:
            return _ARRAYS[1]
        if len(self.counts) != size:
            return _ARRAYS[2]
        return _ARRAYS[3] if len(self.lengths) != n else ""

    def tokens(self) -> Ints:
        """The token of each posting."""
        return np.repeat(np.arange(len(self.vocabulary), dtype=np.int32), np.diff(self.starts))


def _count(tools: Sequence[Tool]) -> _Postings:
    ids: dict[str, int] = {}
    tokens: list[int] = []
    rows: list[int] = []
    counts: list[float] = []
    lengths = np.zeros(len(tools), dtype=np.float32)
    for row, tool in enumerate(tools):
        weighted: dict[int, float] = {}
        for name, text in lexical_fields(tool).items():
            field = FIELDS[name]
            seen: dict[int, int] = {}
            cut = tokenize(text)[: field.max_tokens]
            lengths[row] += field.weight * len(cut)
            for token in cut:
                i = ids.setdefault(token, len(ids))
                times = seen.get(i, 0)
                if times < field.max_count:
                    seen[i] = times + 1
                    weighted[i] = weighted.get(i, 0) + field.weight
        tokens += weighted
        counts += weighted.values()
        rows += [row] * len(weighted)
    return _assemble(
        list(ids),
        np.array(tokens, dtype=np.int32),
        np.array(rows, dtype=np.int32),
        np.array(counts, dtype=np.float32),
        lengths,
    )


def _assemble(names: list[str], tokens: Ints, rows: Ints, counts: Floats, lengths: Floats) -> _Postings:
    """Postings in their one order; `names` may repeat a token or hold one without a row."""
    used = np.zeros(len(names), dtype=bool)
    used[tokens] = True
    vocabulary = sorted({names[i] for i in np.flatnonzero(used)})
    place = {name: i for i, name in enumerate(vocabulary)}
    tokens = np.array([place.get(name, -1) for name in names], dtype=np.int32)[tokens]
    order = np.argsort(tokens.astype(np.int64) * max(len(lengths), 1) + rows)
    starts = np.zeros(len(vocabulary) + 1, dtype=np.int64)
    np.cumsum(np.bincount(tokens, minlength=len(vocabulary)), out=starts[1:])
    return _Postings(vocabulary, starts, rows[order], counts[order], lengths)


def _scorer(
    postings: _Postings, idf: NDArray[np.float64], k1: float, b: float
) -> Callable[[list[int]], Floats]:
    """A function from token ids to the BM25 scores of all rows."""
    import bm25s

    n = len(postings.lengths)
    mean = float(postings.lengths.mean(dtype=np.float64)) if n else 0.0
    norms = k1 * (1 - b + b * postings.lengths.astype(np.float64) / (mean or 1.0))
    weights = (
        np.repeat(idf, np.diff(postings.starts)) * postings.counts / (postings.counts + norms[postings.rows])
    )
    engine = bm25s.BM25(k1=k1, b=b, method="lucene", backend="numpy")
    engine.scores = {
        "data": weights.astype(np.float32),
        "indices": postings.rows,
        "indptr": postings.starts,
        "num_docs": n,
    }
    engine.nonoccurrence_array = None
    scores: Callable[[list[int]], Floats] = engine.get_scores_from_ids
    return scores
