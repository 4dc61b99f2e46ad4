"""What embedders ask of a text."""

from __future__ import annotations

import hashlib
import re


def without_surrogates(text: str) -> str:
    """The text as Unicode that can be encoded: surrogate pairs joined, lone ones replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def short_digest(text: str) -> str:
    """The first 8 hex digits of the text's SHA-256, for ids."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def latin_share(text: str) -> float:
    """Share of the text's letters that are Latin, with or without accents; 1.0 without letters."""
    letters = sum(map(str.isalpha, text))
    return len(_LATIN_LETTER.findall(text)) / letters if letters else 1.0


# Latin letters up to IPA, those of Vietnamese, minor languages, ligatures and full-width forms.
_LATIN_LETTER = re.compile("[A-Za-zªºÀ-ÖØ-öø-ʯḀ-ỿⱠ-Ɀﬀ-ﬆＡ-Ｚａ-ｚ]")
