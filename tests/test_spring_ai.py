"""docs/spring-ai.md accounts for every numbered statement, with tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "spring-ai.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| (.+) \| (.+) \| (.*)\|$", PAGE, re.MULTILINE)
TESTS = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))


def test_every_statement_has_one_row() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, 46))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_its_test(row: tuple[str, str, str, str]) -> None:
    _, _, here, shown = row
    assert here
    assert "::" in shown


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(encoding="utf-8"), re.MULTILINE)
