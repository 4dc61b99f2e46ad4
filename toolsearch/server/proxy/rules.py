"""`ProxyRules`: what follows from the settings for one request to a provider, from its begin to its end."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from toolsearch.http.retries import RetryPolicy
from toolsearch.server.proxy.headers import HeaderRules
from toolsearch.server.proxy.members import MemberRules
from toolsearch.server.proxy.wishes import ModelRules
from toolsearch.server.settings import ServerSettings
from toolsearch.tools import JsonObject

_BASE_WAIT_S = 0.5


@dataclass(frozen=True)
class ProxyRules:
    """Made anew when the settings are read again.

    Attributes:
        headers: Which headers go to the provider.
        models: Which models may be asked.
        members: Which members of bodies stay here, and which are set.
        timeout: How long the provider may take, as `httpx` is told it.
        retries: How often it is asked, and with what waits.
    """

    settings: ServerSettings
    headers: HeaderRules
    models: ModelRules
    members: MemberRules
    timeout: dict[str, float | None]
    retries: RetryPolicy

    @classmethod
    def of(cls, settings: ServerSettings) -> ProxyRules:
        return cls(
            settings,
            HeaderRules(drop=settings.proxy_drop_header, only=settings.proxy_only_header),
            ModelRules(settings.proxy_model),
            MemberRules(drop=settings.proxy_drop_member, put=settings.proxy_set_member),
            httpx.Timeout(settings.proxy_timeout_s, connect=settings.proxy_connect_s).as_dict(),
            RetryPolicy(
                attempts=settings.proxy_retries + 1,
                base_wait_s=_BASE_WAIT_S,
                max_wait_s=settings.proxy_retry_wait_s,
            ),
        )

    @property
    def need_bodies(self) -> bool:
        """Whether a body that cannot be read cannot go on."""
        return bool(self.models or self.members)

    def in_body(self, request: JsonObject, *, counts: bool) -> JsonObject:
        """What of a request goes on, itself where that is all of it; one that `counts` has no member set.

        Raises:
            RequestRefusedError, UnknownResourceError: as `ModelRules.in_request`.
        """
        request = self.members.applied(request, sets=not counts) if self.members else request
        if self.models and (name := self.models.in_request(request)) != request["model"]:
            return {**request, "model": name}
        return request
