"""Models by a short text."""

import pytest

from toolsearch.chat import load_chat_model
from toolsearch.chat.anthropic import AnthropicChatModel
from toolsearch.chat.openai_chat import OpenAIChatModel
from toolsearch.chat.openai_responses import OpenAIResponsesModel


@pytest.mark.parametrize(
    ("spec", "kind", "id_"),
    [
        ("openai:gpt-5", OpenAIResponsesModel, "openai:gpt-5"),
        ("openai-chat:gpt-5", OpenAIChatModel, "openai:gpt-5"),
        ("anthropic:claude-sonnet-4-5", AnthropicChatModel, "anthropic:claude-sonnet-4-5"),
        ("http://localhost:11434/v1#qwen3:8b", OpenAIChatModel, "localhost:11434:qwen3:8b"),
        ("https://example.org/v1#org/model", OpenAIChatModel, "example.org:org/model"),
    ],
)
def test_a_spec_names_provider_and_model(spec: str, kind: type, id_: str) -> None:
    model = load_chat_model(spec)
    assert type(model) is kind
    assert model.id == id_


@pytest.mark.parametrize(
    "spec", ["", "gpt-5", "openai:", "gemini:flash", "https://example.org/v1", "http://#m"]
)
def test_a_spec_that_names_nothing_says_what_there_is(spec: str) -> None:
    with pytest.raises(ValueError, match=r"Known are|https://HOST/v1#MODEL|no http or https URL"):
        load_chat_model(spec)


def test_a_model_says_which_key_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider itself would refuse it; other servers may want none."""
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TOOLSEARCH_CHAT_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    assert load_chat_model("openai:gpt-5").missing_key == "OPENAI_API_KEY"
    assert load_chat_model("anthropic:claude").missing_key == "ANTHROPIC_API_KEY"
    assert load_chat_model("http://localhost:11434/v1#m").missing_key == ""
    assert OpenAIChatModel("m", api_key="sk-123456").missing_key == ""
    assert OpenAIChatModel("m", headers={"authorization": "Bearer x"}).missing_key == ""
    monkeypatch.setenv("TOOLSEARCH_CHAT_API_KEY", "sk-123456")
    assert load_chat_model("anthropic:claude").missing_key == ""
