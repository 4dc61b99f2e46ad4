"""A short text names a reranker; one that names none is refused with those that do."""

from pathlib import Path

import pytest

from toolsearch.exceptions import RerankerError
from toolsearch.rerankers import CrossEncoderReranker, load_reranker


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("st:acme/rank", "cross-encoder:acme/rank/256"),
        ("st:acme/rank@abc", "cross-encoder:acme/rank@abc/256"),
    ],
)
def test_a_cross_encoder_is_named_with_or_without_a_commit(spec: str, expected: str) -> None:
    reranker = load_reranker(spec)
    assert isinstance(reranker, CrossEncoderReranker)
    assert reranker.id == expected


def test_a_folder_may_have_an_at_sign(tmp_path: Path) -> None:
    folder = tmp_path / "rank@home"
    folder.mkdir()
    assert load_reranker(f"st:{folder}").id == f"cross-encoder:{folder}/256"


@pytest.mark.parametrize("spec", ["", "st:", "acme", "/no/such/folder"])
def test_anything_else_is_refused(spec: str) -> None:
    with pytest.raises(RerankerError, match=r"Unknown reranker .*st:NAME"):
        load_reranker(spec)
