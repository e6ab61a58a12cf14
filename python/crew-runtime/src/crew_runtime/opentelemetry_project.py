"""Connects the OpenTelemetry that a project has installed with the trace of the run."""

import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .steps import current_step

_GROUPS = ("opentelemetry_instrumentor", "openinference_instrumentor")
_DISTRIBUTION = "openinference-instrumentation"
# The worker counts them, from the event of the same call.
_COUNTED = ("llm.token_count.", "llm.cost.", "gen_ai.usage.")
_FLUSH_MS = 5000


def connect(trace: tuple[str, str]) -> tuple[Callable[[], None] | None, bool]:
    """Sends the spans of the project; returns how to flush, and whether it is instrumented."""
    try:
        from opentelemetry import context as api_context
        from opentelemetry import trace as api
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
    except ImportError:
        return None, False
    counted_elsewhere: set[int] = set()

    class Marker(SpanProcessor):
        """Knows which spans are parts of a call that is reported."""

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            step = current_step()
            if step and step.kind == "llm":
                counted_elsewhere.add(span.context.span_id)

    class Exporter(SpanExporter):
        """Takes the tokens out that are counted already."""

        def __init__(self) -> None:
            self._exporter = OTLPSpanExporter()

        def export(self, spans: Sequence[Any]) -> Any:
            return self._exporter.export([self._without_tokens(each) for each in spans])

        def shutdown(self) -> None:
            self._exporter.shutdown()

        def _without_tokens(self, span: Any) -> Any:
            if span.context.span_id not in counted_elsewhere:
                return span
            counted_elsewhere.discard(span.context.span_id)
            kept = {
                name: value
                for name, value in (span.attributes or {}).items()
                if not name.startswith(_COUNTED)
            }
            return ReadableSpan(
                name=span.name,
                context=span.context,
                parent=span.parent,
                resource=span.resource,
                attributes=kept,
                events=span.events,
                links=span.links,
                kind=span.kind,
                status=span.status,
                start_time=span.start_time,
                end_time=span.end_time,
                instrumentation_scope=span.instrumentation_scope,
            )

    provider = TracerProvider()
    provider.add_span_processor(Marker())
    provider.add_span_processor(BatchSpanProcessor(Exporter()))
    api.set_tracer_provider(provider)
    trace_id, span_id = (int(each, 16) for each in trace)
    flags = api.TraceFlags(api.TraceFlags.SAMPLED)
    parent = api.NonRecordingSpan(api.SpanContext(trace_id, span_id, True, flags))
    api_context.attach(api.set_span_in_context(parent))
    return lambda: _flush(provider), _instrument(provider)


def _flush(provider: Any) -> None:
    provider.force_flush(_FLUSH_MS)


def _instrument(provider: Any) -> bool:
    """Switches the instrumentation of OpenInference on that is installed."""
    is_instrumented = False
    for group in _GROUPS:
        for point in importlib.metadata.entry_points(group=group):
            if not (point.dist and point.dist.name.lower().startswith(_DISTRIBUTION)):
                continue
            try:
                point.load()().instrument(tracer_provider=provider)
                is_instrumented = True
            except Exception as error:
                print(f"{point.dist.name} was not switched on: {error}", file=sys.stderr)
    return is_instrumented
