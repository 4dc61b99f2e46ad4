"""The lexical channel: BM25 over the weighted fields of each tool."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolsearch.exceptions import IndexDamagedError, IndexFormatError
from toolsearch.index.bm25 import Bm25, Term, top
from toolsearch.index.postings import Floats, Postings, collect, term
from toolsearch.index.text import is_word, tokenize
from toolsearch.schema import parameter_fields
from toolsearch.tools import Tool

K1 = 1.5
B = 0.75

LEXICON_VERSION = 1
"""Raised whenever the tokens, fields or weights of a tool change; part of what is written."""

_HEAD = "lexicon.json"
_VOCABULARY = "lexicon.txt"
_ARRAYS = ("terms", "starts", "rows", "counts", "lengths")


@dataclass(frozen=True)
class Field:
    """How one part of a tool counts.

    Attributes:
        weight: What one occurrence of a token adds to its count.
        max_tokens: Where the field is cut.
        max_count: The most occurrences of one token that count.
        in_pairs: Whether two tokens in a row count as well, once, if one of them is a word: neighbours
            among the pairs of characters of a Chinese text say little more than these do.
    """

    weight: float
    max_tokens: int
    max_count: int
    in_pairs: bool = False


# The caps keep a tool from outranking others by repeating itself. Weights are powers of two, so that sums
# of counts are exact and do not depend on their order.
FIELDS = {
    "name": Field(weight=2, max_tokens=32, max_count=1, in_pairs=True),
    "source": Field(weight=1, max_tokens=16, max_count=1),
    "description": Field(weight=1, max_tokens=160, max_count=3, in_pairs=True),
    "parameter names": Field(weight=1, max_tokens=128, max_count=2),
    "parameter texts": Field(weight=0.5, max_tokens=512, max_count=3),
}
_MAX_PARAMETER_TEXT = 150
_MAX_VALUES = 10
_CHARACTERS_PER_TOKEN = 10


def lexical_fields(tool: Tool) -> dict[str, str]:
    """The text of each of `FIELDS`; a field may be empty.

    A nested parameter counts by its own name; a parameter text is a description, or values that it may take.
    """
    parameters = parameter_fields(tool.input_schema)
    texts = chain.from_iterable(
        (text[:_MAX_PARAMETER_TEXT] for text in (field.description, *field.enum[:_MAX_VALUES]) if text)
        for field in parameters
    )
    return {
        "name": f"{tool.raw_name}\n{tool.title}",
        "source": tool.source,
        "description": f"{tool.search_hint}\n{tool.description}",
        "parameter names": "\n".join(field.name.rpartition(".")[2] for field in parameters),
        "parameter texts": "\n".join(texts),
    }


@dataclass(frozen=True)
class LexicalQuery:
    """A query against one index: scored in every row only where that is the quicker way.

    Attributes:
        terms: Those that some tool holds, tokens before pairs.
        ceiling: As of `LexicalScores`.
    """

    bm25: Bm25
    terms: tuple[Term, ...]
    ceiling: float

    def best(self, k: int, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """The rows of the `k` best scores above 0 and all that tie with the last of them, ascending.

        `allowed` (n,) says which rows count.
        """
        if self._sums is None:
            return self.bm25.best(self.terms, k, allowed)
        rows = np.flatnonzero(self._sums if allowed is None else self._sums * allowed)
        return top(rows, self._sums[rows], k)

    def of(self, rows: NDArray[np.int64]) -> Floats:
        """(m,) float32 BM25 scores of `rows`, which ascend; those that `LexicalIndex.scores` gives."""
        return self.bm25.of_rows(self.terms, rows) if self._sums is None else self._sums[rows]

    @cached_property
    def _sums(self) -> Floats | None:
        """(n,) the score of every row, where that is the quicker way."""
        return self.bm25.of_all(self.terms) if self.bm25.summed_sooner(self.terms) else None


@dataclass(frozen=True)
class LexicalScores:
    """What BM25 says of every row for one query.

    Attributes:
        raw: (n,) float32 BM25 scores, 0 or more.
        ceiling: What a tool comes near that holds all of the query again and again: the sum of the idf of
            its tokens, one that no tool holds being the rarest, and of the pairs that some tool holds.
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
    ``idf = ln(1 + (n - df + 0.5) / (df + 0.5))``. Two tokens in a row score like a token, `PAIR_WEIGHT`
    times. Scores are sums over the distinct tokens and pairs of a query.

    Source: Robertson, Zaragoza and Taylor, CIKM 2004 (weighted fields); Kamphuis et al., ECIR 2020 (the
    variant, which is Lucene's without the constant factor ``k1 + 1``); Metzler and Croft, SIGIR 2005
    (pairs).
    """

    def __init__(
        self,
        postings: Postings,
        *,
        k1: float = K1,
        b: float = B,
        counted: NDArray[np.bool_] | None = None,
    ) -> None:
        """`counted` is as `among` takes it."""
        self.k1 = k1
        self.b = b
        self._postings = postings
        self._bm25 = Bm25(postings, k1=k1, b=b, counted=counted)

    def among(self, rows: NDArray[np.bool_]) -> LexicalIndex:
        """This index as if only the `rows` (n,) of a mask were there; others must not be asked for.

        How rare words and how long tools are is counted over these, as an index of them alone does.
        """
        return LexicalIndex(self._postings, k1=self.k1, b=self.b, counted=rows)

    @classmethod
    def build(cls, tools: Sequence[Tool], *, k1: float = K1, b: float = B) -> LexicalIndex:
        """An index whose row i is ``tools[i]``."""
        return cls(_count(tools), k1=k1, b=b)

    def __len__(self) -> int:
        return len(self._postings)

    def weigh(self, query: str) -> LexicalQuery:
        """The terms of `query`, ready to be scored. A token that is repeated counts once."""
        tokens = tokenize(query)
        found, in_pairs = self._postings.find(tokens)
        singles, pairs = self._bm25.terms(found), self._bm25.terms(in_pairs, pairs=True)
        absent = (len(set(tokens)) - len(singles)) * self._bm25.absent_idf
        terms = (*singles, *pairs)
        return LexicalQuery(self._bm25, terms, sum(term.idf for term in terms) + absent)

    def scores(self, query: str) -> LexicalScores:
        """BM25 of every row; all 0 for a query without tokens."""
        weighed = self.weigh(query)
        return LexicalScores(self._bm25.of_all(weighed.terms), weighed.ceiling)

    def updated(self, source_rows: NDArray[np.integer[Any]], new_tools: Sequence[Tool]) -> LexicalIndex:
        """An index whose row i is old row ``source_rows[i]``, or the next of `new_tools` where that is -1.

        Equal to an index built afresh; only `new_tools` are tokenized. No old row may be named twice.
        """
        kept = source_rows >= 0
        destination = np.full(len(self), -1, dtype=np.int32)
        destination[source_rows[kept]] = np.flatnonzero(kept)
        new_rows = np.flatnonzero(~kept).astype(np.int32)
        postings = self._postings.moved(destination, _count(new_tools), new_rows, len(source_rows))
        return LexicalIndex(postings, k1=self.k1, b=self.b)

    def write(self, folder: Path) -> None:
        """Write the index as files named ``lexicon.*`` into an existing folder."""
        postings = self._postings
        head = {"version": LEXICON_VERSION, "k1": self.k1, "b": self.b, "rows": len(self)}
        (folder / _HEAD).write_text(json.dumps(head) + "\n", encoding="utf-8")
        (folder / _VOCABULARY).write_text("\n".join(postings.vocabulary), encoding="utf-8", newline="\n")
        for name in _ARRAYS:
            np.save(folder / _file(name), getattr(postings, name), allow_pickle=False)

    @classmethod
    def read(cls, folder: Path) -> LexicalIndex:
        """The index that `write` left in `folder`; its arrays stay on disk, mapped into memory.

        Raises:
            IndexDamagedError: a file is missing, or does not hold what was written.
            IndexFormatError: it was written in another format version.
        """
        file = _HEAD
        try:
            head = json.loads((folder / file).read_text(encoding="utf-8"))
            version, k1, b, n = head["version"], head["k1"], head["b"], head["rows"]
            _check_version(folder, version)
            file = _VOCABULARY
            text = (folder / file).read_text(encoding="utf-8")
            arrays = {}
            for name in _ARRAYS:
                file = _file(name)
                # Still mapped, but not as `np.memmap`, whose slices cost three times as much.
                arrays[name] = np.asarray(np.load(folder / file, mmap_mode="r", allow_pickle=False))
        except IndexFormatError:
            raise
        except Exception as exc:
            # NumPy and JSON fail in many ways on bytes that they did not write.
            raise IndexDamagedError(folder, file, f"cannot be read ({exc})") from exc
        postings = Postings(text.split("\n") if text else [], **arrays)
        if misfit := _misfit(postings, n):
            raise IndexDamagedError(folder, misfit, "does not go with the other files")
        return cls(postings, k1=k1, b=b)


def _check_version(folder: Path, version: object) -> None:
    if version != LEXICON_VERSION:
        raise IndexFormatError(folder, f"holds a lexicon of version {version}, not {LEXICON_VERSION}")


def _file(array: str) -> str:
    return f"lexicon.{array}.npy"


def _misfit(postings: Postings, n: int) -> str:
    """The first file that does not fit `n` rows and the files before it; empty where all do."""
    size = len(postings.rows)
    if np.count_nonzero(~postings.is_pair) != len(postings.vocabulary):
        return _VOCABULARY
    starts = postings.starts
    if len(starts) != len(postings.terms) + 1 or starts[0] != 0 or starts[-1] != size:
        return _file("starts")
    if (np.diff(starts) <= 0).any():
        return _file("starts")
    if size and not 0 <= postings.rows.min() <= postings.rows.max() < n:
        return _file("rows")
    if len(postings.counts) != size:
        return _file("counts")
    return _file("lengths") if len(postings.lengths) != n else ""


def _count(tools: Sequence[Tool]) -> Postings:
    """The weighted counts of each tool's terms; row i is ``tools[i]``."""
    ids: dict[str, int] = {}
    # A hundred for each tool: as Python numbers they would take ten times the memory.
    terms, counts, sizes = array("q"), array("f"), array("q")
    lengths = np.zeros(len(tools), dtype=np.float32)
    for row, tool in enumerate(tools):
        weighted: dict[int, float] = {}
        for name, text in lexical_fields(tool).items():
            field = FIELDS[name]
            tokens = tokenize(text[: _CHARACTERS_PER_TOKEN * field.max_tokens])[: field.max_tokens]
            token_ids = [ids.setdefault(token, len(ids)) for token in tokens]
            lengths[row] += field.weight * len(tokens)
            for i, times in Counter(token_ids).items():
                key = term(i)
                weighted[key] = weighted.get(key, 0) + field.weight * min(times, field.max_count)
            if field.in_pairs:
                words = [is_word(token) for token in tokens]
                pairs = zip(pairwise(token_ids), pairwise(words), strict=True)
                for key in {term(*pair) for pair, either in pairs if any(either)}:
                    weighted[key] = weighted.get(key, 0) + field.weight
        terms.extend(weighted)
        counts.extend(weighted.values())
        sizes.append(len(weighted))
    return collect(
        list(ids),
        np.frombuffer(terms, dtype=np.int64),
        np.repeat(np.arange(len(tools), dtype=np.int32), np.frombuffer(sizes, dtype=np.int64)),
        np.frombuffer(counts, dtype=np.float32),
        lengths,
    )
