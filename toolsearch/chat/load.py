"""Chat models by a short text, as the command line takes them."""

from __future__ import annotations

from toolsearch.chat.model import HttpChatModel

KNOWN_SPECS = (
    "'openai:MODEL' (Responses), 'openai-chat:MODEL' (Chat Completions), 'anthropic:MODEL', "
    "'https://HOST/v1#MODEL' (any server that speaks Chat Completions)"
)


def load_chat_model(spec: str) -> HttpChatModel:
    """The chat model that `spec` names; nothing is sent yet.

    - ``openai:MODEL``: by OpenAI's Responses API, with its own tool search where the model has it.
    - ``openai-chat:MODEL``: by OpenAI's Chat Completions.
    - ``anthropic:MODEL``: by Anthropic's Messages.
    - ``http://HOST/v1#MODEL``, ``https://HOST/v1#MODEL``: by Chat Completions of another server.

    Keys are read from the environment: ``OPENAI_API_KEY`` and ``ANTHROPIC_API_KEY`` for those providers' own
    hosts, ``TOOLSEARCH_CHAT_API_KEY`` for any. Other settings need the classes themselves.

    Raises:
        ValueError: `spec` is none of these.
    """
    if spec.startswith(("http://", "https://")):
        url, _, model = spec.partition("#")
        if not model:
            raise ValueError("A server needs the name of a model: 'https://HOST/v1#MODEL'.")
        return _openai_chat(model, url)
    provider, _, model = spec.partition(":")
    if model and provider == "openai":
        from toolsearch.chat.openai_responses import OpenAIResponsesModel

        return OpenAIResponsesModel(model)
    if model and provider == "openai-chat":
        return _openai_chat(model, None)
    if model and provider == "anthropic":
        from toolsearch.chat.anthropic import AnthropicChatModel

        return AnthropicChatModel(model)
    raise ValueError(f"Unknown model {spec!r}. Known are {KNOWN_SPECS}.")


def _openai_chat(model: str, base_url: str | None) -> HttpChatModel:
    from toolsearch.chat.openai_chat import OpenAIChatModel

    return OpenAIChatModel(model, base_url=base_url)
