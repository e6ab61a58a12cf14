"""Makes a step of each task."""

import contextvars
import functools
import itertools
import threading
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ..run import Place, Run, TaskReport
from ..steps import OpenStep, Step, Unrecorded
from .codec import decode, encode
from .wrapping import Method, wrap_method

_ARTIFACT_BYTES_MAX = 4_194_304
_going_on: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "tasks", default=frozenset()
)
_places: dict[str, Place] = {}


def connect(run: Run) -> None:
    """Lets all tasks report to a run."""
    from crewai import Task

    names = _Names()
    wrap_method(Task, "_execute_core", lambda method: _sync(run, names, method))
    wrap_method(Task, "_aexecute_core", lambda method: _async(run, names, method))


def place_of(task: Any) -> Place | None:
    """Where a task of CrewAI is reported, if it goes on."""
    return _places.get(str(getattr(task, "id", "")))


class _Names:
    """The names of tasks, each of which is given once at a time."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def use(self, name: str) -> Iterator[str]:
        with self._lock:
            tries = itertools.chain([name], (f"{name} #{n}" for n in itertools.count(2)))
            free = next(each for each in tries if each not in self._taken)
            self._taken.add(free)
        try:
            yield free
        finally:
            with self._lock:
                self._taken.discard(free)


def _sync(run: Run, names: _Names, method: Method) -> Method:
    @functools.wraps(method)
    def execute(self: Any, agent: Any, context: Any, tools: Any) -> Any:
        if id(self) in _going_on.get():
            return method(self, agent, context, tools)
        agent = agent or self.agent
        with names.use(_key_of(self, agent)) as key:
            place = Place(key, _role(agent))

            def act(_: OpenStep) -> Any:
                with _reported(run, self, place) as report:
                    output = method(self, agent, context, tools)
                    _conclude(run, report, self, output)
                    return output

            output = run.steps.perform(_step(self, place), act)
            return _kept(run, self, agent, output)

    return execute


def _async(run: Run, names: _Names, method: Method) -> Method:
    @functools.wraps(method)
    async def execute(self: Any, agent: Any, context: Any, tools: Any) -> Any:
        if id(self) in _going_on.get():
            return await method(self, agent, context, tools)
        agent = agent or self.agent
        with names.use(_key_of(self, agent)) as key:
            place = Place(key, _role(agent))

            async def act(_: OpenStep) -> Any:
                with _reported(run, self, place) as report:
                    output = await _awaited(method(self, agent, context, tools))
                    _conclude(run, report, self, output)
                    return output

            output = await run.steps.aperform(_step(self, place), act)
            return _kept(run, self, agent, output)

    return execute


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _step(task: Any, place: Place) -> Step:
    return Step(
        "task", (place.task,), place.task, encode=_encode, decode=lambda given: _decode(task, given)
    )


def _key_of(task: Any, agent: Any) -> str:
    name = getattr(task, "name", None)
    if isinstance(name, str) and name:
        return name
    tasks = getattr(getattr(agent, "crew", None), "tasks", None) or []
    numbers = [number for number, each in enumerate(tasks, 1) if each is task]
    return f"task {numbers[0]}" if numbers else "task"


def _role(agent: Any) -> str:
    role = getattr(agent, "role", None)
    return role.strip() if isinstance(role, str) and role.strip() else "agent"


@contextmanager
def _reported(run: Run, task: Any, place: Place) -> Iterator[TaskReport]:
    token = _going_on.set(_going_on.get() | {id(task)})
    _places[str(task.id)] = place
    try:
        with run.task(place, place.agent, str(task.description)) as report:
            yield report
    finally:
        _places.pop(str(task.id), None)
        _going_on.reset(token)


def _conclude(run: Run, report: TaskReport, task: Any, output: Any) -> None:
    """Reports what a task has put out, and the file that it has written."""
    name = getattr(task, "output_file", None)
    if name:
        path = Path(str(name))
        if path.is_file() and path.stat().st_size <= _ARTIFACT_BYTES_MAX:
            run.artifacts.add(str(path))
            run.artifact(path.name, path.read_text("utf-8", "replace"))
    report.finish(str(getattr(output, "raw", output)))


def _encode(output: Any) -> Any:
    parsed = encode(output.pydantic) if output.pydantic is not None else None
    return {
        "raw": output.raw,
        "json": output.json_dict,
        "pydantic": parsed,
        "agent": output.agent,
        "format": output.output_format.value,
    }


def _decode(task: Any, recorded: Any) -> Any:
    if not isinstance(recorded, dict) or not isinstance(recorded.get("raw"), str):
        raise Unrecorded
    from crewai.tasks.task_output import TaskOutput

    parsed = recorded.get("pydantic")
    try:
        return TaskOutput(
            description=task.description,
            name=task.name or task.description,
            expected_output=task.expected_output,
            raw=recorded["raw"],
            json_dict=recorded.get("json"),
            pydantic=decode(parsed, task.output_pydantic) if parsed is not None else None,
            agent=str(recorded.get("agent")),
            output_format=recorded.get("format", "raw"),
        )
    except ValueError as error:
        raise Unrecorded from error


def _kept(run: Run, task: Any, agent: Any, output: Any) -> Any:
    """Gives a task its output, of which CrewAI takes the context of others."""
    if task.output is not output:
        task.agent, task.output = agent, output
        task.end_time = datetime.now()
        if task.output_file:
            run.artifacts.add(str(Path(task.output_file)))
            task._save_file(output.json_dict or output.raw)
    return output
