from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.index.text import STOP_WORDS, is_word, tokenize


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("create_issue", ["creat", "issu"]),
        ("list-pull.requests/all:now", ["list", "pull", "request", "all", "now"]),
        ("getHTTPResponse", ["get", "http", "respons", "gethttprespons"]),
        ("GitHub", ["git", "hub", "github"]),
        ("oauth2", ["oauth", "2", "oauth2"]),
        ("URLs and IDs", ["url", "id"]),
        ("ACCEPT_INVITATION", ["accept", "invit"]),
    ],
)
def test_identifiers_are_cut_and_a_cut_word_also_stays_whole(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("Ｃafé", "cafe"),
        ("CAFE\u0301", "cafe"),
        ("Straße", "strasse"),
        ("ﬁle", "file"),
        ("Łódź", "lodz"),
        ("ПОГОДА", "погода"),
        ("ｶﾞｽ", "ガス"),
        ("user\u2019s", "user"),
        ("flights", "flight"),
        ("scheduling", "schedules"),
    ],
)
def test_case_width_accents_clitics_and_endings_are_folded(text: str, same_as: str) -> None:
    assert tokenize(text) == tokenize(same_as) != []


def test_endings_that_tell_words_apart_stay() -> None:
    assert tokenize("news") != tokenize("new")
    assert tokenize("universal") != tokenize("universe")


def test_stop_words_go_unless_there_is_nothing_else() -> None:
    assert tokenize("show me the weather") == ["show", "weather"]
    assert tokenize("I don't") == ["i", "do"]
    assert tokenize("who_am_i") == ["who", "am", "i"]


def test_stop_words_are_single_lower_case_words() -> None:
    assert all(word.isascii() and word.isalpha() and word.islower() for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("法令を", ["法令", "令を"]),
        ("搜", ["搜"]),
        ("AI搜索API", ["ai", "搜索", "api"]),
        ("날씨 확인", ["날씨", "확인"]),
        ("ไทย", ["ไท", "ทย"]),
    ],
)
def test_scripts_without_spaces_give_pairs_of_characters(text: str, tokens: list[str]) -> None:
    assert tokenize(text) == tokens


def test_words_are_told_from_pairs_of_characters() -> None:
    assert [token for token in tokenize("Погода in 東京都 and Łódź मौसम") if is_word(token)] == [
        "погода",
        "lodz",
        "मौसम",
    ]


def test_vowel_signs_stay_in_their_words() -> None:
    assert tokenize("मौसम की जानकारी") == ["मौसम", "की", "जानकारी"]


@pytest.mark.parametrize("text", ["", "   ", "\n", "?!", "😀🎉", "\ud800\udfff", "\0", "\u200b"])
def test_a_text_without_letters_and_digits_has_no_tokens(text: str) -> None:
    """(E119)"""
    assert tokenize(text) == []


def test_broken_characters_do_not_hide_the_words_around_them() -> None:
    assert tokenize("\ud800weather\0forecast\udfff") == ["weather", "forecast"]


@given(st.text(st.characters(), max_size=80))
def test_tokens_of_any_text_encode_and_hold_no_white_space(text: str) -> None:
    for token in tokenize(text):
        assert token
        assert not any(character.isspace() for character in token)
        token.encode()


@given(st.lists(st.text(max_size=12), max_size=6))
def test_words_are_tokenized_alike_wherever_they_stand(words: list[str]) -> None:
    apart = [token for word in words for token in tokenize(f"zebra\n{word}")[1:]]
    assert tokenize("\n".join(["zebra", *words])) == ["zebra", *apart]
