"""What stands where a type belongs may be anything, also what cannot be in a set."""

from __future__ import annotations

from typing import Any

import pytest

from toolsearch.adapters.anthropic import Anthropic
from toolsearch.adapters.openai_chat import OpenAIChat
from toolsearch.adapters.openai_responses import OpenAIResponses
from toolsearch.adapters.routes import tools_within
from toolsearch.adapters.wire import is_custom
from toolsearch.sources.openapi.media import is_binary


@pytest.mark.parametrize("kind", [[], {}, ["custom"], {"type": "custom"}, 1], ids=repr)
def test_an_odd_type_is_none_that_is_known(kind: Any) -> None:
    record = {"type": kind, "role": kind, "name": "x", "call_id": "c"}
    assert not is_custom(record)
    assert not is_binary({"type": kind, "format": "binary"})
    assert Anthropic().tool_name(record) is OpenAIResponses().tool_name(record) is None
    assert list(tools_within({"tools": [record]})) == []
    assert OpenAIChat().with_instructions({"messages": [record]}, "Search.")["messages"][1:] == [record]
    assert OpenAIResponses().calls({"output": [record]}) == []
