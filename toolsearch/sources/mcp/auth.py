"""Credentials of this program for a server, by OAuth as the SDK offers it."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


class MemoryTokens(TokenStorage):
    """Tokens for as long as the program runs."""

    def __init__(self) -> None:
        self._tokens: OAuthToken | None = None
        self._client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def client_credentials(url: str, oauth: Mapping[str, str]) -> httpx2.Auth:
    """What gets a token with the client credentials of a configuration, and a new one when it expires."""
    return ClientCredentialsOAuthProvider(
        server_url=url,
        storage=MemoryTokens(),
        client_id=oauth["client_id"],
        client_secret=oauth["client_secret"],
        issuer=oauth["issuer"],
        scope=oauth.get("scope"),
    )
