"""The name channel: which tools a query calls by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from toolsearch.index.keys import Keys, KeysAmong
from toolsearch.index.text import fold
from toolsearch.naming import split_words

MatchKind: TypeAlias = Literal["exact", "case", "style", "suffix", "typo"]

CONFIDENCE: dict[MatchKind, float] = {"exact": 1.0, "case": 0.98, "style": 0.95, "suffix": 0.85, "typo": 0.75}
"""How sure a match of each kind is."""

MIN_TYPO_LENGTH = 5
"""Letters and digits in a name, below which one letter off is another name."""

COMPARED_ALL = 200_000
"""Keys up to which `NameIndex.near` compares all, which takes less than a tenth of a second."""

_END = 3
_SELECT = "select:"
# What others count beside the tool of this public name or, where there is none, of the name as it is written.
_BESIDE_WRITTEN = 0.5


@dataclass(frozen=True)
class NameMatch:
    """A tool that a query calls by its name.

    Attributes:
        row: Position of the tool in the index.
        kind: ``exact`` (the public or raw name, or the raw name after its source), ``case`` (that in other
            case), ``style`` (the same words, cut or joined in another way, with or without those of the
            source), ``suffix`` (its last words), ``typo`` (one letter off).
        confidence: 0 to 1, from `CONFIDENCE`. Tools that share a name share it.
        mention: The part of the query that names it.
    """

    row: int
    kind: MatchKind
    confidence: float
    mention: str


@dataclass(frozen=True)
class Selection:
    """Tools asked for by name: `matches` in the order asked, `missing` the names that no tool has."""

    matches: tuple[NameMatch, ...]
    missing: tuple[str, ...]


def selected_names(query: str) -> tuple[str, ...] | None:
    """The names in ``select:a,b``, without repeats; None for a query in another form."""
    start = query.strip()
    if not start.casefold().startswith(_SELECT):
        return None
    names = (name.strip() for name in start[len(_SELECT) :].split(","))
    return tuple(dict.fromkeys(name for name in names if name))


class NameIndex:
    """Names of tools: row i is the i-th tool it was built of. Immutable, safe to share between threads."""

    def __init__(
        self,
        raw_names: Sequence[str],
        sources: Sequence[str],
        public_names: Sequence[str],
        keys: Keys | None = None,
    ) -> None:
        """`keys` are those of these names where they are known."""
        self._raw = raw_names
        self._sources = sources
        self._public = public_names
        self.keys = Keys.build(_keyed(raw_names, sources, public_names)) if keys is None else keys
        self._keys: Keys | KeysAmong = self.keys

    def among(self, rows: NDArray[np.bool_]) -> NameIndex:
        """These names where only the `rows` (n,) of a mask are: the others are as if they were not there."""
        part = NameIndex(self._raw, self._sources, self._public, self.keys)
        part._keys = KeysAmong(self._keys, rows)
        return part

    @classmethod
    def build(
        cls, raw_names: Sequence[str], sources: Sequence[str], public_names: Sequence[str]
    ) -> NameIndex:
        """An index whose row i has the i-th of each of these parallel sequences."""
        return cls(raw_names, sources, public_names)

    def __len__(self) -> int:
        return len(self._raw)

    def resolve(self, query: str) -> list[NameMatch]:
        """The tools that `query` names, most certain first, ties by row; each tool once.

        The whole query may be a name. Inside a longer one a name must look like an identifier (``a_b``,
        ``a.b``, ``aB``), stand in backticks or, if it has several words, in quotes: ordinary words are
        often the name of some tool as well. The last words of a name count there if they begin with a verb.
        A name that several tools have gives all of them. ``select:a,b`` gives the tools of these names;
        `select` also tells which there are not.

        Of 6,695 requests of eleven public benchmarks, 51 name a tool in this sense, and four of them one that
        does not serve the request.
        """
        names = selected_names(query)
        if names is not None:
            return list(self.select(names).matches)
        best: dict[int, NameMatch] = {}
        for match in self._named(query.strip(_EDGES)) or self._mentioned(query):
            if match.row not in best or match.confidence > best[match.row].confidence:
                best[match.row] = match
        return sorted(best.values(), key=lambda match: (-match.confidence, match.row))

    def select(self, names: Iterable[str]) -> Selection:
        """The tools of these names, and the names that no tool has.

        Case and style count only where nothing has the name as it is written.
        """
        matches: dict[int, NameMatch] = {}
        missing: list[str] = []
        for name in names:
            found = list(self._same_words(name))
            if not found:
                missing.append(name)
            closest = max((match.confidence for match in found), default=0)
            for match in found:
                if match.confidence == closest:
                    matches.setdefault(match.row, match)
        return Selection(tuple(matches.values()), tuple(missing))

    def near(self, name: str, limit: int = 5) -> list[int]:
        """Up to `limit` rows whose names look most like `name`, best first, ties by row.

        Among very many names only those that begin or end like it are looked at.
        """
        key = _squash(name)
        if len(self._keys) <= COMPARED_ALL:
            candidates = list(self._keys)
        else:
            ends = chain(self._keys.starting_with(key[:_END]), self._keys.ending_with(key[-_END:]))
            candidates = sorted({candidate for candidate, _ in islice(ends, COMPARED_ALL)})
        found = process.extract(key, candidates, scorer=fuzz.ratio, score_cutoff=50, limit=4 * limit)
        ranked = sorted((-score, row) for near, score, _ in found for row in self._keys.rows_of(near))
        return list(dict.fromkeys(row for _, row in ranked))[:limit]

    def _named(self, name: str) -> list[NameMatch]:
        return list(self._same_words(name)) or list(self._ends_with(name)) or list(self._misspelt(name))

    def _mentioned(self, query: str) -> Iterator[NameMatch]:
        for code, *quotes in _QUOTED.findall(query):
            mention = code or next(filter(None, quotes))
            if code or len(split_words(mention)) > 1:
                yield from self._same_words(mention)
        for token in _TOKEN.findall(query):
            mention = token.strip(_EDGES)
            if _IDENTIFIER.search(mention) and not _ADDRESS.search(mention):
                verb_first = "".join(split_words(mention)[:1]).casefold() in _VERBS
                yield from (match for match in self._named(mention) if match.kind != "suffix" or verb_first)

    def _same_words(self, mention: str) -> Iterator[NameMatch]:
        key = _squash(mention)
        rows = self._keys.rows_of(key) or self._keys.rows_of(key.removeprefix("mcp"))
        kinds = [self._kind(row, mention) for row in rows]
        written = [row for row in rows if self._public[row] == mention]
        written = written or [row for row, kind in zip(rows, kinds, strict=True) if kind == "exact"]
        for row, kind in zip(rows, kinds, strict=True):
            match = _match(row, kind, mention)
            aside = written and row not in written
            yield replace(match, confidence=match.confidence * _BESIDE_WRITTEN) if aside else match

    def _kind(self, row: int, mention: str) -> MatchKind:
        spellings = self._spellings(row)
        if mention in spellings:
            return "exact"
        return "case" if mention.casefold() in map(str.casefold, spellings) else "style"

    def _spellings(self, row: int) -> set[str]:
        raw, source = self._raw[row], self._sources[row]
        qualified = {f"{source}{separator}{raw}" for separator in (".", "__", "/", ":")}
        return {raw, self._public[row], *qualified, f"mcp__{source}__{raw}"}

    def _ends_with(self, mention: str) -> Iterator[NameMatch]:
        if len(split_words(mention)) < 2:
            return
        key = _squash(mention)
        for _, rows in self._keys.ending_with(key):
            for row in rows:
                if _ends_in_words(self._raw[row], len(key)):
                    yield _match(row, "suffix", mention)

    def _misspelt(self, mention: str) -> Iterator[NameMatch]:
        key = _squash(mention)
        if len(key) < MIN_TYPO_LENGTH:
            return
        # One slip leaves the first or the second half whole, unless it swaps the letters between them.
        half = len(key) // 2
        swapped = key[: half - 1] + key[half] + key[half - 1] + key[half + 1 :]
        candidates = dict(self._keys.starting_with(key[:half], length=len(key)))
        candidates.update(self._keys.ending_with(key[half:], length=len(key)))
        if rows := self._keys.rows_of(swapped):
            candidates[swapped] = rows
        digits = _digits(key)
        for near, rows in candidates.items():
            if (
                len(near) >= MIN_TYPO_LENGTH
                and OSA.distance(key, near, score_cutoff=1) == 1
                and _digits(near) == digits
            ):
                for row in rows:
                    yield _match(row, "typo", mention)


_EDGES = " \t\r\n.,;:!?()[]{}<>\"'`“”„«»「」…*#@/-"
_QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'(?!\w)"
)
_TOKEN = re.compile(r"[^\s,;()\[\]{}<>\"'`“”«»「」|!?]+")
_ADDRESS = re.compile(r"://|\w@\w|^www\.", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[^\W_](?:_+|[./:]|-\w+-)[^\W_]|[a-z][A-Z]")
_SEPARATORS = re.compile(r"[\W_]+")
_GENERIC = frozenset({"mcp", "server", "api", "tool", "tools"})
_VERB_LIST = """
add analyze book calculate call cancel check close compute connect convert copy create delete describe
download edit execute export extract fetch find generate get import invite list load merge modify move open
play post publish push query read remove rename reply retrieve run save schedule search send set share start
stop submit sync track translate update upload validate verify write
"""
_VERBS = frozenset(_VERB_LIST.split())
_LOWER = bytes.maketrans(bytes(range(65, 91)), bytes(range(97, 123)))
_BETWEEN = bytes(i for i in range(128) if not chr(i).isalnum())


def _match(row: int, kind: MatchKind, mention: str) -> NameMatch:
    return NameMatch(row, kind, CONFIDENCE[kind], mention)


def _squash(name: str) -> str:
    """Letters and digits alone, folded: what all styles of a name share."""
    if name.isascii():
        return name.encode().translate(_LOWER, _BETWEEN).decode()
    return _SEPARATORS.sub("", fold(name).casefold())


def _prefixes(source: str) -> tuple[str, ...]:
    """What may stand for the source before a name: all its words, or only those beyond "MCP server"."""
    telling = "".join(word for word in split_words(source) if word.casefold() not in _GENERIC)
    return tuple(dict.fromkeys(filter(None, (_squash(source), _squash(telling)))))


def _keyed(
    raw_names: Sequence[str], sources: Sequence[str], public_names: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """Each key under which a tool is looked up, and its row."""
    prefixes = {source: _prefixes(source) for source in dict.fromkeys(sources)}
    for row, (raw, source, public) in enumerate(zip(raw_names, sources, public_names, strict=True)):
        bare = _squash(raw)
        keys = {bare, _squash(public)}
        for prefix in prefixes[source]:
            keys.add(prefix + bare)
            if bare.startswith(prefix):
                keys.add(bare[len(prefix) :])
        yield from ((key, row) for key in keys if key)


def _ends_in_words(name: str, length: int) -> bool:
    """Whether the last `length` letters of a name begin at a word, and not at its first."""
    words = split_words(name)
    while len(words) > 1 and length > 0:
        length -= len(_squash(words.pop()))
    return length == 0


def _digits(key: str) -> str:
    return "".join(filter(str.isdigit, key))
