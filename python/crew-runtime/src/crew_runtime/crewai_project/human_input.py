"""Lets a task with `human_input` wait for the decision of a person, instead of a terminal."""

import functools
import importlib
from typing import Any

from ..run import Run
from ..steps import OpenStep, Step, Unrecorded
from .wrapping import Method, wrap_method

# Where the executors of agents are, by version.
_EXECUTORS = (
    ("crewai.agents.crew_agent_executor", "CrewAgentExecutor"),
    ("crewai.agents.agent_executor", "AgentExecutor"),
    ("crewai.experimental.agent_executor", "AgentExecutor"),
)
_DECISIONS = {"approve", "edit", "reject"}


class Rejected(Exception):
    """A person has rejected the output of a task."""

    code = "approval_rejected"


def connect(run: Run) -> None:
    """Lets a run ask people."""
    for module, name in _EXECUTORS:
        try:
            executor = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
        wrap_method(executor, "_handle_human_feedback", lambda method: _sync(run, method))
        wrap_method(executor, "_ahandle_human_feedback", lambda method: _async(run, method))


def _sync(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    def ask(self: Any, answer: Any) -> Any:
        step, act = _describe(run, answer)
        return _decided(run, answer, run.steps.perform(step, act))

    return ask


def _async(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    async def ask(self: Any, answer: Any) -> Any:
        step, act = _describe(run, answer)

        async def wait(opened: OpenStep) -> Any:
            return act(opened)

        return _decided(run, answer, await run.steps.aperform(step, wait))

    return ask


def _describe(run: Run, answer: Any) -> tuple[Step, Any]:
    task = run.here().task
    output = answer.output if isinstance(answer.output, str) else answer.output.model_dump_json()
    request = {"task": task, "output": output}
    step = Step("approval", (task, "approval"), task, request=request, decode=_decode)
    return step, lambda opened: run.steps.ask(opened, task=task, output=output)


def _decode(recorded: Any) -> Any:
    if not isinstance(recorded, dict) or recorded.get("decision") not in _DECISIONS:
        raise Unrecorded
    return recorded


def _decided(run: Run, answer: Any, decision: dict[str, Any]) -> Any:
    text = decision.get("text")
    if decision["decision"] == "reject":
        why = f": {text}" if text else "."
        # Agents try again what raises an error.
        run.give_up(Rejected(f"The output of the task {run.here().task} was rejected{why}"))
    if decision["decision"] == "edit" and isinstance(text, str):
        answer.output = answer.text = text
    return answer
