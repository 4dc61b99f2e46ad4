"""`OpenTelemetryObserver`: spans and metrics of runs, by the GenAI semantic conventions.

Source: the OpenTelemetry semantic conventions for generative AI, version 0.1.0 (status: development). What
they have no name for begins with ``toolsearch.``.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolsearch.chat.base import ChatRequest, ChatResponse, Usage
from toolsearch.delivery.base import SEARCH_TOOL
from toolsearch.functions.results import to_result
from toolsearch.messages import ImagePart, ToolResult
from toolsearch.telemetry.base import ObservedCall, ObservedRound, ObservedRun, RunObserver, Within
from toolsearch.telemetry.receipt import search_receipt

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter, Histogram, Meter, MeterProvider
    from opentelemetry.trace import Span, Tracer, TracerProvider
    from opentelemetry.util.types import AttributeValue

_SCOPE = "toolsearch"
_OTHER = "_OTHER"
# Advised by the conventions for every duration.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_MODEL_ID = re.compile(r"(?P<host>\[[^\]]*\](?::\d+)?|[^:]+(?::\d+(?=:))?):(?P<model>.+)", re.DOTALL)
_SETTINGS: Mapping[str, tuple[str, type]] = {
    "temperature": ("gen_ai.request.temperature", float),
    "top_p": ("gen_ai.request.top_p", float),
    "top_k": ("gen_ai.request.top_k", int),
    "seed": ("gen_ai.request.seed", int),
    "frequency_penalty": ("gen_ai.request.frequency_penalty", float),
    "presence_penalty": ("gen_ai.request.presence_penalty", float),
}


class OpenTelemetryObserver:
    """Traces each run as a span ``invoke_agent`` around its ``chat`` and ``execute_tool`` spans, and counts.

    Without the package ``opentelemetry-api`` (the extra ``otel``) it does nothing, and without a configured
    SDK that package does nothing. What users, models and tools say is left out, and of errors only their
    kind is told.
    """

    def __init__(
        self,
        *,
        record_content: bool = False,
        agent_name: str = "toolsearch",
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Traces with the global providers unless told otherwise.

        Args:
            record_content: Put arguments, results and search queries into the spans of tools. They may hold
                anything, secrets of users included.
            agent_name: What the spans of runs are called.
            clock: Seconds, for the metrics.
        """
        self._record_content = record_content
        self._agent_name = agent_name
        self._clock = clock
        self._instruments = _Instruments.of(tracer_provider, meter_provider)

    @contextmanager
    def run(self, seen: ObservedRun) -> Iterator[RunObserver]:
        otel = self._instruments
        if otel is None:
            yield RunObserver()
            return
        common = _common("invoke_agent", seen.model_id)
        common["gen_ai.agent.name"] = self._agent_name
        name, more = f"invoke_agent {self._agent_name}", _conversation(seen.request)
        with otel.span(name, common, more, otel.run_duration, self._clock) as traced:
            yield _RunTrace(otel, traced.context, self._clock, record_content=self._record_content)
            if seen.response is not None:
                traced.set(_answer(seen.response))
                rounds = seen.response.metadata.get("rounds")
                if rounds is not None:
                    traced.set({"toolsearch.rounds": rounds})


class _RunTrace(RunObserver):
    def __init__(
        self, otel: _Instruments, parent: Context, clock: Callable[[], float], *, record_content: bool
    ) -> None:
        self._otel = otel
        self._parent = parent
        self._clock = clock
        self._record_content = record_content

    @contextmanager
    def round(self, seen: ObservedRound) -> Iterator[Within]:
        otel, common = self._otel, _common("chat", seen.model_id)
        name = f"chat {_model(seen.model_id)}"
        try:
            with otel.span(
                name, common, _asked(seen), otel.chat_duration, self._clock, parent=self._parent, client=True
            ) as traced:
                yield lambda: _attached(traced.context)
                if seen.first_text_s is not None:
                    traced.set({"gen_ai.response.time_to_first_chunk": seen.first_text_s})
                if seen.response is not None:
                    traced.set(_answer(seen.response))
                    if seen.response.model:
                        common["gen_ai.response.model"] = seen.response.model
        finally:
            self._count(seen.response.usage if seen.response else Usage(), common)

    @contextmanager
    def call(self, seen: ObservedCall) -> Iterator[None]:
        otel, tool = self._otel, seen.tool
        common: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
        }
        more: dict[str, AttributeValue] = {"gen_ai.tool.call.id": seen.context.call_id}
        if tool.description:
            more["gen_ai.tool.description"] = tool.description
        if self._record_content:
            more["gen_ai.tool.call.arguments"] = json.dumps(seen.arguments, ensure_ascii=False, default=str)
        name = f"execute_tool {tool.name}"
        with (
            otel.span(name, common, more, otel.call_duration, self._clock, parent=self._parent) as traced,
            _attached(traced.context),
        ):
            yield
            self._ended(seen, traced)

    def _ended(self, seen: ObservedCall, traced: _Traced) -> None:
        result = seen.result
        if isinstance(result, ToolResult):
            if seen.tool.name == SEARCH_TOOL:
                traced.set(_search(result, with_queries=self._record_content))
                self._otel.discovered.add(len(result.discovered))
            if result.is_error:
                traced.fail(_OTHER)
        if self._record_content:
            traced.set({"gen_ai.tool.call.result": _shown(seen)})

    def _count(self, usage: Usage, common: Mapping[str, AttributeValue]) -> None:
        # Text, images and sound are not told apart in what providers report alike.
        attributes = {**common, "gen_ai.token.modality": "unknown"}
        self._otel.input_tokens.add(usage.input_tokens, attributes)
        self._otel.output_tokens.add(usage.output_tokens, attributes)
        self._otel.cached_tokens.add(usage.cached_tokens, attributes)


