"""A snapshot fails for whatever a model would notice, and for nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from toolsearch.testing import assert_schemas_match
from toolsearch.tools import Tool

ADD = Tool(
    raw_name="add",
    description="Adds.",
    input_schema={
        "type": "object",
        "properties": {"left": {"type": "integer"}, "right": {"type": "integer"}},
    },
)
NOW = Tool(raw_name="now", description="The time.")


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "schemas.json"
    assert_schemas_match(path, [ADD, NOW], update=True)
    return path


def test_the_same_definitions_match_in_any_order(snapshot: Path) -> None:
    swapped = dict(reversed(ADD.input_schema.items()))
    assert_schemas_match(snapshot, [NOW, replace(ADD, input_schema=swapped, tags=("maths",))])


def test_a_renamed_parameter_is_named(snapshot: Path) -> None:
    properties = {"left": {"type": "integer"}, "other": {"type": "integer"}}
    renamed = replace(ADD, input_schema={"type": "object", "properties": properties})
    with pytest.raises(AssertionError) as failure:
        assert_schemas_match(snapshot, [renamed, NOW])
    assert "add.input_schema.properties.right: gone" in str(failure.value)
    assert "add.input_schema.properties.other: new" in str(failure.value)
    assert "now" not in str(failure.value)


def test_a_missing_tool_a_new_text_and_a_missing_file_fail(snapshot: Path, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="now: gone"):
        assert_schemas_match(snapshot, [ADD])
    with pytest.raises(AssertionError, match=r"now.description: 'The time.' -> 'A time.'"):
        assert_schemas_match(snapshot, [ADD, replace(NOW, description="A time.")])
    with pytest.raises(AssertionError, match="update=True"):
        assert_schemas_match(tmp_path / "none.json", [ADD])


def test_a_change_of_the_schema_is_not_hidden_by_python_equality(snapshot: Path) -> None:
    """``1 == True`` in Python, but not in a schema."""
    for value in (True, 1):
        tool = Tool(raw_name="flag", input_schema={"type": "object", "properties": {"x": {"const": value}}})
        if value is True:
            assert_schemas_match(snapshot, [tool], update=True)
        else:
            with pytest.raises(AssertionError, match="const"):
                assert_schemas_match(snapshot, [tool])
