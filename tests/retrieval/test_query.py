"""Every query has a defined reading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.exceptions import SearchRequestError
from toolsearch.retrieval.query import MAX_QUERY_CHARACTERS, clean_query


@pytest.mark.parametrize("query", ["", "   ", "\n", "?!", "🍕🎉", "\ud800", "\x00\x07", "____"])
def test_a_query_without_a_word_is_refused_with_advice(query: str) -> None:
    """(E119)"""
    with pytest.raises(SearchRequestError, match="Say in a few words"):
        clean_query(query)


def test_white_space_is_folded_and_what_cannot_be_encoded_is_dropped() -> None:
    assert clean_query(" send\tan \ud800e-mail\n\x00 now ") == ("send an e-mail now", None)


def test_a_long_query_is_cut_at_a_word_with_a_notice() -> None:
    """(E126)"""
    text, notice = clean_query("translate a document. " + "blah " * 10_000)
    assert text.startswith("translate a document.")
    assert text.endswith("blah")
    assert len(text) <= MAX_QUERY_CHARACTERS
    assert notice == "The query has 50,022 characters; the first 2,000 were searched for."


def test_a_long_query_without_spaces_is_cut_too() -> None:
    text, notice = clean_query("法" * 5000)
    assert text == "法" * MAX_QUERY_CHARACTERS
    assert notice


@given(st.text())
def test_what_is_searched_can_be_encoded(query: str) -> None:
    try:
        text, _ = clean_query(query)
    except SearchRequestError:
        return
    assert text.encode()
