"""Texts without the secrets that a service may have repeated in them."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator

HIDDEN = "***"

# Shorter words of a header are rarely secret, and hiding them would make other text unreadable.
_SHORTEST_WORD = 8


def words_of(values: Iterable[str]) -> Iterator[str]:
    """What may be secret in values of headers or queries: each, and each word of one, unless it is short."""
    for value in values:
        yield from (word for word in (value, *re.split(r"[\s;,=]+", value)) if len(word) >= _SHORTEST_WORD)


class Redaction:
    """Takes secrets out of texts, in any spelling: plain, percent-encoded, as in JSON or HTML, base64."""

    def __init__(self, secrets: Iterable[str], *, user: str = "", password: str = "") -> None:
        """`secrets` are hidden, as are `user` and `password`, each and together as Basic authentication."""
        basic = f"{user}:{password}" if user or password else ""
        hidden = {secret for secret in (*secrets, user, password, basic) if secret}
        # Base64 and long secrets go first: a short one could otherwise tear them apart.
        spelt = [*_longest_first(map(_base64, hidden)), *_longest_first(hidden)]
        self._pattern = re.compile("|".join(map(_spellings, spelt))) if spelt else None

    def __call__(self, text: str) -> str:
        """`text` with ``***`` for every secret."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def beginning(self, text: str, characters: int) -> str:
        """The first `characters` of what `text` is without secrets, with ``...`` where that is longer.

        Only so much of a long text is looked at, and no secret is cut in two by it.
        """
        shown: list[str] = []
        place = length = 0
        while place < len(text) and length < characters:
            found = self._pattern.match(text, place) if self._pattern else None
            shown.append(HIDDEN if found else text[place])
            place = found.end() if found else place + 1
            length += len(shown[-1])
        return "".join(shown)[:characters] + ("..." if place < len(text) or length > characters else "")


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=lambda text: (-len(text), text))


def _base64(secret: str) -> str:
    """Its base64, without padding."""
    return base64.b64encode(secret.encode()).decode().rstrip("=")


def _spellings(secret: str) -> str:
    """A pattern for `secret` with any of its characters encoded in any usual way."""
    return "".join(map(_spellings_of_character, secret))


def _spellings_of_character(character: str) -> str:
    octets = character.encode("utf-8", "surrogatepass")
    percent = "".join(f"%(?:25)*{_any_case(f'{octet:02x}')}" for octet in octets)
    # Percent-encoding may have been encoded again, each time with a 25 in front.
    ways = [percent]
    units = character.encode("utf-16-be", "surrogatepass").hex()
    ways.append("".join(rf"\\u{_any_case(units[i : i + 4])}" for i in range(0, len(units), 4)))
    ways += [rf"&#0*{ord(character)};", rf"&#[xX]0*{_any_case(f'{ord(character):x}')};"]
    if (named := html.escape(character)) != character:
        ways.append(re.escape(named))
    if character == " ":
        ways.append(r"\+")
    if character == "+":
        ways.append("-")
    if character == "/":
        ways.append("_")
    # Last, as a backslash by itself would match the beginning of an escape.
    ways += [rf"\\{re.escape(character)}", re.escape(character)]
    return f"(?:{'|'.join(ways)})"


def _any_case(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
