"""Sends what a project's own instruments see of a run to the collector.

The worker makes the spans of tasks, of calls of models and of tools from the run's events. What is
sent from here are the spans that it knows nothing of, in the same trace: those of the project's own
OpenTelemetry, without the tokens that the worker counts already; and where no instrumentation is
installed, the methods of flows, searches in knowledge and memory, and guardrails.
"""

import json
import os
import secrets
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from typing import Any

from .run import Run

_TIMEOUT_SECONDS = 5
_SPANS_MAX = 2000
_TEXT_CHARACTERS_MAX = 4000
_ENDS = ("_started", "_completed", "_finished", "_failed")

_exporter: "_Exporter | None" = None
_flush: Any = None


def begin(run: Run) -> None:
    """Begins to send spans, if an address for them is set."""
    global _exporter, _flush
    url = _address()
    if not url or os.environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return
    from . import opentelemetry_project

    _flush, is_instrumented = opentelemetry_project.connect(trace_of(run))
    if not is_instrumented:
        _exporter = _Exporter(run, url)


def end() -> None:
    """Sends what is left, within a few seconds."""
    if _flush:
        _flush()
    if _exporter:
        _exporter.send()


def observe(name: str, key: object, fields: dict[str, Any]) -> None:
    """Takes the event of a beginning or of an end, such as `memory_query_started`."""
    if _exporter:
        _exporter.observe(name, key, fields)


def trace_of(run: Run) -> tuple[str, str]:
    """The trace of a run and its first span, which the worker makes: of the id of the run."""
    trace = run.id.replace("-", "").lower()
    return trace, trace[16:]


def _address() -> str:
    whole = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    return whole or (f"{base.rstrip('/')}/v1/traces" if base else "")


def _headers() -> dict[str, str]:
    given = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_HEADERS") or os.environ.get(
        "OTEL_EXPORTER_OTLP_HEADERS", ""
    )
    pairs = (each.partition("=") for each in given.split(",") if "=" in each)
    return {name.strip(): urllib.parse.unquote(value.strip()) for name, _, value in pairs}


def header_secrets() -> list[str]:
    """The tokens with which spans are sent."""
    values = _headers().values()
    return [each for value in values for each in (value, value.partition(" ")[2]) if len(each) > 7]


class _Exporter:
    """The spans of one run, in OTLP as JSON."""

    def __init__(self, run: Run, url: str):
        self._run, self._url = run, url
        self._begun: dict[tuple[str, object], int] = {}
        self._spans: deque[dict[str, Any]] = deque(maxlen=_SPANS_MAX)
        self._lock = threading.Lock()

    def observe(self, name: str, key: object, fields: dict[str, Any]) -> None:
        ending = next((each for each in _ENDS if name.endswith(each)), "")
        kind = name.removesuffix(ending)
        with self._lock:
            if ending == "_started":
                self._begun[kind, key] = time.time_ns()
            elif ending:
                start = self._begun.pop((kind, key), time.time_ns())
                self._spans.append(self._span(kind, start, ending == "_failed", fields))

    def _span(self, kind: str, start: int, is_failed: bool, fields: dict[str, Any]) -> Any:
        trace, parent = trace_of(self._run)
        own = fields.get("method_name") or fields.get("flow_name")
        texts = {name: str(value)[:_TEXT_CHARACTERS_MAX] for name, value in fields.items()}
        attributes = {"kickoff_id": self._run.id, **texts}
        return {
            "traceId": trace,
            "spanId": secrets.token_hex(8),
            "parentSpanId": parent,
            "name": f"{kind} {own}" if own else kind,
            "kind": 1,
            "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(time.time_ns()),
            "attributes": [_attribute(*each) for each in attributes.items()],
            "status": {"code": 2, "message": texts.get("error", "")} if is_failed else {},
        }

    def send(self) -> None:
        with self._lock:
            spans = list(self._spans)
            self._spans.clear()
        if not spans:
            return
        name = os.environ.get("OTEL_SERVICE_NAME") or self._run.crew
        scope = {"scope": {"name": "crew-runtime"}, "spans": spans}
        resource = {"attributes": [_attribute("service.name", name)]}
        body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})
        headers = {**_headers(), "content-type": "application/json"}
        request = urllib.request.Request(self._url, data=body.encode(), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                response.read()
        except (OSError, urllib.error.URLError) as error:
            print(f"{len(spans)} spans were not sent to {self._url}: {error}.", file=sys.stderr)


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}
