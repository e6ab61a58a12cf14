"""The run that this process performs: its inputs, what it was handed, and how it reports."""

import contextvars
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .channel import Channel, excerpt, now
from .failures import failure
from .messages import excerpts, to_message
from .redact import secrets_of
from .steps import OpenStep, Steps
from .tiers import tier_of
from .usage import Usage

_ARTIFACT_CHARACTERS_MAX = 1_048_576
_ACK_SECONDS = 30
# Most answers name one of them; it has the price of the model itself.
_USUAL_TIERS = {"default", "standard"}
_CONTRACT_TYPES = {
    "crew_started",
    "task_started",
    "llm_call",
    "tool_call",
    "task_completed",
    "artifact",
    "step_started",
    "step_finished",
    "step_failed",
    "crew_completed",
    "failed",
    "handed_over",
    "approval_requested",
    "crew_stopping",
    "heartbeat",
    "replay_answered",
    "replay_diverged",
}


@dataclass(frozen=True)
class Place:
    """The task and the agent that something is done for."""

    task: str
    agent: str


@dataclass(frozen=True)
class Endpoint:
    """Where a model is called, in the way of OpenAI's API."""

    base_url: str
    api_key: str | None
    service_tier: str | None = None
    """What a run of a batch asks for; a wish. None: the usual one."""


@dataclass(frozen=True)
class Connection:
    """The token of a connection. It is a secret: do not print it."""

    access_token: str
    header: str
    prefix: str

    @property
    def headers(self) -> dict[str, str]:
        """The header to send, with its value."""
        return {self.header: f"{self.prefix} {self.access_token}".strip()}

    def __repr__(self) -> str:
        return f"Connection(header={self.header!r})"


@dataclass(frozen=True)
class LlmCall:
    """What is said of a call of a model."""

    model: str
    provider: str
    base_url: str
    messages: list[dict[str, Any]]
    started_at: str
    answer: dict[str, Any] | None = None
    error: BaseException | None = None
    facts: dict[str, Any] | None = None
    """More of it: tokens, response_model, response_id, service_tier, refused_tier, finish_reason,
    attempts."""


