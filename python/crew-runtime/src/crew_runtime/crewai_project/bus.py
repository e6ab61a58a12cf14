"""Follows CrewAI's event bus.

Handlers of the bus run in threads of their own, in any order, and know nothing of who emitted. So
its `emit` is followed instead, in the thread and at the moment of the event.
"""

import functools
import itertools
from typing import Any

from .. import spans
from ..channel import excerpt
from ..run import Run
from .llm_calls import hear, hear_text
from .wrapping import Method, wrap_method

# What the contract has no word for is reported as it is called there.
_OF_FLOWS = ("flow_", "method_execution_")
_REPORTED = (
    *_OF_FLOWS,
    "knowledge_",
    "memory_",
    "llm_guardrail_",
    "agent_reasoning_",
    "mcp_",
    "a2a_",
    "skill_",
)
_EVENTS_MAX = 1000
_TEXT_CHARACTERS_MAX = 2000
_LEFT_OUT = {"type", "timestamp", "event_id", "emission_sequence", "source_fingerprint"}


def connect(run: Run) -> None:
    """Lets what happens in CrewAI be reported to a run."""
    from crewai.events import crewai_event_bus

    numbers = itertools.count()

    def follow(source: Any, event: Any) -> None:
        name = str(getattr(event, "type", ""))
        if name == "llm_call_completed":
            said = {"response_id": getattr(event, "response_id", None)}
            said["finish_reason"] = getattr(event, "finish_reason", None)
            hear(getattr(event, "usage", None), **said)
        if name == "llm_stream_chunk" and not getattr(event, "tool_call", None):
            hear_text(run, getattr(event, "chunk", None))
        # Agents of newer versions are flows of CrewAI's own.
        is_inner = name.startswith(_OF_FLOWS) and type(source).__module__.startswith("crewai.")
        if name.startswith(_REPORTED) and not is_inner and next(numbers) < _EVENTS_MAX:
            fields = _fields(event)
            run.report(f"crewai_{name}", **fields)
            spans.observe(name, (id(source), fields.get("method_name")), fields)

    def wrap(method: Method) -> Method:
        @functools.wraps(method)
        def emit(self: Any, source: Any, event: Any, *args: Any, **kwargs: Any) -> Any:
            follow(source, event)
            return method(self, source, event, *args, **kwargs)

        return emit

    for name in ("emit", "aemit"):
        wrap_method(type(crewai_event_bus), name, wrap)


def _fields(event: Any) -> dict[str, Any]:
    """The short texts and the numbers of an event."""
    found = {}
    for name, value in vars(event).items():
        if name in _LEFT_OUT or name.endswith("_event_id") or name.endswith("_id"):
            continue
        if isinstance(value, (bool, int, float)):
            found[name] = value
        elif isinstance(value, str):
            found[name] = excerpt(value, _TEXT_CHARACTERS_MAX)
    return found
