"""The tests that docs/security.md names exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
TEXT = (TESTS.parent / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("| ")][2:]
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def _tests_of(file: str) -> frozenset[str]:
    return frozenset(_defined(ast.parse((TESTS / file).read_text(encoding="utf-8"))))


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.sub(r"\W+", "-", row.split("|")[1])[:60])
def test_each_promise_names_tests_that_exist(row: str) -> None:
    named = NAMED.findall(row.split("|")[2])
    assert named
    assert row.count("::") == len(named)
    assert [(file, name) for file, name in named if name not in _tests_of(file)] == []


def test_every_part_of_the_promises_is_there() -> None:
    parts = re.findall(r"^\| \*\*(\w[\w ]*)\.?\*\*", TEXT, re.MULTILINE)
    assert parts == [
        *("Keys", "Permissions", "Limits", "Time", "Addresses", "Browsers", "Logs", "Stopping"),
        "Reading again",
    ]
    assert len(ROWS) >= 34
