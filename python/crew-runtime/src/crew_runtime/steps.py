"""The steps of one attempt at a run: what is finished is not done again by the next attempt."""

import asyncio
import contextvars
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .channel import Channel
from .failures import ApprovalUnsupported, failure
from .record import Record, recorded_error
from .step_key import idempotency_key, step_base, step_key
from .step_request import kept
from .usage import Usage

_RESULT_CHARACTERS_MAX = 6_000_000
_FAILURES_MAX = 20
_current: contextvars.ContextVar["OpenStep | None"] = contextvars.ContextVar("step", default=None)


class Unrecorded(Exception):
    """A result has no JSON, or a recorded one has another shape: the step is done again."""


def _as_is(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Step:
    """What a step is: its kind, its path without what tells repetitions apart, and its codec."""

    kind: str
    path: tuple[str, ...]
    name: str
    input: Any = None
    estimate: dict[str, int] | None = None
    request: dict[str, Any] | None = None
    """All that a model, a tool or a person is asked, as plain JSON: a replay answers by it. None
    for what asks nobody but by steps of its own."""
    encode: Callable[[Any], Any] = _as_is
    """Makes JSON of a result, or raises Unrecorded."""
    decode: Callable[[Any], Any] = _as_is
    """Makes a result of JSON, or raises Unrecorded."""


@dataclass(eq=False)
class OpenStep:
    """A step that goes on: the means of its act."""

    key: str
    kind: str
    parent: "OpenStep | None"
    idempotency_key: str
    usage: Usage = field(default_factory=Usage)
    service_tier: str | None = None
    """By which a call of a model was billed, where that was not the usual one."""
    is_parked: bool = False
    is_asked: bool = False
    """A model that a replay asks."""

    def used(self) -> dict[str, Any]:
        """The usage of the step, as it is reported."""
        tier = {"service_tier": self.service_tier} if self.service_tier else {}
        return {**self.usage.to_json(), **tier}


class Steps:
    """The steps of one attempt."""

    def __init__(self, channel: Channel, kickoff: dict[str, Any], hand_over: Callable[[], None]):
        self.is_replay = "replay" in kickoff
        self.is_journaled = "journal" in kickoff and not self.is_replay
        self.usage = Usage()
        self._channel = channel
        self._run_id = kickoff["kickoff_id"]
        self._base = step_base(kickoff.get("version", 0), kickoff["inputs"])
        self._recorded = {each["step"]: each for each in kickoff.get("journal", [])}
        self._hand_over = hand_over
        self._counts: dict[tuple[str, ...], int] = {}
        self._open: set[OpenStep] = set()
        self._lock = threading.Lock()
        self._record = Record(channel, kickoff) if self.is_replay else None
        self._failures: dict[str, list[dict[str, str]]] = {}
        self.asked: dict[str, Any] | None = None
        """What a person is asked at the end of this attempt."""
        self.give_up: Callable[[BaseException], None] = _raise
        """Fails the run and ends its process."""

    def perform(self, step: Step, act: Callable[[OpenStep], Any]) -> Any:
        """Returns the recorded result, or else acts and records what comes out."""
        path, key = self._place(step)
        self._hold(step, key)
        is_known, result = self._recall(step, path, key)
        if is_known:
            return result
        with self._opened(step, path, key) as opened:
            self._begin(step, path, opened)
            result = act(opened)
            self._finish(step, opened, result)
            return result

    async def aperform(self, step: Step, act: Callable[[OpenStep], Awaitable[Any]]) -> Any:
        """The same for what is awaited."""
        path, key = self._place(step)
        if self._channel.is_stopping:
            await asyncio.to_thread(self._hold, step, key)
        is_known, result = self._recall(step, path, key)
        if is_known:
            return result
        with self._opened(step, path, key) as opened:
            await asyncio.to_thread(self._begin, step, path, opened)
            result = await act(opened)
            self._finish(step, opened, result)
            return result

    def use(self, step: OpenStep | None, usage: Usage) -> None:
        """Counts tokens for the run, for a step and for those that it is a part of."""
        with self._lock:
            self.usage.add(usage)
            while step:
                step.usage.add(usage)
                step = step.parent

    def ask(self, opened: OpenStep, **asked: Any) -> None:
        """Ends the attempt in the act of an approval: the next one finds the decision.

        Acts that go on end before. Raises where the worker keeps no journal.
        """
        if not self.is_journaled:
            raise ApprovalUnsupported
        self.asked = {"step": opened.key, **asked}
        self._channel.is_stopping = True
        self._park_if_stopping(opened)

    @property
    def model_urls(self) -> list[str]:
        """Where a live replay asks models."""
        return self._record.model_urls if self._record else []

    def is_asking(self) -> bool:
        """Whether a model of a replay is being asked."""
        return any(step.is_asked for step in [*self._open])

    def stop(self) -> None:
        """Ends the attempt if it waits for nothing but steps that may not begin."""
        with self._lock:
            is_idle = self._is_idle()
        if is_idle:
            self._hand_over()

    def _place(self, step: Step) -> tuple[list[str], str]:
        """The path and the key of a step; a number tells apart those of the same path."""
        with self._lock:
            count = self._counts.get(step.path, 0)
            self._counts[step.path] = count + 1
        path = self._path(step, count)
        return path, step_key(self._base, path)

    def _give_back(self, step: Step, path: list[str]) -> None:
        """Lets a retry of a step that failed be the same step, as it is in a new attempt."""
        with self._lock:
            if path == self._path(step, self._counts[step.path] - 1):
                self._counts[step.path] -= 1

    def _path(self, step: Step, count: int) -> list[str]:
        is_first_task = step.kind == "task" and count == 0
        return [*step.path] if is_first_task else [*step.path, str(count)]

    def _recall(self, step: Step, path: list[str], key: str) -> tuple[bool, Any]:
        if self._record:
            return self._answer(self._record, step, path)
        known = self._recorded.get(key)
        if known is None:
            return False, None
        try:
            result = step.decode(known.get("result"))
        except Unrecorded:
            return False, None
        self.use(_current.get(), Usage.of(known.get("usage") or {}))
        return True, result

    def _answer(self, record: Record, step: Step, path: list[str]) -> tuple[bool, Any]:
        """Takes the answer of a step from the record of the run that is performed again."""
        if step.request is None:
            return False, None
        request = self._channel.redacted(step.request)
        found = record.answer(step.kind, path, request)
        if found is None and record.may_ask(step.kind, step.name):
            return False, None
        if found is None:
            # Not only raised: agents try again what raises an error.
            self.give_up(record.diverge(step.kind, step.name, path, request))
            raise AssertionError("the process has ended")
        self.use(_current.get(), Usage.of(found.get("usage") or {}))
        if "error" in found:
            self._give_back(step, path)
            raise recorded_error(found["error"])
        return True, step.decode(found.get("result"))

    @contextmanager
    def _opened(self, step: Step, path: list[str], key: str) -> Iterator[OpenStep]:
        opened = OpenStep(key, step.kind, _current.get(), idempotency_key(self._run_id, key))
        with self._lock:
            self._open.add(opened)
        token = _current.set(opened)
        try:
            yield opened
        except Exception as error:
            self._fail(opened, error)
            self._give_back(step, path)
            raise
        finally:
            _current.reset(token)
            with self._lock:
                self._open.discard(opened)
            if self._channel.is_stopping:
                self.stop()

    def _begin(self, step: Step, path: list[str], opened: OpenStep) -> None:
        """Reports that a step begins, and waits until it may act."""
        if self._record and step.request is not None:
            self._ask(self._record, step, path, opened)
        if not self.is_journaled:
            return
        self._park_if_stopping(opened)
        above = opened.parent.key if opened.parent else None
        facts = {"kind": step.kind, "name": step.name, "path": path, "parent": above}
        request = kept(step.request) if step.request else None
        given = {"input": step.input, "estimate": step.estimate, "request": request}
        seq = self._channel.write("step_started", step=opened.key, **facts, **given)
        # What a task does waits for starts of its own, which come after the task's.
        if step.kind != "task":
            self._channel.wait(seq)
            self._park_if_stopping(opened)

    def _ask(self, record: Record, step: Step, path: list[str], opened: OpenStep) -> None:
        """Lets a model be asked in a replay, once the worker has kept tokens for it."""
        request = self._channel.redacted(step.request)
        asked = {"kind": step.kind, "name": step.name, "path": path, "request": request}
        self._channel.wait(record.ask(step=opened.key, estimate=step.estimate, **asked))
        self._park_if_stopping(opened)
        opened.is_asked = True

    def _hold(self, step: Step, key: str) -> None:
        """Lets nothing of a replay begin that is to be handed over."""
        if not self._record or not self._channel.is_stopping:
            return
        parked = OpenStep(key, step.kind, _current.get(), "")
        with self._lock:
            self._open.add(parked)
        self._park_if_stopping(parked)

    def _park_if_stopping(self, opened: OpenStep) -> None:
        """Keeps a step from acting, for good: the process ends once nothing else acts."""
        if not self._channel.is_stopping:
            return
        with self._lock:
            opened.is_parked = True
        self.stop()
        threading.Event().wait()

    def _is_idle(self) -> bool:
        with_parts = {step.parent for step in self._open}
        return any(step.is_parked for step in self._open) and all(
            step.is_parked or step.kind == "task" or step in with_parts for step in self._open
        )

    def _finish(self, step: Step, opened: OpenStep, result: Any) -> None:
        if not self.is_journaled:
            return
        try:
            recorded = step.encode(result)
            length = len(json.dumps(recorded))
        except (Unrecorded, TypeError, ValueError):
            recorded, length = {"unrecorded": type(result).__name__}, 0
        if length > _RESULT_CHARACTERS_MAX:
            raise ValueError(
                f"The result of {step.name} has {length} characters as JSON; the most is "
                f"{_RESULT_CHARACTERS_MAX}. Let it return less."
            )
        failures = self._failures.pop(opened.key, None)
        if failures and isinstance(recorded, dict):
            # A replay fails as often before it answers.
            recorded = {**recorded, "failures": failures[:_FAILURES_MAX]}
        usage = opened.used()
        self._channel.write("step_finished", step=opened.key, result=recorded, usage=usage)

    def _fail(self, opened: OpenStep, error: Exception) -> None:
        if not self.is_journaled:
            return
        self._failures.setdefault(opened.key, []).append(failure(error))
        usage = opened.usage
        paid = opened.used() if usage.input_tokens + usage.output_tokens else None
        self._channel.write("step_failed", step=opened.key, error=failure(error), usage=paid)


def _raise(error: BaseException) -> None:
    raise error


def current_step() -> OpenStep | None:
    """The step that goes on here."""
    return _current.get()
