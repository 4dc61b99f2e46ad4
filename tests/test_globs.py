"""Globs: matched as `fnmatchcase` does, in one reading of each text."""

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.globs import Globs, is_glob

LETTERS = "ab-!^]\n"


@given(
    globs=st.lists(st.text(alphabet=LETTERS + "*?[", max_size=8), max_size=6),
    texts=st.lists(st.text(alphabet=LETTERS + "*?[", max_size=8), min_size=1, max_size=6),
)
@settings(max_examples=1500, deadline=None)
def test_globs_fit_what_fnmatchcase_says(globs: list[str], texts: list[str]) -> None:
    matcher = Globs(globs)
    for text in texts:
        assert matcher.fits(text) == any(fnmatchcase(text, glob) for glob in globs), (globs, text)


@pytest.mark.parametrize(
    "glob",
    ["[]a]*", "[!]a]?", "[a-c]x", "[z-a]", "[!z-a]", "[^a]", "[a", "a[", "**a**", "[[]*[]]", "é*[ß]", ""],
)
def test_sets_are_read_as_fnmatch_reads_them(glob: str) -> None:
    texts = ["", "a", "b", "]", "^", "ax", "bx", "]x", "x", "[a", "a[", "xay", "[x]", "éß", "\ud800", "\n"]
    matcher = Globs([glob])
    assert [matcher.fits(text) for text in texts] == [fnmatchcase(text, glob) for text in texts]


def test_more_states_than_are_kept_are_found_again() -> None:
    glob = f"*b{'?' * 30}b"
    texts = [f"{number * 2654435761 % 2**40:040b}".translate({48: "a", 49: "b"}) for number in range(400)]
    matcher = Globs([glob])
    expected = [fnmatchcase(text, glob) for text in texts]
    assert 50 < sum(expected) < 350
    assert [matcher.fits(text) for text in texts] == expected


def test_globs_that_would_backtrack_cost_one_reading_of_the_text() -> None:
    text, globs = "a" * 200_000, ["*" + "[ab]" * wide + "b" for wide in range(100, 180)]
    begun = time.process_time()
    assert not Globs(globs).fits(text)
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    ("text", "expected"), [("mail__*", True), ("a?b", True), ("a[b", True), ("mail", False)]
)
def test_a_glob_has_a_character_that_means_others(text: str, expected: bool) -> None:
    assert is_glob(text) is expected
