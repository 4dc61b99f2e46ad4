"""`Keys`: a sorted table of texts and the rows of each, in a few arrays instead of objects."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Longs: TypeAlias = NDArray[np.int64]
Ints: TypeAlias = NDArray[np.int32]

_ARRAYS = ("text", "starts", "firsts", "rows", "backwards")
# A character of UTF-8 takes at most so many bytes.
_LONGEST_CHARACTER = 4
# Up to so many texts, a list of objects takes 8 MB at most, and is searched 40 times as fast.
_LISTED = 65_536


class Keys:
    """Texts in the order of their characters, each with its rows, ascending. Immutable.

    A million tools have over three million keys: as strings in a dictionary they would take more memory than
    the vectors. Here they are found by bisection, from either end, in tens of microseconds; where there are
    few, as in a catalog of ten thousand tools, in less than one.
    """

    def __init__(
        self, text: NDArray[np.uint8], starts: Longs, firsts: Longs, rows: Ints, backwards: Ints
    ) -> None:
        """Use `build` or `read`.

        Args:
            text: All texts in UTF-8, one after the other.
            starts: (k + 1,) where each of them starts.
            firsts: (k + 1,) where the rows of each start.
            rows: Those of the first text, of the second, ...
            backwards: (k,) the texts in the order of their bytes read from the end.
        """
        self.text = text
        self.starts = starts
        self.firsts = firsts
        self.rows = rows
        self.backwards = backwards
        self._bytes = np.ascontiguousarray(text).data

    @classmethod
    def build(cls, pairs: Iterable[tuple[str, int]]) -> Keys:
        """The table of (text, row), rows ascending; a pair that comes twice counts once."""
        texts: list[bytes] = []
        held: list[int] = []
        for text, row in pairs:
            texts.append(text.encode("utf-8", "surrogatepass"))
            held.append(row)
        order = sorted(range(len(texts)), key=texts.__getitem__)
        keys: list[bytes] = []
        firsts: list[int] = []
        rows: list[int] = []
        for i in order:
            if not keys or texts[i] != keys[-1]:
                keys.append(texts[i])
                firsts.append(len(rows))
            elif rows[-1] == held[i]:
                continue
            rows.append(held[i])
        firsts.append(len(rows))
        return cls(
            np.frombuffer(b"".join(keys), dtype=np.uint8),
            np.cumsum([0, *map(len, keys)], dtype=np.int64),
            np.array(firsts, dtype=np.int64),
            np.array(rows, dtype=np.int32),
            np.array(sorted(range(len(keys)), key=lambda i: keys[i][::-1]), dtype=np.int32),
        )

    @classmethod
    def read(cls, folder: Path, n: int) -> Keys:
        """The table that `write` left in `folder`, mapped into memory; its rows must be below `n`.

        Raises:
            ValueError: the files do not hold such a table.
        """
        # Still mapped, but not as `np.memmap`, whose slices cost three times as much.
        arrays = {
            name: np.asarray(np.load(folder / _file(name), mmap_mode="r", allow_pickle=False))
            for name in _ARRAYS
        }
        keys = cls(**arrays)
        starts, firsts, rows = keys.starts, keys.firsts, keys.rows
        kinds = [array.dtype for array in arrays.values()]
        if kinds != [np.uint8, np.int64, np.int64, np.int32, np.int32] or len(starts) != len(firsts):
            raise ValueError("the keys of the names do not fit each other")
        fits = len(keys.backwards) == len(keys) and starts[0] == firsts[0] == 0
        if not fits or starts[-1] != len(keys.text) or firsts[-1] != len(rows):
            raise ValueError("the keys of the names do not fit each other")
        for array, limit in ((rows, n), (keys.backwards, len(keys))):
            if len(array) and not 0 <= array.min() <= array.max() < limit:
                raise ValueError(f"the keys of the names point beyond {limit}")
        if (np.diff(starts) <= 0).any() or (np.diff(firsts) <= 0).any():
            raise ValueError("the keys of the names overlap")
        return keys

    @staticmethod
    def is_part(file: str) -> bool:
        """Whether `write` writes a file of this name."""
        return file in map(_file, _ARRAYS)

    def write(self, folder: Path) -> None:
        """Write the table as files named ``names.*.npy``."""
        for name in _ARRAYS:
            np.save(folder / _file(name), getattr(self, name), allow_pickle=False)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __contains__(self, text: str) -> bool:
        return bool(self.rows_of(text))

    def rows_of(self, text: str) -> list[int]:
        """The rows of `text`, ascending; none where the table does not have it."""
        wanted = _encoded(text)
        place = bisect_left(self._forwards, wanted)
        if place == len(self) or self._forwards[place] != wanted:
            return []
        return self._rows_at(place)

    def starting_with(self, prefix: str, *, length: int | None = None) -> Iterator[tuple[str, list[int]]]:
        """Each text that starts with `prefix`, in order, and its rows.

        `length` leaves out texts that surely have another number of characters, by more than one.
        """
        low, high = _range(self._forwards, _encoded(prefix))
        return self._items(np.arange(low, high), length)

    def ending_with(self, suffix: str, *, length: int | None = None) -> Iterator[tuple[str, list[int]]]:
        """Each text that ends with `suffix`, in the order of the texts reversed, and its rows."""
        low, high = _range(self._backwards, _encoded(suffix)[::-1])
        return self._items(np.asarray(self.backwards[low:high], dtype=np.int64), length)

    def __iter__(self) -> Iterator[str]:
        return map(self._decoded, range(len(self)))

    @cached_property
    def _forwards(self) -> Sequence[bytes]:
        if len(self) > _LISTED:
            return _Forwards(self)
        text = self.text.tobytes()
        return [text[start:end] for start, end in pairwise(self.starts.tolist())]

    @cached_property
    def _backwards(self) -> Sequence[bytes]:
        if len(self) > _LISTED:
            return _Backwards(self)
        return [self._forwards[place][::-1] for place in self.backwards.tolist()]

    def _items(self, places: Longs, length: int | None) -> Iterator[tuple[str, list[int]]]:
        if length is not None:
            sizes = self.starts[places + 1] - self.starts[places]
            # A text of so many characters may have more bytes, but not fewer.
            places = places[(sizes >= length - 1) & (sizes <= _LONGEST_CHARACTER * (length + 1))]
        for place in places.tolist():
            yield self._decoded(place), self._rows_at(place)

    def _rows_at(self, place: int) -> list[int]:
        rows: list[int] = self.rows[self.firsts[place] : self.firsts[place + 1]].tolist()
        return rows

    def _decoded(self, place: int) -> str:
        return self._forwards[place].decode("utf-8", "surrogatepass")


class KeysAmong:
    """Keys as they are where only some rows are: a text that none of these holds is not there."""

    def __init__(self, keys: Keys | KeysAmong, rows: NDArray[np.bool_]) -> None:
        """`rows` is a mask."""
        self._keys = keys
        self._rows = rows

    @cached_property
    def _texts(self) -> list[str]:
        return [text for text in self._keys if text in self]

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __contains__(self, text: str) -> bool:
        return bool(self.rows_of(text))

    def rows_of(self, text: str) -> list[int]:
        """As `Keys.rows_of`."""
        return self._kept(self._keys.rows_of(text))

    def starting_with(self, prefix: str, *, length: int | None = None) -> Iterator[tuple[str, list[int]]]:
        """As `Keys.starting_with`."""
        return self._held(self._keys.starting_with(prefix, length=length))

    def ending_with(self, suffix: str, *, length: int | None = None) -> Iterator[tuple[str, list[int]]]:
        """As `Keys.ending_with`."""
        return self._held(self._keys.ending_with(suffix, length=length))

    def _held(self, items: Iterable[tuple[str, list[int]]]) -> Iterator[tuple[str, list[int]]]:
        return ((text, kept) for text, rows in items if (kept := self._kept(rows)))

    def _kept(self, rows: list[int]) -> list[int]:
        return [row for row in rows if self._rows[row]]


class _Forwards(Sequence[bytes]):
    """The texts as bytes, in order."""

    def __init__(self, keys: Keys) -> None:
        # Gives whole numbers of Python, which an array takes several times as long to make.
        self._starts = np.ascontiguousarray(keys.starts).data
        self._bytes = keys._bytes

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        return self._bytes[self._starts[place] : self._starts[place + 1]].tobytes()


class _Backwards(_Forwards):
    """The texts as bytes read from the end, in the order of these."""

    def __init__(self, keys: Keys) -> None:
        super().__init__(keys)
        self._order = np.ascontiguousarray(keys.backwards).data

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        return super().__getitem__(self._order[place])[::-1]


def _range(ordered: Sequence[bytes], prefix: bytes) -> tuple[int, int]:
    """From where to where the texts of `ordered` start with `prefix`."""
    # No byte of UTF-8 is 255.
    return bisect_left(ordered, prefix), bisect_left(ordered, prefix + b"\xff")


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _file(array: str) -> str:
    return f"names.{array}.npy"
