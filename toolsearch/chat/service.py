"""Providers of chat models, and servers that speak their forms: URLs, names and keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Unpack

import httpx

from toolsearch.chat.http import ChatEndpoint, EndpointSettings
from toolsearch.http.address import http_url, sendable
from toolsearch.http.secrets import words_of

API_KEY_VARIABLE = "TOOLSEARCH_CHAT_API_KEY"

# Local servers are given any word for a key, such as "x"; hiding it would make errors unreadable.
_SHORTEST_KEY = 4


@dataclass(frozen=True)
class Service:
    """A provider's own service; other servers speak the same form under other URLs.

    Attributes:
        host, name: Of the provider itself.
        base_url: Where requests go unless told otherwise.
        path: What follows the base URL.
        key_variable: The environment variable with the key for `host` alone.
        key_header: The header that carries the key; `key_prefix` stands before it.
        headers: More headers of each request.
        max_tools: The most that the provider itself takes in a request; None for any number.
    """

    host: str
    name: str
    base_url: str
    path: str
    key_variable: str
    key_header: str = "Authorization"
    key_prefix: str = "Bearer "
    headers: Mapping[str, str] = field(default_factory=dict)
    max_tools: int | None = None

    def connect(
        self,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None,
        headers: Mapping[str, str] | None,
        **settings: Unpack[EndpointSettings],
    ) -> ChatEndpoint:
        """The endpoint at `base_url`, named for its host and `model`; None takes the provider's own URL and
        the key from the environment.

        Raises:
            ValueError: `base_url` is no http or https URL, or the key or a header cannot be sent.
        """
        url = self._url(self.base_url if base_url is None else base_url)
        remedy = f"Check the argument api_key, or the variable {API_KEY_VARIABLE}."
        key = sendable(self._key(url) if api_key is None else api_key, what="The key", remedy=remedy)
        with_key = {self.key_header: f"{self.key_prefix}{key}"} if key else {}
        host = self.name if url.host == self.host else url.netloc.decode()
        more = {
            name: sendable(value, what=f"The header {name!r}", remedy="Check the argument headers.")
            for name, value in (headers or {}).items()
        }
        return ChatEndpoint(
            url,
            provider=f"{host}:{model}",
            headers={**with_key, **self.headers, **more},
            secrets=[*([key] if len(key) >= _SHORTEST_KEY else ()), *words_of(more.values())],
            **settings,
        )

    def is_own(self, endpoint: ChatEndpoint) -> bool:
        """Whether the provider itself is behind the endpoint."""
        return endpoint.url.host == self.host

    def _url(self, base_url: str) -> httpx.URL:
        url = http_url(base_url)
        # A base URL may go as far into the path as people have seen it written.
        heads = accumulate(f"/{part}" for part in self.path.strip("/").split("/"))
        given = url.path.rstrip("/")
        head = next((head for head in reversed([*heads]) if given.endswith(head)), "")
        return url.copy_with(path=given.removesuffix(head) + self.path)

    def _key(self, url: httpx.URL) -> str:
        # A key is never sent to another host than the one it is for.
        own = os.environ.get(self.key_variable) if url.host == self.host else None
        return own or os.environ.get(API_KEY_VARIABLE) or ""


def count(value: Any) -> int:
    """A number of tokens as a provider states it; 0 where it states none."""
    return value if isinstance(value, int) else 0
