from __future__ import annotations

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toolsearch.exceptions import IndexDamagedError, IndexFormatError
from toolsearch.index import bm25
from toolsearch.index.bm25 import PAIR_WEIGHT
from toolsearch.index.lexical import FIELDS, LexicalIndex, lexical_fields
from toolsearch.index.text import is_word, tokenize
from toolsearch.tools import Tool

WORDS = [
    "alpha",
    "bravo",
    "charlie",
    "delta",
    "echo",
    "foxtrot",
    "golf",
    "hotel",
    "india",
    "juliet",
    "kilo",
    "lima",
]


def tool(name: str, description: str = "", *, source: str = "", **properties: Any) -> Tool:
    schema = {"type": "object", "properties": properties}
    return Tool(raw_name=name, source=source, description=description, input_schema=schema)


def random_tools(n: int, seed: int) -> list[Tool]:
    """Tools of a few common words, so that every word is in many of them."""
    draw = random.Random(seed)
    return [
        tool(
            f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{i}",
            " ".join(draw.choices([*WORDS, "天気予報"], k=draw.randrange(30))),
            source=draw.choice(["", "zulu", "yankee"]),
            **{draw.choice(WORDS): {"type": "string", "description": draw.choice(WORDS), "enum": ["papa"]}},
        )
        for i in range(n)
    ]


def terms_of(tokens: list[str]) -> set[tuple[str, ...]]:
    """The distinct tokens, and the distinct pairs of neighbours."""
    pairs = {pair for pair in pairwise(tokens) if any(is_word(token) for token in pair)}
    return {(token,) for token in tokens} | pairs


def slow_scores(tools: list[Tool], query: str, k1: float, b: float) -> list[float]:
    """BM25 with weighted fields and pairs, straight from its definition."""
    counts: list[dict[tuple[str, ...], float]] = []
    lengths: list[float] = []
    for each in tools:
        weighted: dict[tuple[str, ...], float] = {}
        length = 0.0
        for name, text in lexical_fields(each).items():
            field = FIELDS[name]
            tokens = tokenize(text)[: field.max_tokens]
            length += field.weight * len(tokens)
            for term in terms_of(tokens):
                times = min(tokens.count(term[0]), field.max_count) if len(term) == 1 else int(field.in_pairs)
                if times:
                    weighted[term] = weighted.get(term, 0.0) + field.weight * times
        counts.append(weighted)
        lengths.append(length)
    n = len(tools)
    mean = sum(lengths) / n
    scores = [0.0] * n
    for term in terms_of(tokenize(query)):
        df = sum(term in weighted for weighted in counts)
        idf = math.log(1 + (n - df + 0.5) / (df + 0.5)) * (1 if len(term) == 1 else PAIR_WEIGHT)
        for i, weighted in enumerate(counts):
            tf = weighted.get(term, 0.0)
            scores[i] += idf * tf / (tf + k1 * (1 - b + b * lengths[i] / mean))
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_bm25_over_weighted_fields(seed: int, k1: float, b: float) -> None:
    tools = random_tools(40, seed)
    index = LexicalIndex.build(tools, k1=k1, b=b)
    for query in (
        "alpha",
        "bravo charlie bravo lima",
        "papa zulu of 7",
        "法令を golf",
        "unknown kilo",
        " ".join(WORDS),
    ):
        np.testing.assert_allclose(index.scores(query).raw, slow_scores(tools, query, k1, b), rtol=1e-5)


QUERIES = (
    "alpha",
    "kilo 17",
    "bravo charlie bravo lima",
    "papa zulu 300 301 302",
    "法令を golf",
    " ".join(WORDS),
)


