"""Memory of conversations: the advisor, where they are kept, and what is left out of long ones."""

from toolsearch.advisors.memory.advisor import MemoryAdvisor
from toolsearch.advisors.memory.compaction import Compactor, summarizer
from toolsearch.advisors.memory.sqlite import SqliteConversationStore
from toolsearch.advisors.memory.store import ConversationStore, MemoryConversationStore
from toolsearch.advisors.memory.window import latest_turns, turns_of

__all__ = [
    "Compactor",
    "ConversationStore",
    "MemoryAdvisor",
    "MemoryConversationStore",
    "SqliteConversationStore",
    "latest_turns",
    "summarizer",
    "turns_of",
]
