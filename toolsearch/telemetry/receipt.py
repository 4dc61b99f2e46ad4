"""`RunReceipt`: what a run cost, and what it would have sent without tool search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property

from toolsearch.chat.base import ChatRequest, Usage
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.discovery.view import CatalogView
from toolsearch.exceptions import ToolArgumentsError
from toolsearch.messages import AssistantMessage, Message, ToolMessage, ToolResult
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, RunObserver, Within
from toolsearch.tokens import catalog_tokens, count_tokens
from toolsearch.tools import JsonObject, Tool

RECEIPT = "receipt"
"""Key of `ChatResponse.metadata` under which a run's receipt is."""


@dataclass(frozen=True)
class Prices:
    """What a provider charges for a million tokens, in any currency.

    Attributes:
        input, output: Per million tokens.
        cached_input: Of input tokens that the provider had cached; None charges them like others. What a
            provider adds for writing its cache is in no usage, and so in no cost here.

    Raises:
        ValueError: one of them is below 0 or not finite.
    """

    input: float
    output: float
    cached_input: float | None = None

    def __post_init__(self) -> None:
        for name, price in vars(self).items():
            if price is not None and not 0 <= price < math.inf:
                raise ValueError(f"The price {name!r} is {price}, which is no price.")

    def cost(self, usage: Usage) -> float:
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_tokens
        return (fresh * self.input + usage.cached_tokens * cached + usage.output_tokens * self.output) / 1e6


@dataclass(frozen=True)
class RoundReceipt:
    """One round. Tokens are counted when they are first asked for, with the tokenizer of `tokens`.

    Attributes:
        number: From 1.
        tools: Offered to the model, in order.
        usage: As the provider reports it.
        written, replaced: Texts that the tool search put into the conversation, and those in whose place.
        searching: Calls of the search in the conversation, and their results.
    """

    number: int
    tools: tuple[Tool, ...] = field(repr=False)
    usage: Usage
    written: tuple[str, ...] = field(default=(), repr=False)
    replaced: tuple[str, ...] = field(default=(), repr=False)
    searching: tuple[str, ...] = field(default=(), repr=False)

    @property
    def offered(self) -> tuple[str, ...]:
        """Public names of `tools`."""
        return tuple(tool.name for tool in self.tools)

    @cached_property
    def definition_tokens(self) -> int:
        """Tokens of the definitions that were sent as tools."""
        return sum(catalog_tokens(self.tools).values())

    @cached_property
    def search_tokens(self) -> int:
        """Tokens that the tool search put into the conversation: instructions, searches, their results."""
        added = sum(map(count_tokens, (*self.written, *self.searching)))
        return added - sum(map(count_tokens, self.replaced))

    @property
    def tokens(self) -> int:
        """Tokens sent for the sake of tools: definitions, and what finding them put into the conversation."""
        return self.definition_tokens + self.search_tokens


@dataclass(frozen=True)
class SearchReceipt:
    """One search.

    Attributes:
        queries: What the model asked for.
        loaded: Public names that it made known, best first.
        already_loaded: Names that fit and were known before.
        scores: Of all that were found.
        nothing_fits: No tool was likely to serve.
    """

    queries: tuple[str, ...]
    loaded: tuple[str, ...] = ()
    already_loaded: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    nothing_fits: bool = False


