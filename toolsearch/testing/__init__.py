"""Stand-ins for models, for the tests of this package and of its users; nothing in it imports them."""

from toolsearch.testing.chat import Answer, BrokenStream, ScriptedChatModel, tool_call
from toolsearch.testing.embedders import FlakyEmbedder, HashingEmbedder
from toolsearch.testing.rerankers import WordReranker
from toolsearch.testing.schemas import assert_schemas_match

__all__ = [
    "Answer",
    "BrokenStream",
    "FlakyEmbedder",
    "HashingEmbedder",
    "ScriptedChatModel",
    "WordReranker",
    "assert_schemas_match",
    "tool_call",
]
