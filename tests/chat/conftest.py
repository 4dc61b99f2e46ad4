"""The three models over a fake provider."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.fake_provider import FakeProvider
from tests.fake_provider.provider import Step
from toolsearch.chat import AnthropicChatModel, OpenAIChatModel, OpenAIResponsesModel
from toolsearch.chat.model import HttpChatModel

MODELS: dict[str, type[OpenAIChatModel] | type[OpenAIResponsesModel] | type[AnthropicChatModel]] = {
    "openai_chat": OpenAIChatModel,
    "openai_responses": OpenAIResponsesModel,
    "anthropic": AnthropicChatModel,
}


async def no_sleep(seconds: float) -> None:
    del seconds


@pytest.fixture(params=MODELS)
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def connect() -> Callable[..., tuple[HttpChatModel, FakeProvider]]:
    """Makes a model of a form whose provider answers these steps."""

    def make(form: str, steps: Iterable[Step], **settings: Any) -> tuple[HttpChatModel, FakeProvider]:
        provider = FakeProvider(steps)
        defaults = {"api_key": "secret-key-1", "transport": provider.transport, "sleep": no_sleep}
        return MODELS[form]("fake-1", **{**defaults, **settings}), provider

    return make