@dataclass(frozen=True)
class RunReceipt:
    """What a run cost; of a resumed run, what was done since it was resumed.

    All token counts but those of `usage` are made with one tokenizer, so they compare with each other; they
    are close to what a provider bills, and no more than that.

    Attributes:
        rounds: In order.
        searches: In the order in which they ended.
        calls: Names of the tools that ran, failed ones too and the search not, in the order in which they
            ended.
        usage: As the provider reports it, summed over the rounds.
        search_rounds: How many rounds did nothing but search.
        prices: What `cost` is computed with.
        own: The caller's tools of the run.
        catalog: The tools that the run could use beside them; None where nobody said.
    """

    rounds: tuple[RoundReceipt, ...]
    searches: tuple[SearchReceipt, ...] = ()
    calls: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    search_rounds: int = 0
    prices: Prices | None = None
    own: tuple[Tool, ...] = field(default=(), repr=False)
    catalog: CatalogView | None = field(default=None, repr=False)

    @property
    def discovered(self) -> tuple[str, ...]:
        """Names that searches made known, in first-seen order."""
        return tuple(dict.fromkeys(name for search in self.searches for name in search.loaded))

    @cached_property
    def whole_tokens(self) -> int | None:
        """Tokens of all definitions that the run could use; None where the catalog is not known."""
        if self.catalog is None:
            return None
        own = {tool.name for tool in self.own}
        replaced = [self.catalog.tools[name] for name in own if name in self.catalog.tools]
        replaced_tokens = sum(catalog_tokens(replaced).values())
        return self.catalog.tokens - replaced_tokens + sum(catalog_tokens(self.own).values())

    @property
    def tokens(self) -> int:
        """Tokens sent for the sake of tools in all rounds: see `RoundReceipt.tokens`."""
        return sum(each.tokens for each in self.rounds)

    @property
    def tokens_without_search(self) -> int | None:
        """What sending every definition in each of these rounds costs, at the same number of rounds.

        A round that only searched would not have been needed; `tokens_without_search_rounds` leaves it out.
        """
        return None if self.whole_tokens is None else self.whole_tokens * len(self.rounds)

    @property
    def tokens_without_search_rounds(self) -> int | None:
        """The same without the rounds whose answers did nothing but search."""
        if self.whole_tokens is None:
            return None
        return self.whole_tokens * (len(self.rounds) - self.search_rounds)

    @property
    def cached_share(self) -> float:
        """Share (0 to 1) of the input tokens that the provider had cached; 0 where it reports none."""
        return self.usage.cached_tokens / self.usage.input_tokens if self.usage.input_tokens else 0.0

    @property
    def cost(self) -> float | None:
        """Money for `usage`; None without prices."""
        return None if self.prices is None else self.prices.cost(self.usage)

    def to_json(self) -> JsonObject:
        """All figures as a JSON object."""
        return {
            "rounds": [
                {
                    "number": each.number,
                    "offered": list(each.offered),
                    "definition_tokens": each.definition_tokens,
                    "search_tokens": each.search_tokens,
                    "whole_tokens": self.whole_tokens,
                    "usage": _usage_json(each.usage),
                }
                for each in self.rounds
            ],
            "searches": [
                {
                    "queries": list(search.queries),
                    "loaded": list(search.loaded),
                    "already_loaded": list(search.already_loaded),
                    "scores": dict(search.scores),
                    "nothing_fits": search.nothing_fits,
                }
                for search in self.searches
            ],
            "calls": list(self.calls),
            "discovered": list(self.discovered),
            "search_rounds": self.search_rounds,
            "tokens": self.tokens,
            "tokens_without_search": self.tokens_without_search,
            "tokens_without_search_rounds": self.tokens_without_search_rounds,
            "usage": _usage_json(self.usage),
            "cached_share": self.cached_share,
            "cost": self.cost,
        }


class ReceiptObserver:
    """Adds a `RunReceipt` to the response of each run, under ``metadata["receipt"]``."""

    def __init__(
        self,
        catalog: Callable[[ChatRequest], CatalogView] | None = None,
        *,
        prices: Prices | None = None,
    ) -> None:
        """Counts nothing yet.

        Args:
            catalog: The tools that a run with this request could use, such as `ToolSearchAdvisor.view`.
            prices: Of the model.
        """
        self._catalog = catalog
        self._prices = prices

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        counting = _Counting()
        yield counting
        catalog = None if self._catalog is None else self._catalog(seen.request)
        usages = (each.usage for each in counting.rounds)
        seen.metadata[RECEIPT] = RunReceipt(
            tuple(counting.rounds),
            tuple(counting.searches),
            tuple(counting.calls),
            sum(usages, Usage()),
            counting.search_rounds,
            self._prices,
            seen.request.tools,
            catalog,
        )


class _Counting(RunObserver):
    def __init__(self) -> None:
        self.rounds: list[RoundReceipt] = []
        self.searches: list[SearchReceipt] = []
        self.calls: list[str] = []
        self.search_rounds = 0
        # Of the round whose calls are under way: a limit may refuse them all, and then nothing was searched.
        self._only_searches = False

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        yield nullcontext
        response = seen.response
        if response is None:
            return
        self.rounds.append(
            RoundReceipt(
                seen.number,
                seen.request.tools,
                response.usage,
                seen.written,
                seen.replaced,
                tuple(_searching(seen.request.messages)),
            )
        )
        asked = {call.name for call in response.message.tool_calls}
        self._only_searches = asked == {SEARCH_TOOL}

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        if seen.tool.name == SEARCH_TOOL:
            self.search_rounds += self._only_searches
            self._only_searches = False
        has_run = True
        try:
            yield
        except ToolArgumentsError:
            has_run = False
            raise
        finally:
            if has_run and seen.tool.name not in {SEARCH_TOOL, CALL_TOOL}:
                self.calls.append(seen.tool.name)
        if seen.tool.name == SEARCH_TOOL and isinstance(seen.result, ToolResult):
            self.searches.append(search_receipt(seen.result))


def search_receipt(result: ToolResult) -> SearchReceipt:
    """What the result of a call of `tool_search` tells apart from its text."""
    facts = result.structured if isinstance(result.structured, Mapping) else {}
    return SearchReceipt(
        queries=tuple(facts.get("queries", ())),
        loaded=result.discovered,
        already_loaded=tuple(facts.get("already_loaded", ())),
        scores=dict(facts.get("scores", {})),
        nothing_fits=bool(facts.get("nothing_fits", False)),
    )


def _searching(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        if isinstance(message, ToolMessage) and message.name == SEARCH_TOOL:
            yield message.text
        elif isinstance(message, AssistantMessage):
            yield from (call.arguments for call in message.tool_calls if call.name == SEARCH_TOOL)


def _usage_json(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
