"""Catalogs and OpenAPI documents that stand at an http URL."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolsearch.exceptions import AddressRefusedError, CatalogFileError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

MAX_BYTES = 1 << 26
"""Of a document: some times the largest that there are."""
TIMEOUT_S = 60.0

_URL_STARTS = ("http://", "https://")
_SHOWN = 300


@dataclass(frozen=True)
class Fetched:
    """What stands at a URL; `shown` is that URL without user, password and query."""

    shown: str
    content: bytes


def is_url(location: Path | str) -> bool:
    """Whether this is an http URL rather than a path."""
    return isinstance(location, str) and location.casefold().startswith(_URL_STARTS)


async def fetch(
    url: str, *, allow_private: Iterable[str] = (), transport: httpx.AsyncBaseTransport | None = None
) -> Fetched:
    """What stands at `url`, through redirects to any public host.

    Args:
        url: May be on this machine, or have a bare address of a private network.
        allow_private: Hosts that may have addresses which are not public: see `AddressRules`.
        transport: Asked in place of the network.

    Raises:
        CatalogFileError: it cannot be had. No secret of the URL is told.
    """
    import httpx

    from toolsearch.http.address import QuietURL, http_url
    from toolsearch.http.answer import read, within
    from toolsearch.http.guard import AddressRules, private_hosts
    from toolsearch.http.guarded import GuardedTransport
    from toolsearch.http.secrets import Redaction, words_of

    try:
        whole = http_url(url)
    except ValueError:
        raise CatalogFileError(
            url.partition("?")[0].rpartition("@")[2], "is no URL that can be asked"
        ) from None
    shown = str(whole.copy_with(userinfo=b"", query=None, fragment=None))
    hide = Redaction(words_of(whole.params.values()), user=whole.username, password=whole.password)
    rules = AddressRules(None, private=[*private_hosts(whole), *allow_private])
    guarded = GuardedTransport(rules, instead=transport)
    try:
        async with (
            httpx.AsyncClient(transport=guarded, trust_env=False, timeout=TIMEOUT_S) as client,
            within(TIMEOUT_S, "the document was not complete"),
        ):
            request = client.build_request("GET", whole, headers={"Accept": "application/json, */*;q=0.5"})
            request.url = QuietURL(whole, shown)
            response = await client.send(request, stream=True, follow_redirects=True)
            answer = await read(response, max_bytes=MAX_BYTES)
            await response.aclose()
    except AddressRefusedError as exc:
        raise CatalogFileError(shown, f"cannot be had: {exc}") from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as exc:
        told = hide.beginning(f"{type(exc).__name__}: {exc}".removesuffix(": "), _SHOWN)
        raise CatalogFileError(shown, f"cannot be had: {told}") from None
    if not answer.is_success:
        raise CatalogFileError(shown, f"cannot be had: the server answered {answer.status}")
    if not answer.is_whole:
        raise CatalogFileError(shown, f"is larger than {MAX_BYTES:,} bytes")
    return Fetched(shown, answer.content)


def fetch_apart(url: str) -> bytes:
    """What `fetch` gives, for callers without `await`."""
    return run_apart(fetch(url)).content


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, in an event loop of its own in a thread of its own; waits for it."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(asyncio.run, work).result()
