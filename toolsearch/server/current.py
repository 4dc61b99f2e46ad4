"""`CurrentSettings`: the settings as they are now, some of which may change while the service runs."""

from __future__ import annotations

from collections.abc import Callable

from toolsearch.server.settings import ServerSettings

RELOADED = frozenset(
    {
        "api_key",
        "allow_host",
        "read_only",
        "max_body_bytes",
        "max_upload_bytes",
        "max_results",
        "max_batch",
        "rate_per_s",
        "rate_burst",
        "max_per_key",
        "timeout_s",
        "header_timeout_s",
        "call_timeout_s",
        "proxy_timeout_s",
        "proxy_connect_s",
        "proxy_retries",
        "proxy_retry_wait_s",
        "proxy_max_rounds",
        "proxy_max_body_bytes",
        "proxy_max_running",
        "proxy_whole_below_tokens",
        "proxy_max_tools",
        "proxy_catalog",
        "proxy_pin",
        "proxy_model",
        "proxy_drop_member",
        "proxy_set_member",
        "proxy_drop_header",
        "proxy_only_header",
    }
)
"""Settings that count from the next request on; the others take a restart."""


class CurrentSettings:
    """Settings, and where they can be read again."""

    def __init__(self, settings: ServerSettings, read: Callable[[], ServerSettings] | None = None) -> None:
        """Without `read` they stay as they are."""
        self._now = settings
        self._read = read

    @property
    def now(self) -> ServerSettings:
        """The same object as long as nothing has changed."""
        return self._now

    def read_again(self) -> tuple[ServerSettings, tuple[str, ...]]:
        """The settings with what may change as it is now, and the names of others that have changed.

        They count once they are given to `put`.

        Raises:
            ServerSettingsError: they cannot be read, or not used.
        """
        if self._read is None:
            return self._now, ()
        read = self._read()
        changed = [
            name for name in ServerSettings.model_fields if getattr(read, name) != getattr(self._now, name)
        ]
        update = {name: getattr(read, name) for name in changed if name in RELOADED}
        settings = self._now.model_copy(update=update) if update else self._now
        return settings, tuple(sorted(set(changed) - RELOADED))

    def put(self, settings: ServerSettings) -> None:
        """Have `settings` count from now on."""
        self._now = settings
