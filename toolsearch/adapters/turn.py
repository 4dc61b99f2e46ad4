"""`Turn`: one call of a caller, with the search rounds inside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from toolsearch.adapters.answered import answer_keys
from toolsearch.adapters.api import Arguments, Chunks, WireApi
from toolsearch.adapters.mended import mended
from toolsearch.adapters.native import declared, native_result, referenced
from toolsearch.adapters.recall import Hidden, digest
from toolsearch.adapters.restored import exchange_key, restored
from toolsearch.adapters.tool_lists import ToolList
from toolsearch.adapters.usage import summed
from toolsearch.adapters.wire import WireForm, calls_in, read_call
from toolsearch.advisors.calls import PlannedCall, plan_calls
from toolsearch.delivery.append import APPEND
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.discovery.discovery import Discovery
from toolsearch.exceptions import LimitExceededError
from toolsearch.messages import AssistantMessage, Message, ToolCall, ToolMessage, ToolResult
from toolsearch.session.base import Session
from toolsearch.tools import JsonObject, Tool

if TYPE_CHECKING:
    from toolsearch.adapters.searching import Searching


class Turn:
    """Not safe to use from several threads at once."""

    def __init__(
        self,
        searching: Searching,
        api: WireApi,
        request: Arguments,
        tool_list: ToolList,
        caller: tuple[str, str],
        *,
        owner: bytes = b"",
        runs: Mapping[str, Tool] | None = None,
    ) -> None:
        self._searching = searching
        self._api = api
        self._request = request
        self._list = tool_list
        self._state = api.server_state(request)
        whose = (caller, owner.hex()) if owner else caller
        self._seed = digest(api.form, tool_list.key.hex(), whose, api.scope(request), self._state)
        self._rounds: list[list[JsonObject]] = []
        self._searches: list[ToolMessage] = []
        self._usages: list[Any] = []
        self._sent: list[tuple[Tool, ...]] = []
        self._runs = {name: tool for name, tool in (runs or {}).items() if name not in tool_list.passed_names}
        self._caller = caller
        self._whose = whose
        at_provider = self._found_at_provider(caller[1]) if self._state else None
        told = restored(searching.recall, api, request, self._seed, at_provider)
        self._request, self._told, self._key = told.request, told.messages, told.key
        self._at_provider = told.at_provider
        self._open = () if at_provider is None else at_provider.results
        self.discovery = self._opened(told.neutral)

    def request(self) -> Arguments:
        """The arguments of the next round."""
        request = self._api.with_messages(self._request, self._told, self._rounds)
        if text := self.discovery.instructions:
            request = self._api.with_instructions(request, text)
        self._list.log(self.discovery)
        return {**request, "tools": self._tools()}

    @property
    def is_native(self) -> bool:
        """Whether the provider is told of hidden tools, or learns of them by results."""
        return self.discovery.delivery.name == "native"

    @property
    def form(self) -> WireForm:
        """The provider's, of requests and answers."""
        return self._api.form

    @property
    def n_rounds(self) -> int:
        """How many rounds were searches and nothing else."""
        return len(self._rounds)

    def is_ours(self, name: str) -> bool:
        """Whether a call of this name is answered here: a search, what is run here or was not offered."""
        return name not in self._offered or name in self._runs

    def searches_in(self, answer: JsonObject) -> bool:
        """Whether an answer has a call that is answered here."""
        names = [read_call(call).name for call in self._api.calls(answer)]
        return any(map(self.is_ours, names))

    @property
    def n_searches(self) -> int:
        """How many searches there were."""
        return sum(message.name == SEARCH_TOOL for message in self._searches)

    def to_run(self, answer: JsonObject) -> dict[int, PlannedCall]:
        """The calls of an answer that are to run, by their place among those that are answered here."""
        if not self._runs:
            return {}
        planned = enumerate(self._planned([read_call(record) for record in self._api.calls(answer)]))
        return {
            place: replace(each, tool=self._runs[each.call.name])
            for place, each in planned
            if each.refusal is None and each.call.name in self._runs
        }

    def tokens(self) -> tuple[int, int]:
        """What the definitions of all rounds cost, and what they would have cost without a search.

        Definitions that are sent in any case count in neither.
        """
        sent = sum(self._list.cost(tool) for tools in self._sent for tool in tools)
        return sent, len(self._sent) * self._list.discoverer.view().tokens

    def take(self, answer: JsonObject, ran: Mapping[int, ToolResult] | None = None) -> bool:
        """Whether an answer ends the turn. Its searches are run, and otherwise another round is due.

        Args:
            ran: The results of `to_run`.

        Raises:
            LimitExceededError: more rounds than `max_rounds`.
        """
        records = self._api.calls(answer)
        calls = list(map(read_call, records))
        planned = self._planned(calls)
        ours = [each.call for each in planned]
        asked = [record for record, call in zip(records, calls, strict=True) if self.is_ours(call.name)]
        ran = ran or {}
        answered = [
            self._result(record, each, ran.get(place))
            for place, (record, each) in enumerate(zip(asked, planned, strict=True))
        ]
        # What results have no place for comes after all of them.
        results = [*(result for result, *_ in answered), *chain.from_iterable(rest for _, *rest in answered)]
        if ours and len(ours) == len(calls):
            self._rounds.append(self._api.exchange(self._request, answer, ours, results))
            if len(self._rounds) >= self._searching.max_rounds:
                raise LimitExceededError(
                    f"The model went on searching for {self._searching.max_rounds} rounds.",
                    kind="rounds",
                    limit=self._searching.max_rounds,
                )
            return False
        beside = self._api.beside(answer, self.is_ours, ours) if ours else []
        self._keep(answer, beside, results)
        return True

    def moves(self, answer: JsonObject) -> bool:
        """Whether the caller knows this answer by another key than the provider; a store keeps that."""
        state, own_state = self._api.new_state(self._request, answer)
        return state != own_state

    def mend(self, told: str) -> bool:
        """Whether a refusal `told` of something that could be taken out of the conversation; see `mended`."""
        kept = mended(self._told, self._open, told)
        self._told = self._told if kept is None else kept
        return kept is not None

    def answer(self, searches: Sequence[JsonObject]) -> None:
        """Answers searches that a conversation at the provider waits for, and that are not known here."""
        planned = self._planned(list(map(read_call, searches)))
        results = [self._result(record, each, None) for record, each in zip(searches, planned, strict=True)]
        self._told = [
            *(first for first, *_ in results),
            *self._told,
            *(n for _, *rest in results for n in rest),
        ]

    def finished(self, response: Any, ran: Mapping[int, ToolResult] | None = None) -> Any:
        """The client's answer to the caller, or None where another round is due."""
        if not hasattr(response, "to_dict"):
            return response  # the client made no model of what the server said
        self._usages.append(getattr(response, "usage", None))
        answer: JsonObject = response.to_dict(warnings=False)
        if not self.take(answer, ran):
            return None
        if self.searches_in(answer):
            response = self._api.without(response, self.is_ours)
        if len(self._usages) > 1:
            response = response.model_copy(update={"usage": summed(self._usages)})
        return response

    def chunks(self) -> Chunks:
        """For the rounds of a streamed call."""
        return self._api.chunks(self.is_ours)

    def _opened(self, messages: Sequence[Message]) -> Discovery:
        session_id, tenant = self._caller
        return self._list.discoverer.open(
            Session(self._searching.store, session_id, tenant), self._searching.delivery, messages=messages
        )

    def _tools(self) -> list[JsonObject]:
        offer = self.discovery.offer()
        self._sent.append(APPEND.runnable(offer))
        self._offered = {tool.name for tool in (*offer.visible, *offer.loaded)} | self._list.fixed_names
        told = self._told_of() if self.is_native else set()
        open_names = [tool.name for tool in (*offer.visible, *offer.loaded) if tool.name not in told]
        shown = [*map(_bare, self._list.fixed), *(_bare(self._list.records[name]) for name in open_names)]
        deferred: list[JsonObject] = []
        if offer.search_tool is not None:
            search = self._list.written_search(offer.search_tool, self._api.form)
            if self.is_native:
                names = sorted(told | {tool.name for tool in offer.hidden})
                hidden = [_bare(self._list.records[name]) for name in names]
                shown, deferred = declared(self._api.form, search, shown, hidden)
            else:
                shown = [search, *shown]
        if self._list.cache_marks and shown:
            # The caller wants its tools cached, and what is cached ends with the last of them.
            shown[-1] = {**shown[-1], "cache_control": self._list.cache_marks[-1]}
        return [*shown, *deferred]

    def _told_of(self) -> set[str]:
        """The tools that the provider has been told of by results."""
        told = self._at_provider | referenced(chain(self._told, *self._rounds))
        # A caller may refer to any name, and what it may not know of is not declared for that.
        usable = self._list.discoverer.view().tools
        return {name for name in told if name in usable}

    def _planned(self, calls: Sequence[ToolCall]) -> tuple[PlannedCall, ...]:
        """Our calls of an answer, made fit to send back; what only they will find, they cannot call."""
        ours = tuple(call for call in calls if self.is_ours(call.name))
        if not ours:
            return ()
        theirs = (call for call in calls if not self.is_ours(call.name))
        told = (call for message in chain(self._told, *self._rounds) for call in calls_in(message))
        taken = AssistantMessage(content=(*told, *theirs))
        offered = APPEND.runnable(self.discovery.offer())
        return plan_calls(AssistantMessage(content=ours), offered, history=[taken]).calls

    def _result(self, asked: JsonObject, planned: PlannedCall, ran: ToolResult | None) -> list[JsonObject]:
        """The result of a call of ours in the provider's form, and what is to be said after it."""
        call = planned.call
        result = planned.refusal or ran or self.discovery.search(planned.arguments)
        self._searches.append(
            ToolMessage(
                call_id=call.id,
                name=call.name,
                content=result.content,
                is_error=result.is_error,
                discovered=result.discovered,
                structured=result.structured,
            )
        )
        if self.is_native and call.name == SEARCH_TOOL:
            found = [_bare(self._list.records[name]) for name in result.discovered]
            return native_result(self._api.form, call.id, result, found)
        return [self._api.result(asked, call.id, result)]

    def _keep(self, answer: JsonObject, calls: list[JsonObject], results: list[JsonObject]) -> None:
        """Remember what the caller does not get to see."""
        state, own_state = self._api.new_state(self._request, answer)
        known = self._searching.recall.find(self._state_key(self._state)) if self._state else None
        searches = (*(known.searches if known else ()), *self._searches)
        if state != own_state:
            self._searching.store.discover(self._moved_id(state), self._caller[1], [own_state])
        if state and searches:
            self._searching.recall.keep(
                self._state_key(state), Hidden(results=tuple(results), searches=searches, state=own_state)
            )
        if self._searches:
            exchange = [message for messages in self._rounds for message in messages]
            hidden = Hidden(tuple(exchange), tuple(calls), tuple(results), tuple(self._searches))
            for key in answer_keys(exchange, self._api.said(answer), self.is_ours):
                self._searching.recall.keep(exchange_key(self._key, key), hidden)

    def _found_at_provider(self, tenant: str) -> Hidden | None:
        """What is known of the conversation that the provider keeps."""
        known = self._searching.recall.find(self._state_key(self._state))
        if known is None:
            own_state = next(iter(self._searching.store.discovered(self._moved_id(self._state), tenant)), "")
            known = Hidden(state=own_state) if own_state else None
        return known

    def _moved_id(self, state: str) -> str:
        """An id in the store of sessions that no caller can give."""
        return f"moved!{digest(self._api.form, state).hex()}"

    def _state_key(self, state: str) -> bytes:
        return digest("state", self._api.form, self._list.key.hex(), self._whose, state)


def _bare(record: JsonObject) -> JsonObject:
    """A definition without what is for the list that it came in."""
    return {key: value for key, value in record.items() if key not in {"cache_control", "defer_loading"}}
