"""Public names are valid, injective and independent of anything but their inputs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.naming import public_name, split_words

VALID = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
TRICKY = st.text(alphabet="ab_-.é数 A0", max_size=8) | st.text(max_size=80)


@pytest.mark.parametrize(
    ("source", "raw_name", "expected"),
    [
        ("", "getUser", "getUser"),
        ("github", "create_issue", "github__create_issue"),
        ("github", "get-me", "github__get-me"),
    ],
)
def test_plain_names_stay_readable(source: str, raw_name: str, expected: str) -> None:
    assert public_name(source, raw_name) == expected


@given(st.tuples(TRICKY, TRICKY, TRICKY))
def test_every_name_fits_the_providers_pattern(parts: tuple[str, str, str]) -> None:
    source, raw_name, variant = parts
    assert VALID.match(public_name(source, raw_name, variant=variant))


@given(st.tuples(TRICKY, TRICKY, TRICKY), st.tuples(TRICKY, TRICKY, TRICKY))
def test_different_tools_never_share_a_name(left: tuple[str, str, str], right: tuple[str, str, str]) -> None:
    same = public_name(left[0], left[1], variant=left[2]) == public_name(right[0], right[1], variant=right[2])
    assert same == (left == right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (("a_", "b"), ("a", "_b")),
        (("", "a__b"), ("a", "b")),
        (("a", "b__c"), ("a__b", "c")),
        (("cal", "events.update"), ("cal", "events_update")),
        (("", "\ud83d\ude00"), ("", "\U0001f600")),
    ],
)
def test_names_that_read_alike_are_told_apart(left: tuple[str, str], right: tuple[str, str]) -> None:
    assert public_name(*left) != public_name(*right)


def test_a_plain_name_cannot_pose_as_another_tools_digest() -> None:
    digested = public_name("cal", "events.update")
    assert public_name("", digested) != digested


def test_long_names_of_one_server_stay_apart() -> None:
    """openai and others refuse over 64 characters; cutting alone would merge these two."""
    server = "s" * 40
    first, second = public_name(server, "t" * 60 + "_a"), public_name(server, "t" * 60 + "_b")
    assert first != second
    assert len(first) <= 64
    assert len(second) <= 64


def test_servers_that_lose_their_accents_or_vanish_stay_apart() -> None:
    names = [public_name(server, "query") for server in ("café", "cafè", "数据")]
    assert len(set(names)) == 3
    assert all(re.match(r"[a-z]+__query_[0-9a-f]{16}$", name) for name in names)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getHTTPResponse2", ["get", "HTTP", "Response", "2"]),
        ("get_user.v2", ["get", "user", "v", "2"]),
        ("XMLParser", ["XML", "Parser"]),
        ("数据query", ["数据", "query"]),
        ("", []),
    ],
)
def test_identifiers_are_split_into_words(name: str, words: list[str]) -> None:
    assert split_words(name) == words


def test_names_that_were_ground_to_share_forty_bits_of_a_digest_differ() -> None:
    first, second = (public_name("s", "x.y", variant=variant) for variant in ("148589", "754351"))
    assert first != second
    assert all(re.fullmatch(r"s__x_y_[0-9a-f]{16}", name) for name in (first, second))
