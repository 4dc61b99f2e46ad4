"""`Globs`: which texts fit one of some globs, found in one reading of each text, whatever the globs are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import translate

_STATES_KEPT = 2000
_BITS_KEPT = 1 << 26
"""Of all states together: 8 MB."""


def is_glob(text: str) -> bool:
    """Whether `text` has a character that means others."""
    return any(character in text for character in "*?[")


class Globs:
    """Globs as `fnmatch.fnmatchcase` reads them: ``*``, ``?``, ``[abc]`` and ``[!abc]``; case counts.

    All are followed at once, each character read once: an automaton without backtracking, whose states are
    found as texts lead to them. Safe to share between threads.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        given = tuple(dict.fromkeys(globs))
        self._exact = frozenset(glob for glob in given if not is_glob(glob))
        self._places = _Places([glob for glob in given if is_glob(glob)])
        self._start = self._places.start()

    def fits(self, text: str) -> bool:
        """Whether `text` as a whole fits one of the globs."""
        if text in self._exact:
            return True
        state = self._start
        for character in text:
            if state.is_settled:
                break
            state = state[character]
        return state.accepts

    def fits_any(self, texts: Iterable[str]) -> bool:
        """Whether one of `texts` fits one of the globs."""
        return any(map(self.fits, texts))


class _State(dict[str, "_State"]):
    """Places in the globs that a text may have come to, with the state that each next character leads to.

    Attributes:
        places: One bit for each.
        accepts: Whether a text that ends here fits.
        is_settled: Whether what follows changes nothing of that.
    """

    __slots__ = ("_all", "accepts", "is_settled", "places")

    def __init__(self, all_places: _Places, places: int) -> None:
        super().__init__()
        self._all = all_places
        self.places = places
        self.accepts = bool(places & all_places.ends)
        self.is_settled = not places or bool(places & all_places.ends & all_places.stays)

    def __missing__(self, character: str) -> _State:
        after = self[character] = self._all.after(self.places, character)
        return after


class _Places:
    """The places of all globs in a row: before each part that takes a character, and at each end.

    Attributes:
        begins, ends: Bits of the first and the last place of each glob.
        stays: Bits of places at a ``*``, which any character leaves where they are.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.begins = self.ends = self.stays = self._any = 0
        self._literal: dict[str, int] = {}
        self._sets: dict[str, int] = {}
        place = 1
        for glob in globs:
            self.begins |= place
            for part in _parts(glob):
                if part == "*":
                    self.stays |= place
                    continue
                if part == "?":
                    self._any |= place
                elif len(part) > 1:
                    self._sets[part] = self._sets.get(part, 0) | place
                else:
                    self._literal[part] = self._literal.get(part, 0) | place
                place <<= 1
            self.ends |= place
            place <<= 1
        # A set takes one character, so that its expression has nothing to go back to.
        self._matchers = [(re.compile(translate(text)), bits) for text, bits in self._sets.items()]
        self._taking: dict[str, int] = {}
        self._kept = max(16, min(_STATES_KEPT, _BITS_KEPT // place.bit_length()))
        self._states: dict[int, _State] = {}

    def start(self) -> _State:
        return self._state(self.begins)

    def after(self, places: int, character: str) -> _State:
        """Where `character` leads to from `places`."""
        return self._state((places & self.stays) | ((places & self._takes(character)) << 1))

    def _takes(self, character: str) -> int:
        """Bits of the places whose part takes `character`."""
        bits = self._taking.get(character)
        if bits is None:
            bits = self._any | self._literal.get(character, 0)
            for matcher, of_set in self._matchers:
                if matcher.match(character):
                    bits |= of_set
            if len(self._taking) >= self._kept:
                self._taking = {}
            self._taking[character] = bits
        return bits

    def _state(self, places: int) -> _State:
        state = self._states.get(places)
        if state is None:
            if len(self._states) >= self._kept:
                self._forget()
            state = self._states[places] = _State(self, places)
        return state

    def _forget(self) -> None:
        # States refer to each other, so that each has to let go.
        states, self._states = self._states, {}
        for state in tuple(states.values()):
            state.clear()


def _parts(glob: str) -> Iterator[str]:
    """``*``, ``?``, a set with its brackets, or a character; a bracket that nothing closes is a character.

    A literal ``*`` or ``?`` can only be written as a set, so that no character is taken for a part.
    """
    place = 0
    while place < len(glob):
        end = _set_end(glob, place) if glob[place] == "[" else place + 1
        yield glob[place:end]
        place = end


def _set_end(glob: str, begin: int) -> int:
    """Where the set that begins there ends; after the bracket where nothing closes it."""
    place = begin + 1
    if glob[place : place + 1] == "!":
        place += 1
    if glob[place : place + 1] == "]":
        place += 1
    closed = glob.find("]", place)
    return begin + 1 if closed < 0 else closed + 1
