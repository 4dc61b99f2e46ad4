"""The steps of a request that asks for several things, by rules alone: no model takes part.

Rules of English for the most part. Sentence ends, lines and lists count in every language; connectives are
known in a few more.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import partial

MAX_STEPS = 6
"""Beyond it neighbours are joined. More steps find no more on the dev sets: docs/benchmarks.md."""

MIN_WORDS = 3
"""A piece of fewer words is no step of its own: "Thank you.", "and mail it"."""


def split_steps(text: str, *, most: int = MAX_STEPS) -> tuple[str, ...]:
    """The steps of `text` in order, one to `most`; `text` itself where it has but one.

    Cut is at sentence ends, line breaks and items of lists, before connectives ("then", "also", "after
    that", …), and before ", " or " and " where a verb of the kind that tools are asked with follows. Nothing
    is cut within quotes and brackets. What is said before anything is asked for belongs to the first step.

    Every word is in one step, and the steps in a row are the text, white space aside.
    """
    pieces = list(_sentences(_single_spaced(text)))
    pieces = [part for piece in pieces for part in _cut(piece, _CONNECTIVE)]
    pieces = [part for piece in pieces for part in (_wishes(piece) if _asks(piece) else [piece])]
    steps = _at_most(_without_preamble(_long_enough(pieces)), most)
    return tuple(step.strip() for step in steps) if len(steps) > 1 else (text.strip(),)


def _single_spaced(text: str) -> str:
    """`text` with a space or a line break for each run of white space, which is then read in linear time."""
    return _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", text)


def _sentences(text: str) -> Iterator[str]:
    listed = len(_LIST_MARKER.findall(text)) > 1
    for piece in _cut(text, _SENTENCE_END, partial(_ends_sentence, listed=listed)):
        yield from _cut(piece, _LIST_ITEM) if listed else [piece]


def _wishes(sentence: str) -> list[str]:
    return _cut(sentence, _CONJUNCTION, lambda match: (match[1] or match[2]).casefold() in _VERBS)


def _cut(
    text: str, pattern: re.Pattern[str], accepts: Callable[[re.Match[str]], bool] | None = None
) -> list[str]:
    """`text` cut behind each match outside of quotes and brackets that `accepts` lets pass."""
    closed = [match.span() for match in _CLOSED.finditer(text) if match.span() != (0, len(text))]
    begins = [begin for begin, _ in closed]
    pieces, start = [], 0
    for match in pattern.finditer(text):
        before = bisect_left(begins, match.start())  # the spans do not overlap
        within = before > 0 and match.end() <= closed[before - 1][1]
        if within or (accepts is not None and not accepts(match)) or not text[start : match.end()].strip():
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    if text[start:].strip() or not pieces:
        pieces.append(text[start:])
    return pieces


def _asks(piece: str) -> bool:
    """Whether `piece` asks for something, rather than telling something."""
    if _ASKING.search(piece) or _UNSPACED.search(piece):
        return True
    words = (word.casefold() for word in _WORD.findall(piece))
    return next((word for word in words if word not in _OPENERS), "") in _VERBS


def _ends_sentence(match: re.Match[str], *, listed: bool) -> bool:
    """Whether a point ends a sentence rather than an abbreviation, an initial or, in a list, a number."""
    last = match.string[max(0, match.start() - _LONGEST_STEM) : match.start()].split()[-1:] or [""]
    stem = last[0].lstrip("(\"'“").removesuffix(".")
    if not last[0].endswith("."):
        return True
    if len(stem) < 3 and stem.isdecimal():
        return not listed
    return not (stem.casefold() in _ABBREVIATIONS or (len(stem) == 1 and stem.isalpha()))


def _long_enough(pieces: list[str]) -> list[str]:
    """The pieces with those of too few words joined to what stands before them, or else behind."""
    joined: list[list[str]] = []
    length = 0  # words of the last of them
    for piece in pieces:
        n = _n_words(piece)
        if joined and min(n, length) < MIN_WORDS:
            joined[-1].append(piece)
            length += n
        else:
            joined.append([piece])
            length = n
    return ["".join(parts) for parts in joined]


def _without_preamble(pieces: list[str]) -> list[str]:
    """The pieces with those at the beginning that only tell something joined to the first that does not."""
    first = next((i for i, piece in enumerate(pieces) if _asks(piece) or not _TELLING.search(piece)), 0)
    return ["".join(pieces[: first + 1]), *pieces[first + 1 :]]


def _at_most(pieces: list[str], n: int) -> list[str]:
    """`pieces` with the shortest pairs of neighbours joined until `n` are left."""
    while len(pieces) > _MANY * n:
        pieces = ["".join(pieces[i : i + 2]) for i in range(0, len(pieces), 2)]
    pieces = list(pieces)
    while len(pieces) > n:
        i = min(range(len(pieces) - 1), key=lambda i: len(pieces[i]) + len(pieces[i + 1]))
        pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
    return pieces


def _n_words(text: str) -> int:
    """Words of `text`, where scripts without spaces count two characters for one."""
    return len(_UNSPACED.findall(text)) // 2 + len(_WORD.findall(_UNSPACED.sub(" ", text)))


_MANY = 64
"""So many times more pieces than wanted are halved at once, since finding the shortest pair looks at all."""

_LONGEST_STEM = 40
"""No abbreviation is that long."""

_BLANKS = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

_SENTENCE_END = re.compile(r"(?<=[.!?;])(?:[\"'”’)\]]+\s+(?![a-z])|\s+)|(?<=[。！？；])[」』”]?|\s*\n\s*")
_LIST_MARKER = re.compile(r"(?:^|\s)(?:\(?[1-9][.)]|•)\s")
_LIST_ITEM = re.compile(r"\s+(?=(?:\(?[1-9][.)]|•)\s)")
_CONNECTIVE = re.compile(
    r",?\s+(?=(?:and then|then|and also|also|and finally|finally|lastly|after that|afterwards|additionally"
    r"|furthermore|and next|as well as"
    r"|und dann|danach|anschließend|außerdem|puis|ensuite|enfin|luego|después|además)\b)"
    r"|[，、](?=然后|接着|随后|最后|并且|その後|それから|最後に)",
    re.IGNORECASE,
)
_CONJUNCTION = re.compile(r",?\s+(?=and\s+([a-z]+)\s)|,\s+(?=([a-z]+)\s)", re.IGNORECASE)

# Bounded, so that a text full of opening marks is read in linear time.
_CLOSED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)"
    r"|\([^()\n]{1,300}\)|\[[^\[\]]{1,300}\]|\{[^{}]{1,300}\}"
)

_ASKING = re.compile(
    r"[?？]|\bplease\b|\bhelp\b|\blet (?:me|us) know\b"
    r"|\b(?:can|could|would|will) (?:you|i|we)\b"
    r"|\b(?:i|we)(?:['’]d)?(?: also| would)* (?:like|love|need|want|wish|require|have to|must|appreciate)\b"
    r"|\b(?:i|we)(?: am| are|['’]m|['’]re)? (?:looking|interested|curious|trying|hoping|planning)\b"
    r"|^\W*(?:what|how|where|when|who|which|why|is|are|do|does)\b",
    re.IGNORECASE,
)

_TELLING = re.compile(
    r"\b(?:i|my|we|our|he|she|it|they|this|that|there|is|are|was|were|has|have|had|hi|hello|hey)\b",
    re.IGNORECASE,
)

_ABBREVIATION_LIST = """
dr mr mrs ms prof st inc ltd co corp vs no nr e.g i.e etc approx a.m p.m u.s u.k z.b d.h
"""
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())

_OPENER_LIST = """
please kindly and or but so then also next now finally lastly afterwards afterward additionally furthermore
moreover first firstly second secondly third thirdly after that ok okay hey hi hello just to i we go ahead
be sure 1 2 3 4 5 6 7 8 9
"""
_OPENERS = frozenset(_OPENER_LIST.split())

_VERB_LIST = """
accept activate add adjust alert allow analyse analyze announce answer append apply approve arrange archive
ask assess assign attach back ban block book bring build buy calculate call cancel capture change charge
check choose classify clean clear clone close collect combine comment compare compile compose compress
compute confirm connect convert copy count create deactivate decrypt delete deliver deploy describe detect
determine disable discard display divide download draft draw edit email enable encrypt enter escalate
estimate evaluate examine exchange execute explain export extract fetch file fill filter find fix fold
forecast format forward generate get give grab group guide hide identify import include increase inform
insert inspect install invite issue join keep label launch let list load locate lock log look mail make
manage map mark measure merge message modify monitor move multiply notify obtain open order organize
outline pass pause pay pin place plan play plot post predict prepare print process provide publish pull
purchase push put query rank rate read reboot recommend record redeem refund register reject release
remind remove rename render renew reopen replace reply report request rerun reschedule reserve reset
resize resolve restart restore resume retrieve return review revoke roll rotate run save scan schedule
score search see select sell send set share shorten show simulate simplify solve sort split start stop
store submit subscribe suggest sum summarise summarize suspend switch tag take tell test text track train
transcribe transfer translate trigger turn unblock unlock unpin unsubscribe update upload use validate
verify view visualize warn watch withdraw write upgrade zip
"""
_VERBS = frozenset(_VERB_LIST.split())
