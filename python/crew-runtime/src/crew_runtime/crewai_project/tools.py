"""Makes a step of each call of a tool."""

import contextvars
import functools
import json
from dataclasses import dataclass
from typing import Any

from ..channel import excerpt, now
from ..run import Run
from ..step_key import digest
from ..step_request import plain
from ..steps import OpenStep, Step
from .codec import decode, encode
from .wrapping import Method, wrap_methods

_using: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
    "tools", default=frozenset()
)
_NOT_ARGUMENTS = {"config", "security_context"}


def connect(run: Run) -> None:
    """Lets all tools report to a run."""
    from crewai.tools import BaseTool
    from crewai.tools.structured_tool import CrewStructuredTool

    def sync(method: Method) -> Method:
        return _sync(run, method)

    def later(method: Method) -> Method:
        return _async(run, method)

    wrap_methods(BaseTool, {"run": sync, "arun": later})
    wrap_methods(CrewStructuredTool, {"invoke": sync, "ainvoke": later})


@dataclass(frozen=True)
class _Call:
    run: Run
    name: str
    arguments: str
    step: Step

    def report(self, opened: OpenStep, started_at: str, **ended: Any) -> None:
        fields = {"name": self.name, "arguments": excerpt(self.arguments)}
        self.run.report_tool(opened, **fields, started_at=started_at, **ended)


def _sync(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    def use(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _identity(self) in _using.get():
            return method(self, *args, **kwargs)
        call = _describe(run, self, args, kwargs)

        def act(opened: OpenStep) -> Any:
            token = _using.set(_using.get() | {_identity(self)})
            started_at = now()
            try:
                result = method(self, *args, **kwargs)
            except Exception as error:
                call.report(opened, started_at, error=_failure(error))
                raise
            finally:
                _using.reset(token)
            call.report(opened, started_at, result=excerpt(str(result)))
            return result

        return run.steps.perform(call.step, act)

    return use


def _async(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    async def use(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _identity(self) in _using.get():
            return await method(self, *args, **kwargs)
        call = _describe(run, self, args, kwargs)

        async def act(opened: OpenStep) -> Any:
            token = _using.set(_using.get() | {_identity(self)})
            started_at = now()
            try:
                result = await method(self, *args, **kwargs)
            except Exception as error:
                call.report(opened, started_at, error=_failure(error))
                raise
            finally:
                _using.reset(token)
            call.report(opened, started_at, result=excerpt(str(result)))
            return result

        return await run.steps.aperform(call.step, act)

    return use


def _identity(tool: Any) -> str:
    """The same for a tool and for its other form, one of which calls the other."""
    return str(getattr(tool, "name", type(tool).__name__))


def _failure(error: Exception) -> dict[str, str]:
    return {"code": "tool_failed", "message": excerpt(str(error) or type(error).__name__, 4000)}


def _describe(run: Run, tool: Any, args: Any, kwargs: Any) -> _Call:
    given: Any = {key: each for key, each in kwargs.items() if key not in _NOT_ARGUMENTS}
    if args:
        given = {**given, "": list(args)}
    if set(given) == {"input"} and isinstance(given["input"], (dict, str)):
        given = given["input"]
    arguments = json.dumps(given, default=str, ensure_ascii=False, sort_keys=True)
    name, place = _identity(tool), run.here()
    path = (place.task, place.agent, "tool", name, digest(arguments)[:16])
    request = None if _delegates(tool) else {"tool": name, "arguments": plain(given)}
    shown = excerpt(arguments)
    step = Step("tool", path, name, shown, request=request, encode=encode, decode=decode)
    return _Call(run, name, arguments, step)


def _delegates(tool: Any) -> bool:
    """Whether a tool has another agent work, whose steps a replay compares one by one."""
    from crewai.tools.agent_tools.base_agent_tools import BaseAgentTool

    made_of = getattr(getattr(tool, "func", None), "__self__", None)
    original = getattr(tool, "_original_tool", None)
    return any(isinstance(each, BaseAgentTool) for each in (tool, made_of, original))
