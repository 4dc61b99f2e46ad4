"""What `toolsearch chat` shows of a run while it goes on, and of what it cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext

from toolsearch.cli.executable import DRY_RUN
from toolsearch.cli.output import say, share
from toolsearch.delivery.base import SEARCH_TOOL, one_line
from toolsearch.messages import Message, ToolMessage, ToolResult
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, RunObserver, Within
from toolsearch.telemetry.receipt import RunReceipt, SearchReceipt, search_receipt
from toolsearch.tokens import catalog_tokens

_NAMES_SHOWN = 8
_ARGUMENTS_SHOWN = 160


class TraceObserver:
    """Says what the model is offered in each round, what searches found, which tools ran and which failed."""

    def __init__(self, write: Callable[[str], None] = say) -> None:
        self._write = write

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        trace = _RunTrace(self._write)
        yield trace
        if seen.response is not None:
            trace.tell_refused(seen.response.metadata.get("messages", ()))


class _RunTrace(RunObserver):
    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._told: set[str] = set()

    def tell_refused(self, messages: Sequence[Message]) -> None:
        """Say which calls were answered by an error, unless that was said before."""
        for message in _failed(messages):
            if message.call_id not in self._told:
                self._told.add(message.call_id)
                self._write(f"[call] {message.name} failed: {one_line(message.text, _ARGUMENTS_SHOWN)}")

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        if seen.number == 1:
            self._told.update(message.call_id for message in _failed(seen.request.messages))
        self.tell_refused(seen.request.messages)
        tools = seen.request.tools
        tokens = sum(catalog_tokens(tools).values())
        self._write(f"[round {seen.number}] offered {_listed([t.name for t in tools])}: {tokens:,} tokens")
        yield nullcontext

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        name = seen.tool.name
        if name != SEARCH_TOOL:
            self._write(f"[call] {name} {one_line(str(seen.arguments), _ARGUMENTS_SHOWN)}")
        try:
            yield
        except Exception as exc:
            self._told.add(seen.context.call_id)
            problem = one_line(f"{type(exc).__name__}: {exc}", _ARGUMENTS_SHOWN)
            self._write(f"[call] {name} failed: {problem}")
            raise
        result = seen.result
        if isinstance(result, ToolResult) and result.is_error:
            self._told.add(seen.context.call_id)
        if name == SEARCH_TOOL and isinstance(result, ToolResult):
            self._write(_search_line(search_receipt(result), failed=result.is_error))
        elif isinstance(result, ToolResult) and _text(result).startswith(DRY_RUN):
            self._write(f"[call] {name} was not run: not executable here (dry run)")
        elif isinstance(result, ToolResult) and result.is_error:
            self._write(f"[call] {name} failed: {one_line(_text(result), _ARGUMENTS_SHOWN)}")


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
        told = f"{share(spared, without)} spared" if spared >= 0 else "searching cost more than it spared"
        yield f"[receipt] {receipt.tokens:,} tokens for tools instead of {without:,} ({told})"
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


def _failed(messages: Sequence[Message]) -> Iterator[ToolMessage]:
    return (each for each in messages if isinstance(each, ToolMessage) and each.is_error)


def _text(result: ToolResult) -> str:
    return "".join(part.text for part in result.content if part.kind == "text")


def _listed(names: tuple[str, ...] | list[str]) -> str:
    if not names:
        return "nothing"
    rest = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one}" if n == 1 else f"{n} {many or one + 's'}"
