"""`Wishes`: what a request asks of the service beside the provider, in headers that stay here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from toolsearch.api.base import SESSION_ID
from toolsearch.exceptions import RequestRefusedError, UnknownResourceError
from toolsearch.globs import Globs
from toolsearch.server.proxy.headers import RawHeaders
from toolsearch.server.proxy.settings import ProxySettings
from toolsearch.tools import JsonObject

SESSION, CATALOG, PIN, CALL = (
    *("x-toolsearch-session", "x-toolsearch-catalog"),
    *("x-toolsearch-pin", "x-toolsearch-call"),
)
CALL_HEADER = "X-ToolSearch-Call"
_SPELLED = {
    SESSION: "X-ToolSearch-Session",
    CATALOG: "X-ToolSearch-Catalog",
    PIN: "X-ToolSearch-Pin",
    CALL: CALL_HEADER,
}
_CATALOGS = ("default", "none")
_YES_NO = {"true": True, "false": False}
_MAX_PINS = 100


@dataclass(frozen=True)
class Wishes:
    """What one request asks for.

    Attributes:
        session_id: The session that it belongs to; empty for none.
        catalog: Whether to search the catalog of the service; None leaves it to the settings.
        pins: Tools to send in any case, by name or glob.
        calls: Whether the service is to run the tools that it can run.
        told: The headers that asked for something, as the documentation spells them.
    """

    session_id: str = ""
    catalog: bool | None = None
    pins: tuple[str, ...] = ()
    calls: bool = False
    told: tuple[str, ...] = ()

    def without_effect(self, reason: str) -> str:
        """Says of what was asked for that it had no effect; empty where nothing was."""
        return f"{', '.join(self.told)} had no effect: {reason}" if self.told else ""


def read_wishes(headers: RawHeaders, settings: ProxySettings) -> Wishes:
    """The wishes of a request; what it does not say is as the settings say.

    Raises:
        RequestRefusedError: one that cannot be read; names the header.
    """
    told: dict[str, str] = {}
    for name, value in headers:
        if name.startswith(b"x-toolsearch-"):
            told[name.decode("latin-1")] = value.decode("latin-1").strip()
    if not told:
        return Wishes(pins=settings.proxy_pin)
    session_id = told.get(SESSION, "")
    if session_id and not re.fullmatch(SESSION_ID, session_id):
        raise RequestRefusedError(f"{SESSION} must match {SESSION_ID}.")
    catalog = told.get(CATALOG)
    if catalog is not None and catalog not in _CATALOGS:
        raise RequestRefusedError(f"{CATALOG} must be one of {', '.join(_CATALOGS)}.")
    calls = told.get(CALL, "false").lower()
    if calls not in _YES_NO:
        raise RequestRefusedError(f"{CALL} must be true or false.")
    pins = tuple(filter(None, map(str.strip, told.get(PIN, "").split(","))))
    if len(pins) > _MAX_PINS:
        raise RequestRefusedError(f"{PIN} names more than {_MAX_PINS} tools.")
    asks = {SESSION: session_id, CATALOG: catalog == "default", PIN: pins, CALL: _YES_NO[calls]}
    return Wishes(
        session_id,
        None if catalog is None else catalog == "default",
        tuple(dict.fromkeys((*settings.proxy_pin, *pins))),
        _YES_NO[calls],
        tuple(_SPELLED[name] for name in _SPELLED if asks[name]),
    )


class ModelRules:
    """Which models may be asked, and by which other names."""

    def __init__(self, rules: Iterable[str]) -> None:
        """Each is a name or a glob, or ``ALIAS=NAME``."""
        pairs = [rule.partition("=") for rule in rules]
        self._names = {alias: name for alias, sign, name in pairs if sign}
        globs = [glob for glob, sign, _ in pairs if not sign]
        self._allowed = Globs(globs) if globs else None

    def __bool__(self) -> bool:
        return bool(self._names) or self._allowed is not None

    def of(self, model: str) -> str:
        """The name by which the provider knows `model`.

        Raises:
            UnknownResourceError: it may not be asked.
        """
        if model in self._names:
            return self._names[model]
        if self._allowed is not None and not self._allowed.fits(model):
            raise UnknownResourceError("model", model)
        return model

    def in_request(self, request: JsonObject) -> str:
        """The name by which the provider knows the model that a request names.

        Raises:
            RequestRefusedError: it names none, or two to a reader that takes ``Model`` for ``model``.
            UnknownResourceError: it may not be asked.
        """
        model = request.get("model")
        if not isinstance(model, str) or sum(name.casefold() == "model" for name in request) > 1:
            raise RequestRefusedError("Which models may be asked is restricted here. Name one as 'model'.")
        return self.of(model)
