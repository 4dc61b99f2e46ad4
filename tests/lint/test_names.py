import pytest

from toolsearch.catalog import Catalog
from toolsearch.lint.names import check_names
from toolsearch.tools import Tool


def found(*tools: Tool) -> list[tuple[str, str]]:
    return [(finding.code, finding.message) for finding in check_names(Catalog(tools))]


def test_names_that_differ_in_case_or_punctuation_collide() -> None:
    assert found(Tool(raw_name="getUser"), Tool(raw_name="get_user"), Tool(raw_name="get_users")) == [
        ("name-collision", "Easily taken for get_user.")
    ]


def test_names_that_providers_refuse_are_shown_with_the_name_that_is_offered() -> None:
    """(E37)"""
    tool = Tool(raw_name="events.update", source="cal")
    assert found(tool) == [("name-refused", f"'events.update' holds '.', offered as {tool.name!r}.")]
    (long,) = found(Tool(raw_name="t" * 65))
    assert long[0] == "name-refused"


def test_a_name_that_only_its_source_makes_too_long_is_a_remark() -> None:
    """(E43)"""
    catalog = Catalog([Tool(raw_name="t" * 60, source="server")])
    (finding,) = check_names(catalog)
    assert (finding.code, finding.severity) == ("name-too-long", "info")
    assert "68 characters" in finding.message


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (Tool(raw_name="github__create_issue"), "'github__create_issue' could be taken for another name"),
        (Tool(raw_name="run", source="my__server"), "'run' of 'my__server' could be taken for another name"),
        (Tool(raw_name="run", source="café"), "'run' of 'café' could be taken for another name"),
        (Tool(raw_name="run_0123456789abcdef"), "'run_0123456789abcdef' could be taken for another name"),
        (Tool(raw_name="run", id="set:run~2"), "'run' needs its id 'set:run~2'"),
    ],
)
def test_every_name_that_is_offered_otherwise_is_at_least_a_remark(tool: Tool, said: str) -> None:
    assert tool.name not in {tool.raw_name, f"{tool.source}__{tool.raw_name}"}
    assert found(tool) == [("name-changed", f"{said}, offered as {tool.name!r}.")]


def test_a_name_in_several_sources_is_a_remark() -> None:
    """(E40)"""
    a, b = (Tool(raw_name="send_email", source=source) for source in ("a", "b"))
    assert found(b, a) == [("name-shared", "'send_email' is in 2 sources: a, b.")]


def test_plain_names_are_no_finding() -> None:
    assert found(Tool(raw_name="send", source="mail"), Tool(raw_name="receive", source="mail")) == []
