"""What `toolsearch chat` shows of a run while it goes on, and of what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from toolsearch.cli.executable import DRY_RUN
from toolsearch.cli.output import say, share
from toolsearch.delivery.base import SEARCH_TOOL, one_line
from toolsearch.messages import ToolResult
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, RunObserver, Within
from toolsearch.telemetry.receipt import RunReceipt, SearchReceipt, search_receipt
from toolsearch.tokens import catalog_tokens

_NAMES_SHOWN = 8
_ARGUMENTS_SHOWN = 160


class TraceObserver(RunObserver):
    """Says what the model is offered in each round, what searches found and which tools ran."""

    def __init__(self, write: Callable[[str], None] = say) -> None:
        self._write = write

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        del seen
        yield self

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        tools = seen.request.tools
        tokens = sum(catalog_tokens(tools).values())
        self._write(f"[round {seen.number}] offered {_listed([t.name for t in tools])}: {tokens:,} tokens")
        yield nullcontext

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        name = seen.tool.name
        if name != SEARCH_TOOL:
            self._write(f"[call] {name} {one_line(str(seen.arguments), _ARGUMENTS_SHOWN)}")
        yield
        result = seen.result
        if name == SEARCH_TOOL and isinstance(result, ToolResult):
            self._write(_search_line(search_receipt(result), failed=result.is_error))
        elif isinstance(result, ToolResult) and _text(result).startswith(DRY_RUN):
            self._write(f"[call] {name} was not run: not executable here (dry run)")


def receipt_lines(receipt: RunReceipt) -> Iterator[str]:
    """The receipt for people."""
    usage = receipt.usage
    yield (
        f"[receipt] {_count(len(receipt.rounds), 'round')}, "
        f"{_count(len(receipt.searches), 'search', 'searches')}, {_count(len(receipt.calls), 'call')}; "
        f"discovered {_listed(receipt.discovered)}"
    )
    without = receipt.tokens_without_search
    if without:
        spared = without - receipt.tokens
        yield (
            f"[receipt] {receipt.tokens:,} tokens for tools instead of {without:,} "
            f"({share(spared, without)} spared)"
        )
    told = (
        f"[receipt] the provider counts {usage.input_tokens:,} tokens in "
        f"({share(usage.cached_tokens, usage.input_tokens)} cached), {usage.output_tokens:,} out"
    )
    yield told if receipt.cost is None else f"{told}: costs {receipt.cost:.6f}"


def _search_line(search: SearchReceipt, *, failed: bool) -> str:
    asked = " + ".join(map(repr, search.queries)) or "(no query)"
    if search.nothing_fits:
        return f"[search] {asked}: nothing fits"
    if failed or not search.scores:
        return f"[search] {asked}: nothing new"
    hits = ", ".join(f"{name} {score:.3f}" for name, score in search.scores.items())
    return f"[search] {asked}: {hits}; loaded {_listed(search.loaded)}"


def _text(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if part.kind == "text")


def _listed(names: tuple[str, ...] | list[str]) -> str:
    if not names:
        return "nothing"
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"
