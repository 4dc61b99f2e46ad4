"""Definitions without measure (E164): models are sent a part, which is still a schema and says so."""

import json

import pytest

from toolsearch.delivery.bridge import BRIDGE
from toolsearch.formats.bounded import MAX_SCHEMA, bounded, bounded_schema
from toolsearch.schema import check_schema
from toolsearch.tools import JsonObject, Tool

PROPERTIES = {f"p{n}": {"type": "string", "description": "word " * 20} for n in range(2000)}
WIDE: JsonObject = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["p1999"],
    "additionalProperties": False,
}
REFERRING: JsonObject = {
    "type": "object",
    "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "string"}},
    "required": ["a"],
    "$defs": {"A": {"type": "object", "description": "word " * 20_000}},
}
HOSTILE = Tool(raw_name="hostile", description="word " * 200_000, input_schema=WIDE, output_schema=WIDE)


@pytest.mark.parametrize("schema", [WIDE, REFERRING, {**WIDE, "required": [*PROPERTIES]}])
def test_a_cut_schema_is_one_and_keeps_what_is_required_by_name(schema: JsonObject) -> None:
    cut = bounded_schema(schema)
    assert len(json.dumps(cut)) <= MAX_SCHEMA
    assert "left out here for its size" in json.dumps(cut).replace("their", "its")
    assert check_schema("hostile", cut).mended == ()
    assert set(cut["required"]) <= cut["properties"].keys() <= schema["properties"].keys()
    assert bounded_schema(cut) is cut
    if len(schema["required"]) == 1:
        assert cut["required"] == schema["required"]


def test_a_tool_without_measure_is_cut_and_keeps_its_name() -> None:
    cut = bounded(HOSTILE)
    assert (cut.name, len(cut.description), cut.description[-1]) == (HOSTILE.name, 4001, "…")
    assert cut.definition.input_schema == bounded_schema(WIDE) == cut.definition.output_schema
    assert bounded(cut) is cut
    assert len(BRIDGE.entry(HOSTILE)) < MAX_SCHEMA + 5000


def test_any_other_tool_stays_as_it_is() -> None:
    tool = Tool(raw_name="plain", description="x" * 4000, input_schema={"type": "object", "properties": {}})
    assert bounded(tool) is tool
