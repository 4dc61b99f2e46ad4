"""`ProxyRules`: what follows from the settings for one request to a provider, from its begin to its end."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from toolsearch.http.retries import RetryPolicy
from toolsearch.server.proxy.headers import HeaderRules
from toolsearch.server.proxy.wishes import ModelRules
from toolsearch.server.settings import ServerSettings

_BASE_WAIT_S = 0.5


@dataclass(frozen=True)
class ProxyRules:
    """Made anew when the settings are read again.

    Attributes:
        headers: Which headers go to the provider.
        models: Which models may be asked.
        timeout: How long the provider may take, as `httpx` is told it.
        retries: How often it is asked, and with what waits.
    """

    settings: ServerSettings
    headers: HeaderRules
    models: ModelRules
    timeout: dict[str, float | None]
    retries: RetryPolicy

    @classmethod
    def of(cls, settings: ServerSettings) -> ProxyRules:
        return cls(
            settings,
            HeaderRules(drop=settings.proxy_drop_header, only=settings.proxy_only_header),
            ModelRules(settings.proxy_model),
            httpx.Timeout(settings.proxy_timeout_s, connect=settings.proxy_connect_s).as_dict(),
            RetryPolicy(
                attempts=settings.proxy_retries + 1,
                base_wait_s=_BASE_WAIT_S,
                max_wait_s=settings.proxy_retry_wait_s,
            ),
        )
