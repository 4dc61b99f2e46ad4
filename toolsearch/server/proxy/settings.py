"""`ProxySettings`: which providers the service stands in front of, and how it asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from toolsearch.server.proxy.members import MemberRules

if TYPE_CHECKING:
    import httpx

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"


class ProxySettings(BaseModel):
    """Settings of the proxies, which are off unless one of the first three is given.

    Attributes:
        proxy: Stand in front of both providers where they are.
        openai_upstream: What ``OPENAI_BASE_URL`` would be: such as ``https://api.openai.com/v1``.
        anthropic_upstream: What ``ANTHROPIC_BASE_URL`` would be: such as ``https://api.anthropic.com``.
        proxy_timeout_s: Seconds that a provider may take for its answer to begin, and for each next byte.
        proxy_connect_s: Seconds in which it must be reached.
        proxy_retries: How often it is asked again after a failed connection, 429 or 5xx.
        proxy_retry_wait_s: The longest wait before that; where it asks for a longer one the caller is told.
        proxy_max_rounds: The most search rounds within one request.
        proxy_max_body_bytes: Of a request that is searched.
        proxy_max_running: Requests that wait for a provider at once; more are refused.
        proxy_whole_below_tokens: Tools that cost fewer tokens go out as they came.
        proxy_max_tools: The most tools that a round sends.
        proxy_delivery: How what is found reaches the model: at the end of its tools, or by the provider's own
            tool search where the form and the model are known to have one.
        proxy_catalog: Requests without tools search the catalog of the service, without asking for it.
        proxy_pin: Tools that are always sent, by name or glob.
        proxy_model: Which models may be asked, by name or glob, and ``ALIAS=NAME`` for one that the provider
            knows by another name; empty for any.
        proxy_drop_member: Members at the top of searched requests that stay here, by name or glob.
        proxy_set_member: Members that they get, as ``NAME=JSON``, in place of what they had.
        proxy_drop_header: Further headers of requests that stay here, by name or glob.
        proxy_only_header: Headers that alone go to the provider, beside what a request needs; empty for all.
        proxy_tool_lists: So many lists of tools are kept for each tenant, the latest used.
        proxy_exchanges: So many search exchanges are kept for each tenant.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    proxy: bool = False
    openai_upstream: str | None = None
    anthropic_upstream: str | None = None
    proxy_timeout_s: float = Field(default=600.0, gt=0)
    proxy_connect_s: float = Field(default=10.0, gt=0)
    proxy_retries: int = Field(default=2, ge=0, le=10)
    proxy_retry_wait_s: float = Field(default=20.0, ge=0)
    proxy_max_rounds: int = Field(default=10, ge=1)
    proxy_max_body_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    proxy_max_running: int = Field(default=256, ge=1)
    proxy_whole_below_tokens: int = Field(default=4000, ge=0)
    proxy_max_tools: int = Field(default=128, ge=4)
    proxy_delivery: Literal["append", "native"] = "append"
    proxy_catalog: bool = False
    proxy_pin: tuple[str, ...] = ()
    proxy_model: tuple[str, ...] = ()
    proxy_drop_member: tuple[str, ...] = ()
    proxy_set_member: tuple[str, ...] = ()
    proxy_drop_header: tuple[str, ...] = ()
    proxy_only_header: tuple[str, ...] = ()
    proxy_tool_lists: int = Field(default=16, ge=1)
    proxy_exchanges: int = Field(default=2000, ge=1)

    @field_validator("openai_upstream", "anthropic_upstream")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is not None:
            _upstream_url(value)
        return value

    @field_validator("proxy_drop_member", "proxy_set_member")
    @classmethod
    def _check_members(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        MemberRules(**{"drop" if info.field_name == "proxy_drop_member" else "put": value})
        return value

    @property
    def upstreams(self) -> dict[str, httpx.URL]:
        """Where the providers that requests are passed on to are, by name; none for a service alone."""
        asked = {
            "openai": self.openai_upstream or (OPENAI_URL if self.proxy else None),
            "anthropic": self.anthropic_upstream or (ANTHROPIC_URL if self.proxy else None),
        }
        urls = {name: _upstream_url(url) for name, url in asked.items() if url}
        # The paths of Anthropic begin with /v1, which many give as a part of the address as for OpenAI.
        if (anthropic := urls.get("anthropic")) and anthropic.path.endswith("/v1"):
            urls["anthropic"] = anthropic.copy_with(path=anthropic.path.removesuffix("/v1"))
        return urls


def _upstream_url(text: str) -> httpx.URL:
    from toolsearch.http.address import http_url

    url = http_url(text)
    if url.userinfo or url.query or url.fragment:
        raise ValueError("The URL of a provider has no user, password or query; callers bring their keys.")
    return url.copy_with(path=url.path.rstrip("/"))
