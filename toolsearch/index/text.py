"""The words that lexical search compares: one tokenizer for tools and for queries."""

from __future__ import annotations

import re
import threading
import unicodedata
from itertools import chain

import Stemmer

_STOP_WORDS = """
a about am an and any are as at be been but by can could did do does doing for from had has have having he her
him his how i if in into is it its just let me my no not of on or our out she should so some than that the
their them then there these they this those to up us was we were what when where which who why will with
would you your
also hello help hey hi know like looking need please tell thank thanks want
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English function words and the words that requests are wrapped in, before stemming."""


def tokenize(text: str) -> list[str]:
    """The tokens of `text` in order, repeats kept; empty for a text without letters and digits.

    - Case, width, compatibility forms and accents are folded: ``Ｃafé`` is ``cafe``.
    - Identifiers are cut at case, digits, dots, dashes and underscores. Two or three parts without a sign
      between them also stay whole, so that ``GitHub`` gives ``git``, ``hub`` and ``github``.
    - English stop words go, unless the text has no others: ``who_am_i`` keeps its three.
    - ASCII words are stemmed (Snowball English).
    - Scripts written without spaces (Han, kana, Thai, Lao, Khmer, Burmese) and Hangul give overlapping
      pairs of characters; a character that stands alone gives itself.

    Any string is allowed, lone surrogates and control characters included. No token holds white space.
    """
    runs = _ASCII_RUN.findall(text) if text.isascii() else _RUN.findall(fold(text))
    tokens = list(chain.from_iterable(map(_TOKENS.__getitem__, runs)))
    if tokens or not runs:
        return tokens
    return [token for run in runs for token in _analyze(run, keep_stop_words=True)]


def is_word(token: str) -> bool:
    """Whether a token is a word; characters of a script without spaces, or what sorts after it, are none."""
    return token < _FIRST_UNSEGMENTED


_FIRST_UNSEGMENTED = "\u0e00"
_CLITIC = r"(?:['\u2019](?:[stdm]|ll|re|ve)\b)?"
_ASCII_RUN = re.compile(rf"[a-zA-Z0-9]+{_CLITIC}")
# Indic, Thai, Lao, Khmer and Burmese vowel signs are no letters to `re`, yet belong to their words.
_SIGN = r"\u0900-\u0963\u0966-\u0dff\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1780-\u17d3"
_RUN = re.compile(rf"(?:[^\W_]|[{_SIGN}])+{_CLITIC}")
_PART = re.compile(
    rf"[A-Z]{{2,}}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|(?:[^\W\d_a-zA-Z]|[{_SIGN}])+"
)
_UNSEGMENTED = re.compile(
    "[\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u1100-\u11ff\uac00-\ud7a3\u0e01-\u0e4e\u0e80-\u0ece\u1000-\u1049\u1780-\u17d3]+"
)
_ACCENT = re.compile("[\u0300-\u036f]+")
_PLAIN_LETTERS = "øo ØO đd ĐD łl ŁL ıi ßss æae ÆAE œoe ŒOE"
_BARRED = str.maketrans({letters[0]: letters[1:] for letters in _PLAIN_LETTERS.split()})

_MAX_JOINED = 3
_CACHE_LIMIT = 200_000
_LONGEST_CACHED = 40


class _Tokens(dict[str, tuple[str, ...]]):
    """Tokens by run, filled on demand and emptied when full."""

    def __missing__(self, run: str) -> tuple[str, ...]:
        tokens = _analyze(run)
        if len(run) <= _LONGEST_CACHED:
            if len(self) >= _CACHE_LIMIT:
                self.clear()
            self[run] = tokens
        return tokens


_TOKENS = _Tokens()
_STEMMER = Stemmer.Stemmer("english", 0)
_STEMMER_LOCK = threading.Lock()


def fold(text: str) -> str:
    """`text` without accents, width and compatibility forms; its case stays."""
    # Composed again, for a decomposed Hangul syllable or voiced kana is several characters.
    bare = _ACCENT.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).translate(_BARRED)


def _analyze(run: str, *, keep_stop_words: bool = False) -> tuple[str, ...]:
    """The tokens of one unbroken run of letters and digits, which may end in an English clitic."""
    word, apostrophe, clitic = run.replace("\u2019", "'").partition("'")
    if apostrophe and clitic.casefold() == "t":
        word = word.removesuffix("n").removesuffix("N")
    tokens: list[str] = []
    start = 0
    for match in _UNSEGMENTED.finditer(word):
        tokens += _segmented(word[start : match.start()], keep_stop_words)
        tokens += _pairs(match.group())
        start = match.end()
    tokens += _segmented(word[start:], keep_stop_words)
    return tuple(tokens)


def _segmented(word: str, keep_stop_words: bool) -> list[str]:
    if not word:
        return []
    parts = _PART.findall(word)
    if 1 < len(parts) <= _MAX_JOINED:
        parts.append(word)
    folded = [part.casefold() for part in parts]
    return [_stem(part) for part in folded if keep_stop_words or part not in STOP_WORDS]


def _stem(word: str) -> str:
    if not word.isascii():
        return word
    with _STEMMER_LOCK:
        return str(_STEMMER.stemWord(word))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]
