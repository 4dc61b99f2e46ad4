"""What a session sends: its tools in the form of a provider, and the results of its searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.adapters.native import declared, native_result
from toolsearch.adapters.wire import FORMS, WireForm, written_result, written_tools
from toolsearch.api.base import Form
from toolsearch.api.sessions import ProviderForm, Way
from toolsearch.chat.base import ChatRequest
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import Delivery, Offer
from toolsearch.delivery.bridge import BRIDGE
from toolsearch.delivery.native import NATIVE
from toolsearch.discovery.discovery import Discovery
from toolsearch.exceptions import RequestRefusedError
from toolsearch.formats.bounded import bounded
from toolsearch.messages import ToolResult
from toolsearch.server.written import served_tools
from toolsearch.session.base import Session
from toolsearch.tools import JsonObject, Tool

DELIVERIES: Mapping[str, Delivery] = {"append": APPEND, "bridge": BRIDGE, "native": NATIVE}
NATIVE_FORMS: tuple[WireForm, ...] = ("anthropic", "openai_responses")


@dataclass(frozen=True)
class Told:
    """The tools that results of a session have told its provider of, by reference or definition.

    They are kept in the store of sessions, under an id that no caller can give.
    """

    session: Session

    @classmethod
    def of(cls, session: Session) -> Told:
        return cls(Session(session.store, f"{session.id}!told", session.tenant))

    def names(self) -> frozenset[str]:
        return frozenset(self.session.discovered())

    def add(self, result: ToolResult) -> None:
        self.session.discover(result.discovered)

    def forget(self, names: tuple[str, ...] | None = None) -> None:
        """Forget these, or all of them for None."""
        self.session.store.forget(self.session.id, self.session.tenant, names)


@dataclass(frozen=True)
class SentTools:
    """The tools of the next round.

    Attributes:
        seen: Those that the model sees, or has been told of by results.
        written: Those that the provider is sent, in its form.
    """

    seen: tuple[Tool, ...]
    written: Any


def check_delivery(delivery: Way, form: Form | ProviderForm | None) -> None:
    """Does nothing where `form` has a place for what `delivery` needs.

    Raises:
        RequestRefusedError: it has none; names the forms that have one.
    """
    if delivery != "native" or form in NATIVE_FORMS:
        return
    forms = " and ".join(NATIVE_FORMS)
    if form is None:
        raise RequestRefusedError(f"Native delivery needs a form. Give {' or '.join(NATIVE_FORMS)}.")
    raise RequestRefusedError(
        f"The form {form!r} has no tool search of its own. {forms} have; "
        "give one of them, or the delivery append or bridge."
    )


def sent_tools(discovery: Discovery, offer: Offer, form: Form, told: Told) -> SentTools:
    """The tools of the next round of a session whose model was `told` of some by results."""
    seen = discovery.delivery.request(ChatRequest(()), offer).tools
    if discovery.delivery is not NATIVE or offer.search_tool is None:
        return SentTools(seen, _written(seen, form))
    there = {tool.name: tool for tool in (*offer.visible, *offer.loaded, *offer.hidden)}
    known = told.names() & there.keys()
    shown = (tool for tool in (*offer.visible, *offer.loaded) if tool.name not in known)
    search, *records = _written((offer.search_tool, *shown), form)
    # Responses hears of hidden tools by results alone.
    names = sorted({*known, *(tool.name for tool in offer.hidden)}) if form == "anthropic" else []
    hidden = [_uncached(record) for record in _written(tuple(there[name] for name in names), form)]
    first, deferred = declared(_wire(form), search, records, hidden)
    return SentTools(seen, [*first, *deferred])


def sent_result(
    result: ToolResult, delivery: Way, form: ProviderForm, call_id: str, found: tuple[Tool, ...]
) -> tuple[JsonObject, tuple[JsonObject, ...]]:
    """The result of a search that `found` these tools, in a form, and what it has no room for."""
    if delivery != "native":
        return written_result(call_id, result, form), ()
    first, *notes = native_result(form, call_id, result, [_uncached(r) for r in written_tools(found, form)])
    return first, tuple(notes)


def _written(tools: tuple[Tool, ...], form: Form) -> Any:
    # Forms of providers are sent as they are, and nothing would find a tool that had itself deferred.
    return written_tools(tools, _wire(form)) if form in FORMS else served_tools(map(bounded, tools), form)


def _wire(form: Form) -> WireForm:
    return next(known for known in FORMS if known == form)


def _uncached(record: JsonObject) -> JsonObject:
    """A definition without a mark of caching, which providers refuse on what is hidden."""
    return {key: value for key, value in record.items() if key != "cache_control"}
