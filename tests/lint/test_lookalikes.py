import pytest

from toolsearch.catalog import Catalog
from toolsearch.lint import lint_catalog
from toolsearch.lint.lookalikes import built_in_alike, mixed_word, skeleton
from toolsearch.lint.names import check_lookalikes
from toolsearch.tools import Tool


@pytest.mark.parametrize(
    "name",
    [
        "tool_search",
        "ToolSearch",
        "tool-search",
        "tool.search",
        "t00l_search",
        "too1_search",
        "tool\u200b_search",
        "t\u043e\u043el_search",
        "tool_se\u0430r\u0441h",
        "ｔｏｏｌ_search",
        "𝐭𝐨𝐨𝐥_search",
        "tôol_search",
        "\u03c4\u03bf\u03bf\u04cf_search",
        "tool\u2024search",
    ],
)
def test_what_looks_like_a_built_in_name_is_known_as_it(name: str) -> None:
    assert built_in_alike(name) == "tool_search"


@pytest.mark.parametrize("name", ["search_tools", "tool_searches", "tools", "call", "describe", "", "поиск"])
def test_other_names_are_not(name: str) -> None:
    assert built_in_alike(name) == ""


def test_skeletons_are_equal_for_what_the_eye_takes_for_equal() -> None:
    assert skeleton("create_issue") == skeleton("create_lssue") == skeleton("CREATE-1SSUE")
    assert skeleton("modern") == skeleton("modem")
    assert skeleton("create_issue") != skeleton("create_issues")


@pytest.mark.parametrize("text", ["read_f\u0456le", "\u0410dmin tool", "say \u03bfnce"])
def test_a_word_of_two_scripts_is_found(text: str) -> None:
    assert mixed_word(text)


@pytest.mark.parametrize(
    "text", ["read_file", "чтение файла", "read файл", "α and β", "naïve café", "日本go"]
)
def test_words_of_one_script_each_are_left_alone(text: str) -> None:
    assert mixed_word(text) == ""


@pytest.mark.parametrize(
    ("name", "code", "severity"),
    [
        ("call_tool", "name-built-in", "warning"),
        ("callTool", "name-built-in", "warning"),
        ("call\u200b_tool", "name-lookalike", "error"),
        ("c\u0430ll_tool", "name-lookalike", "error"),
        ("read_f\u0456le", "name-lookalike", "error"),
    ],
)
def test_a_disguised_name_is_an_error_and_a_plain_one_a_warning(name: str, code: str, severity: str) -> None:
    (finding,) = check_lookalikes(Tool(raw_name=name, source="s"))
    assert (finding.code, finding.severity) == (code, severity)


def test_a_name_that_looks_like_another_tool_by_other_letters_is_an_error() -> None:
    catalog = Catalog(
        [Tool(raw_name="copy", source="files"), Tool(raw_name="\u0441\u043e\u0440\u0443", source="other")]
    )
    (finding,) = [f for f in lint_catalog(catalog) if f.code == "name-lookalike"]
    assert finding.message.endswith("looks like copy.")
