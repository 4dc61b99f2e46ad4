"""`Tool`: what every tool has, however it is made."""

import pytest

from toolsearch import tool
from toolsearch.exceptions import DefinitionError
from toolsearch.tools import Tool


def greet() -> str:
    return "hi"


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_tool_without_a_name_is_refused(blank: str) -> None:
    with pytest.raises(DefinitionError, match="needs a name"):
        Tool(raw_name=blank)
    with pytest.raises(DefinitionError, match="needs a name"):
        tool(greet, name=blank)
