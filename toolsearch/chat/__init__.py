"""Chat models behind one protocol, over HTTP: one provider a module, loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolsearch.chat.base import ChatEvent, ChatModel, ChatRequest, ChatResponse, NativeSearch, Usage

if TYPE_CHECKING:
    from toolsearch.chat.anthropic import AnthropicChatModel
    from toolsearch.chat.load import load_chat_model
    from toolsearch.chat.openai_chat import OpenAIChatModel
    from toolsearch.chat.openai_responses import OpenAIResponsesModel

__all__ = [
    "AnthropicChatModel",
    "ChatEvent",
    "ChatModel",
    "ChatRequest",
    "ChatResponse",
    "NativeSearch",
    "OpenAIChatModel",
    "OpenAIResponsesModel",
    "Usage",
    "load_chat_model",
]

_MODULES = {
    "AnthropicChatModel": "anthropic",
    "OpenAIChatModel": "openai_chat",
    "OpenAIResponsesModel": "openai_responses",
    "load_chat_model": "load",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
