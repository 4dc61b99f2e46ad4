"""`Upstream`: asks a provider over connections that all requests share."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import TypeAlias
from urllib.parse import quote

import httpx

from toolsearch.exceptions import RequestRefusedError, UpstreamError
from toolsearch.http.address import QuietURL, hidden_proxies
from toolsearch.http.retries import RetryPolicy, asked_wait_s
from toolsearch.server.proxy.headers import RawHeaders
from toolsearch.server.proxy.providers import Provider
from toolsearch.server.proxy.rules import ProxyRules
from toolsearch.server.proxy.settings import ProxySettings

Content: TypeAlias = bytes | AsyncIterator[bytes] | None

_PASSING = frozenset({429, 500, 502, 503, 504, 529})
_NO_QUOTA = b"insufficient_quota"
_URLS_KEPT = 64
# Nobody's request has been carried out.
_BEFORE_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class _NoCookies(httpx.Cookies):
    """Takes none: they are of one caller."""

    def extract_cookies(self, response: httpx.Response) -> None:
        del response


class _Client(httpx.AsyncClient):
    @property
    def cookies(self) -> httpx.Cookies:
        return _NO_COOKIES

    @cookies.setter
    def cookies(self, cookies: object) -> None:
        raise AttributeError("This client keeps none.")


class Upstream:
    """Opens nothing yet. Redirects are not followed, and cookies are not kept."""

    def __init__(self, settings: ProxySettings) -> None:
        self._max_idle = settings.proxy_max_running
        self._client: httpx.AsyncClient | None = None
        self._urls: dict[tuple[str, bytes], httpx.URL] = {}

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def ask(
        self,
        provider: Provider,
        method: str,
        target: bytes,
        headers: RawHeaders,
        content: Content,
        *,
        rules: ProxyRules,
        again: bool = False,
    ) -> httpx.Response:
        """The response, whose body has not been read yet and which is to be closed.

        Args:
            target: Path and query below the provider's URL, as they are sent.
            again: Ask again where that may help, and `content` can be sent twice.

        Raises:
            UpstreamError: there is none.
        """
        failures, retries = 0, rules.retries
        while True:
            request = httpx.Request(
                method,
                provider.upstream,
                headers=list(headers),
                content=content,
                extensions={"timeout": rules.timeout},
            )
            request.url = self._url(provider, target)
            try:
                response = await self._open_client().send(request, stream=True)
            except httpx.TransportError as exc:
                failures += 1
                if not again or isinstance(exc, httpx.ReadTimeout) or failures >= retries.attempts:
                    raise _no_answer(exc) from exc
                await asyncio.sleep(_wait_s(retries, failures, None))
                continue
            failures += 1
            if not again or response.status_code not in _PASSING or failures >= retries.attempts:
                return response
            wait_s = await _wait_after(response, failures, retries)
            if wait_s is None:
                return response
            await response.aclose()
            await asyncio.sleep(wait_s)

    def _url(self, provider: Provider, target: bytes) -> httpx.URL:
        known = self._urls.get((provider.name, target))
        if known is None:
            base = provider.upstream
            # What is logged of a request is without its query, which may hold a key.
            url = base.copy_with(raw_path=base.raw_path.rstrip(b"/") + target)
            known = QuietURL(url, f"{base}/...")
            if b"?" not in target and len(self._urls) < _URLS_KEPT:
                self._urls[provider.name, target] = known
        return known

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            with hidden_proxies():
                # As many are open as requests run, of which there is a limit that may change.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=self._max_idle)
                self._client = _Client(limits=limits)
        return self._client


_NO_COOKIES = _NoCookies()


def target_of(raw_path: bytes, path: str, prefix: str, query: bytes) -> bytes:
    """Path and query below a provider's URL.

    Raises:
        RequestRefusedError: the path leads out of what is below `prefix`.
    """
    if any(part in {".", ".."} for part in path.replace("\\", "/").split("/")):
        raise RequestRefusedError("A path with '.' or '..' in it is not passed on.")
    if not raw_path.startswith(prefix.encode()):
        raw_path = quote(path, safe="/:@!$&'()*+,;=-._~").encode()
    rest = raw_path[len(prefix) :]
    return rest + b"?" + query if query else rest


async def _wait_after(response: httpx.Response, failures: int, retries: RetryPolicy) -> float | None:
    """Seconds to wait before the next try; None where the caller is to hear of this one."""
    headers = response.headers
    if headers.get("x-should-retry") == "false":
        return None
    asked_for_s = asked_wait_s(headers, now=time.time())
    if asked_for_s is not None and asked_for_s > retries.max_wait_s:
        return None
    # An account without credit is told by 429 as well, and does not fill up by waiting.
    try:
        if response.status_code == 429 and _NO_QUOTA in await response.aread():
            return None
    except httpx.HTTPError:
        pass  # what there is of it says nothing else than its status
    return _wait_s(retries, failures, asked_for_s)


def _wait_s(retries: RetryPolicy, failures: int, asked_for_s: float | None) -> float:
    return retries.wait_s(failures, asked_for_s, random=random.random())  # noqa: S311


def _no_answer(error: httpx.TransportError) -> UpstreamError:
    late = isinstance(error, httpx.TimeoutException)
    what = "could not be reached" if isinstance(error, _BEFORE_SENT) else "gave no answer"
    return UpstreamError(f"The provider {what} ({type(error).__name__}).", is_late=late)