@pytest.mark.parametrize("k", [1, 7, 60, 5000])
@pytest.mark.parametrize("share", [None, 0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize("pool", [1, 1024])
@pytest.mark.parametrize("summed", [False, True])
def test_the_best_rows_are_those_of_all_scores(
    k: int, share: float | None, pool: int, summed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rare words, which let most rows be passed over, and common ones, which do not."""
    monkeypatch.setattr(bm25, "_POOL", pool)
    monkeypatch.setattr(bm25, "_FEW", 5)
    monkeypatch.setattr(bm25, "_POSTINGS_PER_LOOK_UP", 1000 if summed else 0)
    index = LexicalIndex.build(random_tools(800, seed=1))
    allowed = None if share is None else np.random.default_rng(3).random(800) < share
    for query in QUERIES:
        raw = index.scores(query).raw
        weighed = index.weigh(query)
        ranked = np.sort(raw[(raw > 0) if allowed is None else (raw > 0) & allowed])[::-1]
        least = ranked[min(k, len(ranked)) - 1] if len(ranked) else np.inf
        expected = np.flatnonzero((raw >= least) & (True if allowed is None else allowed))
        assert weighed.best(k, allowed).tolist() == expected.tolist()


@pytest.mark.parametrize("summed", [False, True])
def test_rows_alone_score_as_among_all(summed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bm25, "_POSTINGS_PER_LOOK_UP", 1000 if summed else 0)
    index = LexicalIndex.build(random_tools(300, seed=2))
    rows = np.array([0, 3, 4, 150, 299])
    for query in (*QUERIES, "", "unheard"):
        scores, weighed = index.scores(query), index.weigh(query)
        assert weighed.of(rows).tobytes() == scores.raw[rows].tobytes()
        assert weighed.of(rows[:0]).shape == (0,)
        assert weighed.ceiling == scores.ceiling


def test_a_row_that_no_rare_word_would_bring_up_is_not_passed_over() -> None:
    """Common words together may outweigh a rare one in a long text."""
    long = "rare " + " ".join(f"filler{i}" for i in range(150))
    tools = [tool(f"t{i}", long) for i in range(90)]
    tools += [tool(f"u{i}", "alpha bravo charlie") for i in range(100)]
    tools += [tool("alpha_bravo_charlie")]
    weighed = LexicalIndex.build(tools).weigh("rare alpha bravo charlie")
    assert weighed.best(1).tolist() == [190]


def test_the_ceiling_is_the_idf_of_all_tokens_those_that_no_tool_holds_included() -> None:
    tools = [tool("alpha"), tool("alpha_bravo"), tool("charlie")]
    scores = LexicalIndex.build(tools).scores("Alpha alpha unheard")
    assert scores.ceiling == pytest.approx(math.log(1 + 1.5 / 2.5) + math.log(1 + 3.5 / 0.5))
    np.testing.assert_allclose(scores.coverage, scores.raw / scores.ceiling, rtol=1e-6)


def test_two_words_in_a_row_count_as_such_and_raise_the_ceiling_where_known() -> None:
    tools = [tool("alpha_bravo"), tool("bravo_alpha"), tool("charlie")]
    index = LexicalIndex.build(tools)
    there, back = index.scores("alpha bravo"), index.scores("bravo alpha")
    assert there.raw.argmax() == 0
    assert back.raw.argmax() == 1
    one, two = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    assert there.ceiling == back.ceiling == pytest.approx(2 * one + PAIR_WEIGHT * two)
    assert index.scores("alpha charlie").ceiling == pytest.approx(one + two)


def test_coverage_is_below_one_and_falls_with_words_that_the_tool_lacks() -> None:
    index = LexicalIndex.build([tool("send_mail", "Send a mail."), tool("list_files", "List the files.")])
    full, half = index.scores("send mail").coverage[0], index.scores("send unheard mail today").coverage[0]
    assert 1 > full > half > 0


@pytest.mark.parametrize("query", ["", "  ", "?!", "\ud800", "😀"])
def test_a_query_without_tokens_scores_nothing(query: str) -> None:
    scores = LexicalIndex.build([tool("alpha"), tool("bravo")]).scores(query)
    assert scores.raw.tolist() == scores.coverage.tolist() == [0, 0]


def test_an_index_of_no_tools_answers(tmp_path: Path) -> None:
    index = LexicalIndex.build([])
    index.write(tmp_path)
    for each in (index, LexicalIndex.read(tmp_path)):
        assert len(each) == 0
        assert each.scores("alpha").raw.shape == (0,)


def test_a_word_of_a_request_is_found_in_any_part_of_the_tool() -> None:
    parts = tool(
        "rotate_pdf", "Turn pages.", source="acrobat", deg={"description": "Angle", "enum": ["ninety"]}
    )
    index = LexicalIndex.build([tool("other"), parts])
    for query in ("rotate", "page", "Acrobat", "deg", "angles", "ninety"):
        assert index.scores(query).raw.argmax() == 1, query


def test_a_tool_without_description_is_found_by_its_name() -> None:
    """(E35)"""
    tools = [
        tool("rotate_pdf", "", deg={"type": "integer"}),
        tool("merge_pdf", "Merge files."),
        tool("list_files"),
    ]
    assert LexicalIndex.build(tools).scores("rotate a pdf").raw.argmax() == 0


@pytest.mark.parametrize("query", ["法令", "法令を調べて"])
def test_a_japanese_word_finds_the_japanese_tool(query: str) -> None:
    """(E120)"""
    tools = [*random_tools(50, seed=1), tool("egov_search", "日本の法令を検索します")]
    scores = LexicalIndex.build(tools).scores(query).raw
    assert scores.argmax() == 50
    assert np.count_nonzero(scores) == 1


def test_repeating_a_request_in_the_description_does_not_pay() -> None:
    honest = tool("send_email", "Send an email to one or more people.", to={"description": "Recipients"})
    stuffed = tool("get_weather", "Weather of a city. " + "send email " * 200, city={"description": "City"})
    rest = random_tools(30, seed=2)
    for query in ("send email", "send an email to Bob", "email"):
        scores = LexicalIndex.build([stuffed, honest, *rest]).scores(query).raw
        assert scores.argmax() == 1, query


def test_equal_tools_score_equally_wherever_they_stand() -> None:
    """(E129)"""
    twins = [tool(f"twin{letter}", "The very same text.") for letter in "abcdef"]
    for tools in (twins, twins[::-1]):
        assert len(set(LexicalIndex.build(tools).scores("same text").raw.tolist())) == 1


def as_bytes(index: LexicalIndex, folder: Path) -> dict[str, bytes]:
    folder.mkdir()
    index.write(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_update_equals_a_fresh_build(tmp_path: Path) -> None:
    old = random_tools(30, seed=3)
    new = [*random_tools(4, seed=4), tool("brand_new", "With words unheard of.")]
    source_rows = np.array([29, -1, 3, 4, -1, -1, 0, 12, -1, 7, -1])
    arriving = iter(new)
    tools = [old[row] if row >= 0 else next(arriving) for row in source_rows]
    updated = LexicalIndex.build(old).updated(source_rows, new)
    assert as_bytes(updated, tmp_path / "updated") == as_bytes(LexicalIndex.build(tools), tmp_path / "fresh")


@pytest.mark.parametrize("seed", range(6))
def test_an_update_in_order_equals_a_fresh_build(seed: int, tmp_path: Path) -> None:
    """Names are in order before and after, so postings are merged and not sorted."""
    draw = random.Random(seed)
    old = [*random_tools(40, seed=seed), tool("only_here", "Words that leave with their tool.")]
    new = [*random_tools(6, seed=seed + 100), tool("brand_new", "Aardvark zymurgy alpha.")]
    kept = sorted(draw.sample(range(41), draw.choice([0, 5, 30])))
    source_rows = list(kept)
    for _ in new:
        source_rows.insert(draw.randrange(len(source_rows) + 1), -1)
    arriving = iter(new)
    tools = [old[row] if row >= 0 else next(arriving) for row in source_rows]
    updated = LexicalIndex.build(old).updated(np.array(source_rows), new)
    assert as_bytes(updated, tmp_path / "updated") == as_bytes(LexicalIndex.build(tools), tmp_path / "fresh")


def test_an_update_to_nothing_and_from_nothing_equals_a_fresh_build(tmp_path: Path) -> None:
    tools = random_tools(5, seed=5)
    emptied = LexicalIndex.build(tools).updated(np.array([], dtype=np.int64), [])
    refilled = emptied.updated(np.full(5, -1), tools)
    assert as_bytes(emptied, tmp_path / "a") == as_bytes(LexicalIndex.build([]), tmp_path / "b")
    assert as_bytes(refilled, tmp_path / "c") == as_bytes(LexicalIndex.build(tools), tmp_path / "d")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    index = LexicalIndex.build(
        [*random_tools(30, seed=6), tool("検索", "\u2028 strange \x85 separators")], k1=1.1, b=0.3
    )
    index.write(tmp_path)
    again = LexicalIndex.read(tmp_path)
    for query in ("alpha echo", "検索", "separators", "unheard"):
        assert again.scores(query).raw.tobytes() == index.scores(query).raw.tobytes()
        assert again.scores(query).ceiling == index.scores(query).ceiling


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"{"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: bytes) -> None:
    index = LexicalIndex.build(random_tools(5, seed=7))
    index.write(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.write_bytes(damage)
        with pytest.raises(IndexDamagedError) as caught:
            LexicalIndex.read(tmp_path)
        assert caught.value.file == path.name
        path.unlink()
        with pytest.raises(IndexDamagedError):
            LexicalIndex.read(tmp_path)
        path.write_bytes(whole)


def test_another_version_is_refused(tmp_path: Path) -> None:
    LexicalIndex.build([tool("alpha")]).write(tmp_path)
    head = tmp_path / "lexicon.json"
    head.write_text(head.read_text().replace('"version": 1', '"version": 999'))
    with pytest.raises(IndexFormatError, match="999"):
        LexicalIndex.read(tmp_path)
