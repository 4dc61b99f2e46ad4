"""A secret is found in any spelling in which a service may repeat it."""

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from toolsearch.http.secrets import Redaction, words_of

USER, PASSWORD, KEY = "ada@example.org", 'pä ss+/&"<1\\', "sk-abc/DEF+9=="
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent": lambda secret: quote(secret, safe=""),
    "percent, lower case": lambda secret: quote(secret, safe="").lower().replace("def", "DEF"),
    "percent, some characters": quote,
    "percent, twice": lambda secret: quote(quote(secret, safe=""), safe=""),
    "form": quote_plus,
    "JSON": lambda secret: json.dumps(secret)[1:-1],
    "JSON, slashes escaped": lambda secret: json.dumps(secret)[1:-1].replace("/", "\\/"),
    "JSON, all escaped": lambda secret: "".join(f"\\u{ord(c):04X}" for c in secret),
    "HTML": html.escape,
    "HTML, all escaped": lambda secret: "".join(f"&#{ord(c)};" for c in secret),
    "base64": lambda secret: base64.b64encode(secret.encode()).decode(),
    "base64 for URLs": lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
}


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("secret", [USER, PASSWORD, KEY, f"{USER}:{PASSWORD}"])
def test_a_secret_is_hidden_in_every_spelling(secret: str, spell: Callable[[str], str]) -> None:
    hide = Redaction([KEY], user=USER, password=PASSWORD)
    shown = hide(f"before [{spell(secret)}] after")
    assert shown.replace("=", "") == "before [***] after"


def test_other_text_stays_as_it_is() -> None:
    text = "Incorrect API key provided. https://host.test/v1?page=1&x=%20"
    assert Redaction([KEY], user=USER, password=PASSWORD)(text) == text
    assert Redaction([""])(text) == text


def test_a_secret_within_another_does_not_leave_the_rest() -> None:
    assert Redaction(["abc", "abcdef"])("abcdef abc") == "*** ***"


@pytest.mark.parametrize("spell", SPELLINGS.values(), ids=SPELLINGS)
def test_the_beginning_is_that_of_the_text_without_secrets(spell: Callable[[str], str]) -> None:
    """However long it is: no secret is cut in two where it ends."""
    hide = Redaction([KEY], user=USER, password=PASSWORD)
    text = f"before {spell(KEY)} {spell(PASSWORD)} after"
    whole = hide(text)
    for characters in range(1, len(whole)):
        assert hide.beginning(text, characters) == f"{whole[:characters]}..."
    assert hide.beginning(text, len(whole)) == hide.beginning(text, 10_000) == whole


def test_values_of_headers_are_secret_whole_and_by_their_longer_words() -> None:
    assert [*words_of(["Bearer abcdefgh", "a=12345678; b=1", "short"])] == [
        "Bearer abcdefgh",
        "abcdefgh",
        "a=12345678; b=1",
        "12345678",
    ]
