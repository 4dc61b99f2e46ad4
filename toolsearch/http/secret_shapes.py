"""Texts without what looks like a secret."""

from __future__ import annotations

import re

HIDDEN = "[hidden]"

_LOOKED_AT = 4096
"""Characters of a text that are read: enough for any message, and a bound on the time that it takes."""

# Nothing stands before the words: looking for the beginning of a name takes time that grows with the square
# of a long one.
_WORDS = r"""
    (?: (?:access|account|api|auth|encryption|master|private|secret|session|signing)[-_ ]?key(?:[-_ ]?id)?
      | secret | token | passw(?:or)?d | passphrase | pwd | _pass | credentials? | cookie
    )
"""
_NAMED = re.compile(
    rf"""
    (   {_WORDS} ['"]? \s* [:=] \s*
      | [?&] (?:code|key|sig|x-amz-signature) =
    )
    (?: "[^"]*(?:"|\Z) | '[^']*(?:'|\Z) | [^\s,;&]+ )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_AUTHORIZATION = re.compile(
    r"""
    (   \b (?:basic|bearer) \s+
      | authorization ['"]? \s* [:=] \s* ['"]? (?: (?:basic|bearer|token|apikey|negotiate) \s+ )?
    )
    [^\s,;'"]+
    """,
    re.IGNORECASE | re.VERBOSE,
)
# A password may hold slashes and at signs; a port is none.
_IN_A_URL = re.compile(r"(?<=://)(?:[^\s/@:]{0,200}:(?!\d{1,5}/)\S{1,200}|[^/\s@]{1,200})(?=@)")
_KNOWN_KEYS = re.compile(
    r"""
    \b (?:
        (?: sk | pk | rk | gh[oprsu] | glpat | xox[abeprs] | hf | npm | pypi ) [-_] [\w-]{8,}
      | github_pat_ \w{8,}
      | (?: AKIA | ASIA ) [A-Z0-9]{12,}
      | AIza [\w-]{8,}
      | ya29\. [\w-]{8,}
      | eyJ [\w-]{8,} (?: \. [\w-]+ )*
    )
    """,
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)


def redacted(text: str) -> str:
    """The beginning of `text` without what looks like a secret, by its usual shapes and names.

    Keys, passwords, tokens, credentials in URLs. A help against accidents, no guarantee: a secret of no known
    shape passes. Of a text beyond 4,096 characters the rest is left out, with the word that is cut by that.
    """
    if len(text) > _LOOKED_AT:
        text = _whole_words(text[:_LOOKED_AT])
    text = _PRIVATE_KEY.sub(HIDDEN, text)
    text = _AUTHORIZATION.sub(rf"\1{HIDDEN}", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    text = _IN_A_URL.sub(HIDDEN, text)
    return _KNOWN_KEYS.sub(HIDDEN, text)


def _whole_words(text: str) -> str:
    """`text` without its last word, if it has several."""
    end = max(map(text.rfind, " \n\t,;&"))
    return text[:end] if end > 0 else text
