"""The embedded text says what a tool does, on one line and within bounds."""

from toolsearch.document import MAX_DESCRIPTION, MAX_PARAMETERS, render_document
from toolsearch.tools import Tool


def test_the_document_holds_source_name_description_and_parameters() -> None:
    tool = Tool(
        raw_name="events.update",
        source="workCalendar",
        description="Change an\n event.",
        search_hint="reschedule",
        input_schema={
            "type": "object",
            "properties": {
                "newStart": {"type": "string", "description": "When it begins"},
                "notify": {"enum": ["all", "none"]},
                "id": {"type": "integer"},
            },
        },
    )
    assert render_document(tool) == (
        "work Calendar events update: Change an event. reschedule "
        "Parameters: new Start: When it begins; notify [all, none]; id"
    )


def test_a_tool_without_a_description_is_described_by_its_name_and_parameters() -> None:
    """(E35)"""
    schema = {"type": "object", "properties": {"deg": {"type": "integer"}}}
    assert render_document(Tool(raw_name="rotate_pdf", input_schema=schema)) == "rotate pdf: Parameters: deg"


def test_no_field_can_take_more_than_its_share() -> None:
    properties = {f"p{i}": {"type": "string", "description": "send email " * 900} for i in range(500)}
    tool = Tool(
        raw_name="stuffed",
        description="send email " * 9000,
        input_schema={"type": "object", "properties": properties},
    )
    text = render_document(tool)
    description, parameters = text.split(" Parameters: ")
    assert len(description) <= MAX_DESCRIPTION + len("stuffed: ")
    assert parameters.count(";") == MAX_PARAMETERS - 1
    assert len(text) < 4000


def test_what_a_reference_points_to_is_part_of_the_document() -> None:
    """(E29)"""
    schema = {
        "type": "object",
        "properties": {"o": {"$ref": "#/$defs/O", "description": "the order"}},
        "$defs": {"O": {"type": "object", "properties": {"id": {"type": "integer"}}}},
    }
    assert (
        render_document(Tool(raw_name="ship", input_schema=schema)) == "ship: Parameters: o: the order; o id"
    )
