"""The lines that parts of a JSON text start on, checked against the marks of the YAML parser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.exceptions import CatalogFileError
from toolsearch.formats.detect import Path
from toolsearch.sources.json_text import JsonReader
from toolsearch.sources.yaml_text import parse_yaml

# Both parsers take these characters as they are.
TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2000, exclude_categories=["Cc", "Cs", "Zl", "Zp"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from paths(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from paths(part, (*path, i))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(JSON.filter(lambda value: value is not None), st.sampled_from([None, 0, 2]))
def test_json_and_yaml_agree_on_values_and_lines(value: Any, indent: int | None) -> None:
    text = "\n" + json.dumps(value, indent=indent, ensure_ascii=False)
    as_json = JsonReader("f").parse(text)
    (as_yaml,) = parse_yaml("f", text)
    assert as_json.value == as_yaml.value == value
    for path in paths(value):
        assert as_json.line_of(path) == as_yaml.line_of(path), path


def test_the_last_of_repeated_keys_counts_and_is_the_one_with_a_line() -> None:
    parsed = JsonReader("f").parse('{"a": 1,\n"a": 2}')
    assert parsed.value == {"a": 2}
    assert parsed.line_of(("a",)) == 2
    assert parsed.flaws == {id(parsed.value): (parsed.value, "the key 'a' stands twice in one object.")}


@pytest.mark.parametrize("text", ["", "{", "[1,]", "nul", "1 2", "{'a': 1}", '"\x01"'])
def test_text_that_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(CatalogFileError, match="not JSON"):
        JsonReader("f").parse(text)
