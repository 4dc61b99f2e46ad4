"""Spans and metrics as an SDK receives them."""

import asyncio
import builtins
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.telemetry.support import SECRET, broken, call, router, said, streamed, weather_forecast
from toolsearch.advisors.approval import ApprovalAdvisor
from toolsearch.advisors.base import Approve
from toolsearch.chat.base import TextDelta
from toolsearch.exceptions import OverloadedError
from toolsearch.functions.decorator import tool
from toolsearch.telemetry import OpenTelemetryObserver


class Collected:
    """An SDK in memory."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])

    def observer(self, **more: Any) -> OpenTelemetryObserver:
        return OpenTelemetryObserver(tracer_provider=self.tracers, meter_provider=self.meters, **more)

    @property
    def spans(self) -> list[ReadableSpan]:
        """In the order in which they began."""
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.spans if span.name == name]
        return found

    def points(self, name: str) -> list[tuple[Mapping[str, Any], Any]]:
        """Attributes and value (count for histograms) of each series of a metric."""
        data = self.reader.get_metrics_data()
        assert data is not None
        return [
            (dict(point.attributes or {}), getattr(point, "value", None) or getattr(point, "count", 0))
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]


@pytest.fixture
def sdk() -> Iterator[Collected]:
    collected = Collected()
    yield collected
    collected.tracers.shutdown()
    collected.meters.shutdown()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_run_is_a_span_around_those_of_its_rounds_and_calls(sdk: Collected) -> None:
    router(sdk.observer()).run_sync("Refund.", session_id="42")
    assert [span.name for span in sdk.spans] == [
        "invoke_agent toolsearch",
        "chat gpt-5",
        "execute_tool tool_search",
        "chat gpt-5",
        "execute_tool refund_order",
        "chat gpt-5",
    ]
    run, *inner = sdk.spans
    assert run.parent is None
    assert run.context is not None
    assert {span.parent.span_id for span in inner if span.parent} == {run.context.span_id}
    assert len([span for span in inner if span.parent]) == 5
    assert {span.kind for span in sdk.spans if span.name.startswith("chat")} == {SpanKind.CLIENT}
    assert {span.kind for span in sdk.spans if not span.name.startswith("chat")} == {SpanKind.INTERNAL}


def test_a_round_has_the_attributes_of_the_conventions(sdk: Collected) -> None:
    router(sdk.observer()).run_sync(
        "Refund.", session_id="42", max_tokens=99, options={"temperature": 0, "seed": 7, "top_p": None}
    )
    last = [span for span in sdk.spans if span.name == "chat gpt-5"][-1]
    assert attributes(last) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.conversation.id": "42",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.temperature": 0.0,
        "gen_ai.request.seed": 7,
        "gen_ai.response.model": "gpt-5-2026",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 300,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 200,
        "toolsearch.round": 3,
        "toolsearch.tools.offered": ("tool_search", "refund_order"),
    }
    run = attributes(sdk.spans[0])
    assert run["gen_ai.usage.input_tokens"] == 600
    assert (run["gen_ai.agent.name"], run["toolsearch.rounds"]) == ("toolsearch", 3)


def test_a_streamed_round_says_so_and_when_the_first_text_came(sdk: Collected) -> None:
    through = router(sdk.observer())
    events = streamed(through, "Refund.")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "All done."
    rounds = [attributes(span) for span in sdk.spans if span.name == "chat gpt-5"]
    assert [each["gen_ai.request.stream"] for each in rounds] == [True, True, True]
    assert ["gen_ai.response.time_to_first_chunk" in each for each in rounds] == [False, False, True]
    assert rounds[2]["gen_ai.response.time_to_first_chunk"] >= 0


def test_a_search_tells_its_candidates_and_scores(sdk: Collected) -> None:
    router(sdk.observer()).run_sync("Refund.")
    found = attributes(sdk.named("execute_tool tool_search"))
    assert found["gen_ai.tool.name"] == "tool_search"
    assert found["gen_ai.tool.type"] == "function"
    assert found["gen_ai.tool.call.id"] == "s1"
    assert found["toolsearch.search.candidates"][0] == "refund_order"
    assert len(found["toolsearch.search.candidates"]) == len(found["toolsearch.search.scores"])
    assert found["toolsearch.search.scores"] == tuple(sorted(found["toolsearch.search.scores"], reverse=True))
    assert found["toolsearch.search.loaded"] == ("refund_order",)
    assert found["toolsearch.search.nothing_fits"] is False
    assert sdk.points("toolsearch.tools.discovered") == [({}, 1)]


def test_nothing_that_was_said_is_recorded_unless_asked_for(sdk: Collected) -> None:
    router(sdk.observer()).run_sync(f"Refund {SECRET}.")
    assert sdk.spans
    assert SECRET not in "".join(span.to_json() for span in sdk.spans)
    data = sdk.reader.get_metrics_data()
    assert data is not None
    assert SECRET not in data.to_json()


def test_arguments_results_and_queries_are_recorded_when_asked_for(sdk: Collected) -> None:
    router(sdk.observer(record_content=True)).run_sync("Refund.")
    found = attributes(sdk.named("execute_tool refund_order"))
    assert json.loads(found["gen_ai.tool.call.arguments"]) == {"order": SECRET}
    assert found["gen_ai.tool.call.result"] == f"refunded {SECRET}"
    searched = attributes(sdk.named("execute_tool tool_search"))
    assert searched["toolsearch.search.queries"] == (f"refund an order {SECRET}",)


@pytest.mark.parametrize(
    ("failing", "kind"),
    [(weather_forecast, "toolsearch.exceptions.ToolFailed"), (broken, "RuntimeError")],
    ids=["failed", "broken"],
)
def test_a_call_that_fails_tells_the_kind_of_error_and_no_more(
    sdk: Collected, failing: Any, kind: str
) -> None:
    script = [call(failing.name, "c1", city=SECRET), "Sorry."]
    router(sdk.observer(), script=script, tools=[failing], pinned=(failing.name,)).run_sync("Go.")
    span = sdk.named(f"execute_tool {failing.name}")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == kind
    assert SECRET not in span.to_json()
    assert sdk.spans[0].status.status_code is StatusCode.UNSET
    ((tagged, count),) = sdk.points("gen_ai.execute_tool.duration")
    assert (tagged["error.type"], count) == (kind, 1)


def test_a_model_that_fails_ends_its_round_and_the_run_with_an_error(sdk: Collected) -> None:
    through = router(sdk.observer(), script=[OverloadedError("openai:gpt-5", f"too busy {SECRET}")])
    with pytest.raises(OverloadedError):
        through.run_sync("Go.")
    kind = "toolsearch.exceptions.OverloadedError"
    assert [(span.name, attributes(span)["error.type"]) for span in sdk.spans] == [
        ("invoke_agent toolsearch", kind),
        ("chat gpt-5", kind),
    ]
    assert SECRET not in "".join(span.to_json() for span in sdk.spans)
    ((tagged, _),) = sdk.points("gen_ai.client.inference.duration")
    assert tagged["error.type"] == kind


def test_tokens_and_durations_are_counted_as_the_conventions_say(sdk: Collected) -> None:
    router(sdk.observer()).run_sync("Refund.")
    prefix = "gen_ai.client.inference.usage."
    totals = {
        name: sum(value for _, value in sdk.points(prefix + name))
        for name in ("input_tokens", "output_tokens", "cache_read.input_tokens")
    }
    assert totals == {"input_tokens": 600, "output_tokens": 60, "cache_read.input_tokens": 300}
    common = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
    }
    chats = sdk.points("gen_ai.client.inference.duration")
    assert sorted(chats, key=lambda point: len(point[0])) == [
        (common, 2),
        (common | {"gen_ai.response.model": "gpt-5-2026"}, 1),
    ]
    tools = {
        tagged["gen_ai.tool.name"]: count for tagged, count in sdk.points("gen_ai.execute_tool.duration")
    }
    assert tools == {"tool_search": 1, "refund_order": 1}
    assert [count for _, count in sdk.points("gen_ai.invoke_agent.duration")] == [1]


def test_routers_of_one_process_add_to_the_same_counters(
    sdk: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        router(sdk.observer()).run_sync("Refund.")
    totals = sdk.points("gen_ai.client.inference.usage.input_tokens")
    assert sum(value for _, value in totals) == 2 * 600
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("model_id", "provider", "model"),
    [
        ("openai:gpt-5", "openai", "gpt-5"),
        ("localhost:11434:qwen3:8b", "localhost:11434", "qwen3:8b"),
        ("[::1]:8000:m", "[::1]:8000", "m"),
        ("example.org:org/model", "example.org", "org/model"),
        ("bare", "_OTHER", "bare"),
    ],
)
def test_provider_and_model_are_read_from_the_models_id(
    sdk: Collected, model_id: str, provider: str, model: str
) -> None:
    through = router(sdk.observer(), script=["Hi."])
    through.model.id = model_id  # type: ignore[misc]
    through.run_sync("Hi.")
    span = sdk.named(f"chat {model}")
    assert attributes(span)["gen_ai.provider.name"] == provider


def test_spans_of_tools_and_of_callers_are_nested_as_they_should_be(sdk: Collected) -> None:
    tracer = sdk.tracers.get_tracer("theirs")

    @tool(pinned=True)
    def count() -> str:
        """Count in a span of its own."""
        with tracer.start_as_current_span("inside"):
            return "1"

    through = router(sdk.observer(), script=[call("count", "c1"), "One."], tools=[count])
    with tracer.start_as_current_span("outside"):
        through.run_sync("Count.")

    def parent(name: str) -> int | None:
        span = sdk.named(name)
        return span.parent.span_id if span.parent else None

    def own(name: str) -> int | None:
        context = sdk.named(name).context
        return context.span_id if context else None

    assert parent("inside") == own("execute_tool count")
    assert parent("execute_tool count") == own("invoke_agent toolsearch")
    assert parent("invoke_agent toolsearch") == own("outside")


def test_a_models_own_spans_are_inside_its_round_and_never_leak_to_the_reader(sdk: Collected) -> None:
    tracer = sdk.tracers.get_tracer("theirs")

    def answer(request: Any) -> str:
        del request
        with tracer.start_as_current_span("http"):
            return "A long enough answer."

    through = router(sdk.observer(), script=answer)

    async def read() -> list[bool]:
        return [trace.get_current_span().get_span_context().is_valid async for _ in through.stream("Hi.")]

    assert not any(asyncio.run(read()))
    http, chat = sdk.named("http"), sdk.named("chat gpt-5")
    assert http.parent is not None
    assert chat.context is not None
    assert http.parent.span_id == chat.context.span_id


def test_a_stream_that_nobody_reads_on_ends_its_spans_without_error(sdk: Collected) -> None:
    through = router(sdk.observer(), script=["A long enough answer."])

    async def read_a_bit() -> None:
        events = through.stream("Hi.")
        await anext(events)
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(read_a_bit())
    assert [span.name for span in sdk.spans] == ["invoke_agent toolsearch", "chat gpt-5"]
    assert {span.status.status_code for span in sdk.spans} == {StatusCode.UNSET}


def test_a_resumed_run_has_no_second_span_for_the_answer_that_it_already_has(sdk: Collected) -> None:
    through = router(
        sdk.observer(),
        script=[said("", call("refund_order", "c1", order="7")), "Done."],
        pinned=("refund_order",),
        approval=ApprovalAdvisor(),
    )
    paused = through.run_sync("Refund.").metadata["paused_run"]
    asyncio.run(through.resume(paused, {"c1": Approve()}))
    assert [span.name for span in sdk.spans] == [
        "invoke_agent toolsearch",
        "chat gpt-5",
        "invoke_agent toolsearch",
        "execute_tool refund_order",
        "chat gpt-5",
    ]


def test_without_opentelemetry_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **more: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    assert router(OpenTelemetryObserver()).run_sync("Refund.").text == "All done."
