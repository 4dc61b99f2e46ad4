"""What looks like a secret is taken out of a text, and the time for that grows no faster than the text."""

import time

import pytest

from toolsearch.http import secret_shapes
from toolsearch.http.secret_shapes import redacted


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer s3cr3t-aaaa refused", "Authorization: Bearer [hidden] refused"),
        ("Authorization: token s3cr3t", "Authorization: token [hidden]"),
        ("{'authorization': 's3cr3t'}", "{'authorization': '[hidden]'}"),
        ("api_key=s3cr3t-aaaa, user=ann", "api_key=[hidden], user=ann"),
        ("OPENAI_API_KEY: 's3cr3t aaaa'!", "OPENAI_API_KEY: [hidden]!"),
        ("AWS_SECRET_ACCESS_KEY=s3cr3t/aa+a", "AWS_SECRET_ACCESS_KEY=[hidden]"),
        ("secret_access_key: s3cr3t", "secret_access_key: [hidden]"),
        ("secretAccessKey=s3cr3t", "secretAccessKey=[hidden]"),
        ("access_key_id=s3cr3t", "access_key_id=[hidden]"),
        ("private_key=s3cr3t", "private_key=[hidden]"),
        ("AccountKey=s3cr3t==;EndpointSuffix=x", "AccountKey=[hidden];EndpointSuffix=x"),
        ("pwd=s3cr3t&user=ann", "pwd=[hidden]&user=ann"),
        ("DB_PASS=s3cr3t", "DB_PASS=[hidden]"),
        ("Cookie: s3cr3t; path=/", "Cookie: [hidden]; path=/"),
        ('{"password": "s3cr3t-aaaa", "id": 7}', '{"password": [hidden], "id": 7}'),
        ("postgres://ann:s3cr3t-aaaa@db/x", "postgres://[hidden]@db/x"),
        ("postgres://ann:s3@cr/3t@db/x", "postgres://[hidden]@db/x"),
        ("redis://:s3/cr3t@db", "redis://[hidden]@db"),
        ("https://s3cr3t@git.example/x", "https://[hidden]@git.example/x"),
        ("GET https://x.example/v1?key=s3cr3t&id=7", "GET https://x.example/v1?key=[hidden]&id=7"),
        ("key sk-s3cr3taaaa1 is revoked", "key [hidden] is revoked"),
        ("key github_pat_11ABCDEFG0_s3cr3t is revoked", "key [hidden] is revoked"),
        ("key AIzaSyS3cr3t-aaaa is revoked", "key [hidden] is revoked"),
        ("key hf_s3cr3taaaa is revoked", "key [hidden] is revoked"),
        ("key AKIAS3CR3TAAAAAA is revoked", "key [hidden] is revoked"),
        ("key eyJhbGciOiJ9.eyJzdWIi.s3cr3t is revoked", "key [hidden] is revoked"),
        ("-----BEGIN RSA PRIVATE KEY-----\ns3cr3t\n-----END RSA PRIVATE KEY----- x", "[hidden] x"),
        ("bad id 7: the token count is 12", "bad id 7: the token count is 12"),
        ("max_tokens=5 is too few", "max_tokens=5 is too few"),
        ("no https://x.example:8080/users/ann@x.org", "no https://x.example:8080/users/ann@x.org"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, kept: str) -> None:
    """(E26)"""
    assert redacted(text) == kept


def test_a_secret_that_a_long_text_is_cut_in_shows_no_part() -> None:
    for before in range(4060, 4096):
        shown = redacted(f"{'x' * before} sk-s3cr3t{'s' * 40} rest")
        assert "s3" not in shown
        assert shown.startswith("x" * before)


def test_the_time_grows_no_faster_than_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would take minutes in a pattern that looks at the rest of the text from every place in it."""
    monkeypatch.setattr(secret_shapes, "_LOOKED_AT", 10**9)
    pieces = ("a-", "eyJ-", "eyJaaaaaaaa.", "://", "://a:", "token='", 'token="', "token ", "bearer ", "_-")
    for piece in (*pieces, "authorization: ", "sk-", "?key=", "-----BEGIN PRIVATE KEY-----"):
        started = time.perf_counter()
        redacted(piece * (100_000 // len(piece)))
        assert time.perf_counter() - started < 5, piece
