"""`McpSettings`: what this package alone wants to know of a server, beside what every client reads."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

from toolsearch.checks import check_choice, check_known, check_number, check_whole, shown
from toolsearch.naming import is_prefix

Protocol: TypeAlias = Literal["auto", "handshake", "discover"]
"""How a connection begins: ``initialize``, ``server/discover``, or the second where the first is refused."""

Question: TypeAlias = Literal["elicitation", "sampling"]
"""What a server may ask of a client."""


@dataclass(frozen=True, kw_only=True)
class McpSettings:
    """How one server is dealt with; the object under ``toolsearch`` in its part of a configuration.

    Attributes:
        connect_timeout_s: For starting, greeting and each page of a list.
        timeout_s: For a call without a sign of life; each progress notification starts it anew.
        total_timeout_s: For a call, whatever progress it tells of.
        tool_timeouts_s: `timeout_s` of tools by glob over raw names; the first that fits.
        lazy: Not started before its first call where its definitions are known from an earlier time, and
            stopped once it has been idle.
        idle_s: How long a lazy server stays without calls.
        relist_s: How often its tools are listed anew without being asked to.
        prefix: What names of its tools begin with in place of its own name; empty for nothing, which no two
            servers may have.
        allow, deny: Globs over raw names; deny wins.
        descriptions: Words or globs of which a description must contain one, in any case.
        annotations: What a tool must be annotated with, such as ``{"readOnlyHint": true}``.
        context: What of a `ToolContext` goes to the server: ``session_id``, ``call_id``, ``tenant``, or
            ``state.KEY``. Nothing by default.
        asks: What the server may ask of the client that calls it through a gateway: ``elicitation`` (words
            of a user), ``sampling`` (words of a model). Nothing by default.
        inherit_env: Names of variables that a child process gets beside the few that it needs to run.
        max_result_chars: Text of a result that the model is given.
        max_message_bytes: The largest message that is read at all.
        protocol: How a connection begins.
        oauth: Client credentials: ``client_id``, ``client_secret``, ``issuer`` and optionally ``scope``.

    Raises:
        TypeError, ValueError: one of them is of the wrong type or out of range.
    """

    connect_timeout_s: float = 30.0
    timeout_s: float = 60.0
    total_timeout_s: float = 3600.0
    tool_timeouts_s: Mapping[str, float] = field(default_factory=dict)
    lazy: bool = True
    idle_s: float = 300.0
    relist_s: float = 300.0
    prefix: str | None = None
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    descriptions: tuple[str, ...] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    context: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    inherit_env: tuple[str, ...] = ()
    max_result_chars: int = 50_000
    max_message_bytes: int = 64 * 1024 * 1024
    protocol: Protocol = "auto"
    oauth: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for name in ("connect_timeout_s", "timeout_s", "total_timeout_s", "idle_s", "relist_s"):
            check_number(name, getattr(self, name))
        for pattern, limit in self.tool_timeouts_s.items():
            check_number(f"tool_timeouts_s[{pattern!r}]", limit)
        check_whole("max_result_chars", self.max_result_chars)
        check_whole("max_message_bytes", self.max_message_bytes, least=1024)
        check_choice("protocol", self.protocol, Protocol)
        if self.prefix is not None and not (isinstance(self.prefix, str) and is_prefix(self.prefix)):
            raise ValueError(
                f"prefix is {shown(self.prefix)}. Give letters, digits, - and single _ between them, or an "
                "empty text for none."
            )
        for what in self.asks:
            check_choice("asks", what, Question)
        for part in self.context:
            if part not in _CONTEXT_PARTS and not part.startswith("state."):
                raise ValueError(
                    f"context names {part!r}; it may name {', '.join(_CONTEXT_PARTS)} and state.KEY."
                )
        if self.oauth:
            check_known("setting of oauth", self.oauth, _OAUTH)
            missing = [name for name in _OAUTH[:3] if not self.oauth.get(name)]
            if missing:
                raise ValueError(f"oauth lacks {', '.join(missing)}.")

    @classmethod
    def read(cls, data: Any) -> McpSettings:
        """The settings that a JSON object holds.

        Raises:
            TypeError, ValueError: it is no object, a setting is unknown or cannot be meant.
        """
        if not isinstance(data, dict):
            raise TypeError(f"toolsearch is {shown(data)}. Give an object of settings.")
        check_known("setting", data, [each.name for each in fields(cls)])
        read = dict(data)
        for name in ("allow", "deny", "descriptions", "context", "asks", "inherit_env"):
            if name in read and not (name in {"allow", "descriptions"} and read[name] is None):
                read[name] = _texts(name, read[name])
        for name in ("tool_timeouts_s", "annotations", "oauth"):
            if name in read and not isinstance(read[name], dict):
                raise TypeError(f"{name} is {shown(read[name])}. Give an object.")
        if not isinstance(read.get("lazy", True), bool):
            raise TypeError(f"lazy is {shown(read['lazy'])}. Give true or false.")
        for name in ("idle_s", "relist_s", "total_timeout_s"):
            if name in read and read[name] is None:
                read[name] = math.inf
        return cls(**read)

    def timeout_of(self, raw_name: str) -> float:
        """Seconds that a call of that tool may be silent."""
        limits = (limit for pattern, limit in self.tool_timeouts_s.items() if fnmatchcase(raw_name, pattern))
        return next(limits, self.timeout_s)


_CONTEXT_PARTS = ("session_id", "call_id", "tenant")
_OAUTH = ("client_id", "client_secret", "issuer", "scope")


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise TypeError(f"{name} is {shown(value)}. Give a list of texts.")
    return tuple(value)
