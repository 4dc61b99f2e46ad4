"""Names that look like others: letters of other scripts, digits for letters, and what does not show at all.

The idea of a skeleton is that of Unicode Technical Standard 39, reduced to what resembles ASCII letters, of
which names of tools are made. The table is short; a word that mixes scripts is found without it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from toolsearch.naming import RESERVED_NAMES

_PAIRS = (
    ("аАеЕоОсСрРхХуУіІјЈѕЅһԁӏԛԝѵкКмМнНтТвВгпьӀҮү", "aAeEoOcCpPxXyYiIjJsShdlqwvkKmMhHtTbBrnblYy"),
    ("αΑβΒεΕζΖΗιΙκΚΜνΝοΟρΡτΤυΥχΧηωγσ", "aAbBeEzZHiIkKMvNoOpPtTuYxXnwyo"),
    ("օոսհցզայ", "onuhgqwj"),
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "ABCDEFGHIJKLMNOPRSTUVWXYZ"),
    ("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "ABCDEGHiJKLMPRSTVWZ"),
    ("ⲁⲥⲉⲓⲕⲟⲣⲧⲩⲭ", "aceikoptyx"),
    ("ıɑɡɩǀʟɴʀᴏᴄᴇᴀᴛᴜᴠᴡᴢꜱʜɪᴊᴋᴍᴘᴅʙɢꜰʏøłđħ", "iagillnroceatuvwzshijkmpdbgfyoldh"),
)
_LIKE_ASCII = {
    ord(letter): ascii_letter
    for letters, like in _PAIRS
    for letter, ascii_letter in zip(letters, like, strict=True)
}
_ALIKE = str.maketrans("01i5|", "ollsl")
_SCRIPTS_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "LISU", "CHEROKEE", "COPTIC"})
_WORD = re.compile(r"[^\W\d_]{2,}")


def skeleton(name: str) -> str:
    """What is left of a name to the eye: equal for names that can be taken for one another.

    Case, punctuation, accents and invisible characters do not count, nor do the differences between letters
    and digits that look alike. Empty where nothing is left.
    """
    latin = folded(name).casefold().translate(_ALIKE)
    return "".join(filter(str.isalnum, latin)).replace("rn", "m").replace("vv", "w")


def folded(text: str) -> str:
    """`text` with letters that look like ASCII ones as these, without accents and format characters."""
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", text)
    shown = "".join(c for c in apart if unicodedata.category(c) not in {"Mn", "Cf"})
    return shown.translate(_LIKE_ASCII)


def mixed_word(text: str) -> str:
    """The first word of `text` with Latin letters and letters that look Latin; empty where there is none."""
    if text.isascii():
        return ""
    for word in _WORD.findall(text):
        scripts = set() if word.isascii() else {_script(letter) for letter in word}
        if "LATIN" in scripts and scripts & _SCRIPTS_LIKE_LATIN:
            return str(word)
    return ""


def built_in_alike(name: str) -> str:
    """The built-in tool whose name `name` is or looks like; empty where there is none."""
    return _BUILT_IN.get(skeleton(name), "")


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


_BUILT_IN = {skeleton(name): name for name in sorted(RESERVED_NAMES)}
