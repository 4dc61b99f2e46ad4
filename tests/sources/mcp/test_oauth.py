"""Interactive OAuth: the provider of the SDK, an authorization server beside the tools, a user who agrees."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, oauth2
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from tests.sources.mcp.support import call, free_port, served, servers, text_of
from toolsearch.sources.mcp.auth import MemoryTokens
from toolsearch.sources.mcp.servers import McpServers

CALLBACK = "http://127.0.0.1:9/callback"


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives tokens to whoever asks, in memory.

    Attributes:
        lifetime_s: Of an access token, as clients are told.
        access: The tokens that are good.
        n_refreshed: Tokens that came of a refresh token.
    """

    def __init__(self) -> None:
        self.lifetime_s = 3600
        self.access: dict[str, AccessToken] = {}
        self.n_refreshed = 0
        self.n_clients = 0
        self._clients: dict[str, OAuthClientInformationFull] = {}
        self._codes: dict[str, AuthorizationCode] = {}
        self._refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self._clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.n_clients += 1
        self._clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The address that a browser is sent back to, with a code."""
        code = secrets.token_urlsafe()
        self._codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self._codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self._codes[authorization_code.code]
        return self._token(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self._refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        self.n_refreshed += 1
        del self._refresh[refresh_token.token]
        return self._token(client, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _token(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
        known: dict[str, Any] = {
            "client_id": str(client.client_id),
            "scopes": scopes,
            "resource": resource,
        }
        self.access[access] = AccessToken(token=access, **known)
        self._refresh[refresh] = RefreshToken(token=refresh, **known)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.lifetime_s)


class Browser:
    """Of a user who agrees to everything at once; `visits` are the addresses that were opened."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self._answer = ""

    async def open(self, url: str) -> None:
        self.visits.append(url)
        async with httpx2.AsyncClient() as client:
            response = await client.get(url)
        assert response.status_code == 302
        self._answer = response.headers["location"]

    async def answered(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(self._answer).query)
        (code,), (state,) = query["code"], query["state"]
        return AuthorizationCodeResult(code=code, state=state, iss=query.get("iss", [None])[0])


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def browser() -> Browser:
    return Browser()


@pytest.fixture
def port() -> int:
    """The address of an authorization server is part of what it says, so it is chosen before it starts."""
    return free_port()


@contextmanager
def shop(authority: Authority, port: int) -> Iterator[str]:
    """The address of tools that only those with a token may use."""
    url = f"http://127.0.0.1:{port}"
    settings = AuthSettings.model_validate(
        {
            "issuer_url": url,
            "resource_server_url": f"{url}/mcp",
            "validate_token_resource": True,
            "client_registration_options": ClientRegistrationOptions(enabled=True),
        }
    )
    server = MCPServer("shop", auth=settings, auth_server_provider=authority)

    @server.tool()
    def pay(amount: int) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    with served(server.streamable_http_app(), port=port) as served_at:
        assert served_at == url
        yield f"{url}/mcp"


@contextmanager
def connected(url: str, browser: Browser) -> Iterator[McpServers]:
    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "tests", "redirect_uris": [CALLBACK], "grant_types": GRANTS}
    )
    provider = OAuthClientProvider(
        url,
        metadata,
        MemoryTokens(),
        redirect_handler=browser.open,
        callback_handler=browser.answered,
    )
    with servers({"auth": {"shop": provider}}, shop={"url": url, "type": "http"}) as source:
        yield source


GRANTS = ["authorization_code", "refresh_token"]


def test_a_user_agrees_once_and_tools_are_listed_and_called(
    authority: Authority, browser: Browser, port: int
) -> None:
    with shop(authority, port) as url, connected(url, browser) as source:
        assert source.issues == ()
        assert text_of(call(source, "shop", "pay", {"amount": 7})) == "paid 7"
        assert text_of(call(source, "shop", "pay", {"amount": 8})) == "paid 8"
    assert (len(browser.visits), authority.n_clients, authority.n_refreshed) == (1, 1, 0)
    asked = parse_qs(urlsplit(browser.visits[0]).query)
    assert (asked["code_challenge_method"], asked["resource"]) == (["S256"], [url])


def test_a_token_that_has_run_out_is_renewed_without_the_user(
    authority: Authority, browser: Browser, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(authority, port) as url, connected(url, browser) as source:
        authority.lifetime_s = 10_000
        later = SimpleNamespace(time=lambda: time.time() + 5_000)
        monkeypatch.setattr(oauth2, "time", later)
        assert text_of(call(source, "shop", "pay", {"amount": 7})) == "paid 7"
    assert (len(browser.visits), authority.n_refreshed) == (1, 1)


def test_a_token_that_was_taken_back_is_asked_for_anew_in_the_middle(
    authority: Authority, browser: Browser, port: int
) -> None:
    with shop(authority, port) as url, connected(url, browser) as source:
        authority.access.clear()
        assert text_of(call(source, "shop", "pay", {"amount": 7})) == "paid 7"
    assert len(browser.visits) == 2


def test_without_credentials_the_error_says_what_is_missing(authority: Authority, port: int) -> None:
    with shop(authority, port) as url, servers(shop={"url": url, "type": "http"}) as source:
        (issue,) = source.issues
    assert "'shop'" in str(issue)
    assert "answered 401: it needs credentials" in issue.reason
