import pytest

from toolsearch.catalog import Catalog
from toolsearch.index.tool_index import ToolIndex
from toolsearch.lint.self_retrieval import check_self_retrieval, first_sentence
from toolsearch.testing import HashingEmbedder
from toolsearch.tools import Tool


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("Send a mail. Needs a token.", "Send a mail."),
        ("Send a mail, e.g. a reply. Then wait.", "Send a mail, e.g. a reply."),
        ("Send a mail\n\nArgs: to", "Send a mail"),
        ("日本の法令を検索します。東京のみ。", "日本の法令を検索します。"),
        ("Version 2.5 of it", "Version 2.5 of it"),
        ("***", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_is_asked(description: str, sentence: str) -> None:
    assert first_sentence(description) == sentence


def test_a_tool_whose_sentence_fits_others_better_is_found() -> None:
    generic = "Free plan available for all today! Forecast of currency exchange rates by machine learning."
    better = [
        Tool(raw_name=f"free_plan_available_for_all_{word}", description="Free plan available for all today!")
        for word in ("one", "two", "three", "four", "five")
    ]
    tools = [
        Tool(raw_name="forecast", description=generic),
        Tool(raw_name="weather", description="Tells the weather of a city."),
        *better,
    ]
    embedder = HashingEmbedder()
    index = ToolIndex.build(Catalog(tools), embedder)
    (finding,) = check_self_retrieval(index, embedder)
    assert (finding.tool, finding.code) == ("forecast", "not-self-retrieved")
    assert "finds 5 other tools first" in finding.message


def test_a_name_in_the_sentence_does_not_help() -> None:
    """The tools that the sentence mentions by name are not put first."""
    others = [Tool(raw_name=f"step{i}", description=f"Does part {i} of a move.") for i in range(6)]
    named = ", ".join(tool.raw_name for tool in others)
    mover = Tool(raw_name="mover", description=f"Moves a whole house at once, which replaces {named}.")
    embedder = HashingEmbedder()
    index = ToolIndex.build(Catalog([mover, *others]), embedder)
    assert "mover" not in [finding.tool for finding in check_self_retrieval(index, embedder)]


def test_an_empty_catalog_has_no_findings() -> None:
    embedder = HashingEmbedder()
    assert list(check_self_retrieval(ToolIndex.build(Catalog(), embedder), embedder)) == []