class Run:
    """One attempt at a run."""

    def __init__(self, kickoff: dict[str, Any], channel: Channel, steps: Steps, crew: str):
        self.id: str = kickoff["kickoff_id"]
        self.inputs: dict[str, Any] = kickoff["inputs"]
        self.crew = crew
        self.give_up: Callable[[BaseException], None] = self.fail
        """Fails the run and ends its process."""
        self.channel = channel
        self.steps = steps
        self._models = kickoff.get("models") or {}
        self._connections = dict(kickoff.get("connections") or {})
        self.artifacts: set[str] = set()
        """The files that were added already, by their paths."""
        self._last: Place | None = None
        self._open: list[Place] = []
        self._whole: Place | None = None
        self._lock = threading.RLock()

    def endpoints(self) -> dict[str, Endpoint]:
        """The models that this run was handed, by name."""
        return {
            name: Endpoint(each["base_url"], each.get("api_key"), each.get("service_tier"))
            for name, each in self._models.items()
        }

    def connection(self, name: str) -> Connection:
        """The token of a connection, renewed before it ends. Raises KeyError."""
        if self.steps.is_replay:
            # Asking with it is a step, which is answered from the record.
            return Connection("", "Authorization", "Bearer")
        try:
            given = self._connections[name]
        except KeyError:
            names = ", ".join(sorted(self._connections)) or "none"
            raise KeyError(f"This run has no connection {name!r}; it has: {names}.") from None
        return Connection(
            given["access_token"],
            given.get("header", "Authorization"),
            given.get("prefix", "Bearer"),
        )

    def renew(self, connections: dict[str, Any]) -> None:
        """Takes new tokens for connections."""
        self.channel.keep_secret(secrets_of({"connections": connections}))
        self._connections.update(connections)

    @contextmanager
    def task(self, place: Place, role: str, description: str) -> Iterator["TaskReport"]:
        """Reports a task: its start, and its end with what is given to `finish`."""
        report = TaskReport(self, place)
        self.channel.write(
            "task_started",
            task=place.task,
            agent=place.agent,
            agent_role=role,
            description=excerpt(description),
            step=report.step,
        )
        self._open.append(place)
        token = _place.set(place)
        try:
            yield report
        finally:
            _place.reset(token)
            self._open.remove(place)
            self._last = place

    def here(self) -> Place:
        """The task and the agent that act here; without any, one that stands for the crew."""
        place = _place.get()
        if place:
            return place
        with self._lock:
            if len(self._open) == 1:
                return self._open[0]
            if not self._whole:
                self._whole = Place(self.crew, self.crew)
                self.channel.write(
                    "task_started",
                    task=self.crew,
                    agent=self.crew,
                    agent_role=self.crew,
                    description="",
                )
            return self._whole

    def complete(self, output: str) -> None:
        """Reports the end of a run that is done."""
        if self._whole:
            place = self._whole
            self.channel.write(
                "task_completed", task=place.task, agent=place.agent, output=excerpt(output)
            )
        usage = self.steps.usage.to_json()
        self._end("crew_completed", output=output, usage=usage)

    def fail(self, error: BaseException) -> None:
        """Reports the end of a run that failed."""
        self._end("failed", error=failure(error))

    def _end(self, type: str, **fields: Any) -> None:
        last = self.channel.end(type, **fields)
        if self.steps.is_journaled or self.steps.is_replay:
            self.channel.wait(last, _ACK_SECONDS)

    def report(self, type: str, **fields: Any) -> None:
        """Reports an event of the project's own, which is kept and shown as it is."""
        if type in _CONTRACT_TYPES:
            raise ValueError(f"Events of the type {type} are the runtime's. Choose another name.")
        self.channel.write(type, **fields)

    def artifact(self, name: str, content: str) -> None:
        """Adds a file to the run, of which the first MiB is kept."""
        task = (self._last if self._last and not self._open else self.here()).task
        self.channel.write(
            "artifact", task=task, name=name, content=content[:_ARTIFACT_CHARACTERS_MAX]
        )

    def report_llm(self, step: OpenStep, place: Place, call: LlmCall) -> None:
        """Reports a call of a model, and counts its tokens."""
        address = urlsplit(call.base_url)
        facts = {"attempts": 1, **(call.facts or {})}
        facts["service_tier"] = tier = tier_of(facts.get("service_tier"))
        self.channel.write(
            "llm_call",
            step=step.key if self.steps.is_journaled or self.steps.is_replay else None,
            parent=step.parent.key if step.parent and self.steps.is_journaled else None,
            task=place.task,
            agent=place.agent,
            request_model=call.model,
            provider=call.provider,
            server_address=address.hostname or "",
            server_port=address.port or (80 if address.scheme == "http" else 443),
            messages_in=excerpts(call.messages),
            messages_out=[to_message(call.answer)] if call.answer else [],
            started_at=call.started_at,
            ended_at=now(),
            error=failure(call.error) if call.error else None,
            **facts,
        )
        step.service_tier = None if tier in _USUAL_TIERS else tier
        self.steps.use(step, Usage.of(facts))

    def report_tool(self, step: OpenStep, **fields: Any) -> None:
        """Reports a call of a tool."""
        place = self.here()
        self.channel.write(
            "tool_call",
            step=step.key if self.steps.is_journaled else None,
            parent=step.parent.key if step.parent and self.steps.is_journaled else None,
            task=place.task,
            agent=place.agent,
            call_id=step.idempotency_key,
            ended_at=now(),
            **fields,
        )


class TaskReport:
    """A task that goes on."""

    def __init__(self, run: Run, place: Place):
        from .steps import current_step

        step = current_step()
        self._run, self._place = run, place
        is_step = step is not None and step.kind == "task" and run.steps.is_journaled
        self.step = step.key if step and is_step else None

    def finish(self, output: str) -> None:
        """Reports the end of the task."""
        place = self._place
        self._run.channel.write(
            "task_completed",
            task=place.task,
            agent=place.agent,
            output=excerpt(output),
            step=self.step,
        )


_place: contextvars.ContextVar[Place | None] = contextvars.ContextVar("place", default=None)
_run: Run | None = None


def set_run(run: Run) -> None:
    """Makes this the run of the process, which performs no other one."""
    global _run
    _run = run
    for name in run._connections:
        variable = "CREW_CONNECTION_" + "".join(c if c.isalnum() else "_" for c in name).upper()
        os.environ[variable] = run.connection(name).access_token


def current_run() -> Run:
    """The run of this process. Raises RuntimeError."""
    if _run is None:
        raise RuntimeError("No run goes on here: a kickoff begins one.")
    return _run
