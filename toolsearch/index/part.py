"""`IndexPart`: the tools of an index that there are for somebody, as if there were no others."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toolsearch.index.lexical import LexicalIndex
from toolsearch.index.names import NameIndex

Mask = NDArray[np.bool_]

PARTS_KEPT = 64
"""Of one index; each takes a byte for every tool."""


@dataclass(frozen=True, eq=False)
class IndexPart:
    """What finds these tools by words and names; vectors are compared one by one in any case.

    How rare a word is, how long tools are and what else has a name comes from these tools alone. Otherwise
    scores would tell a caller of tools that it may not know of.

    Attributes:
        rows: Mask (n,) over the rows of the index; None for all.
    """

    lexicon: LexicalIndex
    name_index: NameIndex
    rows: Mask | None = None

    @cached_property
    def key(self) -> bytes:
        """Equal where `rows` is; empty for all."""
        return b"" if self.rows is None else np.packbits(self.rows).tobytes()

    def among(self, rows: Mask) -> IndexPart:
        """The part of the whole that the `rows` of a mask are."""
        return IndexPart(self.lexicon.among(rows), self.name_index.among(rows), rows)


class IndexParts:
    """The parts of one index that were asked for lately. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[frozenset[str], IndexPart] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, names: frozenset[str], make: Callable[[], IndexPart]) -> IndexPart:
        """The part of these names, made now where it is not known."""
        with self._lock:
            part = self._kept.get(names)
            if part is not None:
                self._kept.move_to_end(names)
                return part
        part = make()
        with self._lock:
            part = self._kept.setdefault(names, part)
            while len(self._kept) > PARTS_KEPT:
                self._kept.popitem(last=False)
        return part
