"""Where requests go and with which key: checked before anything is sent, and never shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx


def http_url(text: str) -> httpx.URL:
    """`text` as a URL.

    Raises:
        ValueError: it is none that can be asked. No error repeats it, for it may hold a password.
    """
    try:
        url = httpx.URL(text)
        host = url.raw_host.decode("ascii")
        host.encode("idna")
        usable = bool(host) and url.scheme in {"http", "https"} and (url.port or 0) < 1 << 16
    except (httpx.InvalidURL, UnicodeError):
        usable = False
    if not usable:
        raise ValueError(
            "The base URL is no http or https URL with a host, such as 'https://api.openai.com/v1'."
        )
    return url


class QuietURL(httpx.URL):
    """A URL that shows itself as `shown`: `httpx` logs that of each request, and a query may hold a key.

    Is set as `url` of a request that has been built, since building one makes a plain URL again.
    """

    def __init__(self, url: httpx.URL, shown: str) -> None:
        super().__init__(url)
        self._shown = shown

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown!r})"


def sendable(value: str, *, what: str, remedy: str) -> str:
    """The value of a header without blanks around it.

    Raises:
        ValueError: no header can carry it. The error names `what` it is and the `remedy`, not the value.
    """
    value = value.strip()
    if not (value.isascii() and value.isprintable()):
        raise ValueError(f"{what} holds a line end or another character that cannot be sent. {remedy}")
    return value


@contextmanager
def hidden_proxies() -> Iterator[None]:
    """Around the making of a client, which reads the proxies from the environment.

    Raises:
        ValueError: one of them cannot be used. It is not shown, for it may hold a password.
    """
    usable = True
    try:
        yield
    except (httpx.InvalidURL, ValueError, ImportError):
        usable = False
    if not usable:
        # Not from the error itself, which may show the proxy's URL.
        raise ValueError("The proxy cannot be used. Check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.")
