"""The service in front of a provider, and official clients of which only the base URL was changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import anthropic
import openai

from tests.adapters.serving import served
from tests.fake_provider.provider import FakeProvider, Step
from tests.retrieval.support import OFFICE
from tests.server.support import Served, service
from toolsearch.embedders.base import Embedder
from toolsearch.tools import Tool

PREFIXES = {"openai_chat": "/openai/v1", "openai_responses": "/openai/v1", "anthropic": "/anthropic"}
PATHS = {"openai_chat": "/chat/completions", "openai_responses": "/responses", "anthropic": "/v1/messages"}
KEY = "sk-provider-0123456789"

Json = dict[str, Any]


@dataclass(frozen=True)
class Proxied:
    """A provider, the service in front of it, and clients of the service."""

    provider: FakeProvider
    service: Served

    def client(self, form: str, mode: str = "plain", **options: Any) -> Any:
        """The official client of a form, which believes that it asks the provider."""
        library: Any = anthropic if form == "anthropic" else openai
        kind = "Anthropic" if library is anthropic else "OpenAI"
        make = getattr(library, f"Async{kind}" if "async" in mode else kind)
        url = f"{self.service.url}{PREFIXES[form]}"
        return make(**{"base_url": url, "api_key": KEY, "max_retries": 0, **options})

    def url(self, form: str) -> str:
        return f"{self.service.url}{PREFIXES[form]}{PATHS[form]}"

    def post(self, form: str, body: Json, headers: Json | None = None) -> Any:
        """The response to a body as it is, without a client of the provider."""
        return self.service.http.post(self.url(form), json=body, headers=headers or {})


@contextlib.contextmanager
def proxied(
    *steps: Step,
    then: Step | None = None,
    tools: tuple[Tool, ...] = OFFICE,
    embedder: Embedder | None = None,
    callable_tools: tuple[Tool, ...] = (),
    **settings: Any,
) -> Iterator[Proxied]:
    """A provider with a script, and the service in front of it; every list of tools is searched."""
    with served(*steps, then=then) as (provider, url):
        chosen: Json = {
            "openai_upstream": url,
            "anthropic_upstream": url,
            "proxy_whole_below_tokens": 0,
            "tool_limit": 1,
            **settings,
        }
        with service(tools, embedder=embedder, callable_tools=callable_tools, **chosen) as running:
            yield Proxied(provider, running)


def message(form: str, text: str) -> Json:
    """A body with one message of the user."""
    if form == "openai_responses":
        return {"model": "m", "input": text}
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}