class _Traced:
    """A span under way, the context below it, and what kind of error it ended with."""

    def __init__(self, span: Span, context: Context) -> None:
        self._span = span
        self.context = context
        self.failure: dict[str, AttributeValue] = {}

    def set(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._span.set_attributes(attributes)

    def fail(self, kind: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        self.failure = {"error.type": kind}
        self._span.set_attributes(self.failure)
        self._span.set_status(Status(StatusCode.ERROR))


class _Instruments:
    """A tracer and the instruments of a meter."""

    def __init__(self, tracer: Tracer, meter: Meter) -> None:
        self._tracer = tracer

        def seconds(name: str, description: str) -> Histogram:
            return meter.create_histogram(
                name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS
            )

        def tokens(name: str, description: str) -> Counter:
            return meter.create_counter(f"gen_ai.client.inference.usage.{name}", "{token}", description)

        self.run_duration = seconds("gen_ai.invoke_agent.duration", "Seconds of a run.")
        self.chat_duration = seconds("gen_ai.client.inference.duration", "Seconds of a call of the model.")
        self.call_duration = seconds("gen_ai.execute_tool.duration", "Seconds of a call of a tool.")
        self.input_tokens = tokens("input_tokens", "Input tokens, cached ones included.")
        self.output_tokens = tokens("output_tokens", "Output tokens.")
        self.cached_tokens = tokens("cache_read.input_tokens", "Input tokens that the provider had cached.")
        self.discovered = meter.create_counter(
            "toolsearch.tools.discovered", "{tool}", "Tools that searches made known."
        )

    @classmethod
    def of(
        cls, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
    ) -> _Instruments | None:
        """Those of the providers, or of the global ones; None where OpenTelemetry is not installed."""
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            return None
        return cls(
            trace.get_tracer(_SCOPE, tracer_provider=tracer_provider),
            metrics.get_meter(_SCOPE, meter_provider=meter_provider),
        )

    @contextmanager
    def span(
        self,
        name: str,
        common: Mapping[str, AttributeValue],
        more: Mapping[str, AttributeValue],
        duration: Histogram,
        clock: Callable[[], float],
        *,
        parent: Context | None = None,
        client: bool = False,
    ) -> Iterator[_Traced]:
        """A span with the attributes of `common` and `more`, and its `duration` with those of `common`.

        It is current nowhere: who is within it enters its context for as long as they need it.
        """
        from opentelemetry.trace import SpanKind, set_span_in_context

        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        started = clock()
        span = self._tracer.start_span(name, parent, kind, {**common, **more})
        traced = _Traced(span, set_span_in_context(span, parent))
        try:
            yield traced
        except GeneratorExit:
            raise
        except BaseException as exc:
            traced.fail(_kind(exc))
            raise
        finally:
            span.end()
            duration.record(clock() - started, {**common, **traced.failure})


@contextmanager
def _attached(context: Context) -> Iterator[None]:
    from opentelemetry.context import attach, detach

    token = attach(context)
    try:
        yield
    finally:
        detach(token)


def _common(operation: str, model_id: str) -> dict[str, AttributeValue]:
    found = _MODEL_ID.fullmatch(model_id)
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": found["host"] if found else _OTHER,
        "gen_ai.request.model": _model(model_id),
    }


def _model(model_id: str) -> str:
    found = _MODEL_ID.fullmatch(model_id)
    return found["model"] if found else model_id


def _conversation(request: ChatRequest) -> dict[str, AttributeValue]:
    session = request.context.get("session_id", "")
    return {"gen_ai.conversation.id": session} if session else {}


def _asked(seen: ObservedRound) -> dict[str, AttributeValue]:
    request = seen.request
    attributes = _conversation(request)
    attributes["toolsearch.round"] = seen.number
    attributes["toolsearch.tools.offered"] = [tool.name for tool in request.tools]
    if seen.streaming:
        attributes["gen_ai.request.stream"] = True
    if request.max_tokens is not None:
        attributes["gen_ai.request.max_tokens"] = request.max_tokens
    for option, (name, kind) in _SETTINGS.items():
        value = request.options.get(option)
        if isinstance(value, int | float):
            attributes[name] = kind(value)
    return attributes


def _answer(response: ChatResponse) -> dict[str, AttributeValue]:
    usage = response.usage
    attributes: dict[str, AttributeValue] = {
        "gen_ai.response.finish_reasons": [response.finish_reason],
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }
    if response.model:
        attributes["gen_ai.response.model"] = response.model
    return attributes


def _search(result: ToolResult, *, with_queries: bool) -> dict[str, AttributeValue]:
    receipt = search_receipt(result)
    attributes: dict[str, AttributeValue] = {
        "toolsearch.search.candidates": list(receipt.scores),
        "toolsearch.search.scores": list(receipt.scores.values()),
        "toolsearch.search.loaded": list(receipt.loaded),
        "toolsearch.search.nothing_fits": receipt.nothing_fits,
    }
    if with_queries:
        attributes["toolsearch.search.queries"] = list(receipt.queries)
    return attributes


def _shown(seen: ObservedCall) -> str:
    content = to_result(seen.result, tool=seen.tool.name).content
    return "".join(f"[{part.media_type}]" if isinstance(part, ImagePart) else part.text for part in content)


def _kind(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
