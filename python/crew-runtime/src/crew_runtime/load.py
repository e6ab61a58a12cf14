"""Imports what a project has to run."""

import asyncio
import importlib
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .context import Context
from .project import Entrypoint, ProjectError, source_folders
from .run import Run

_INPUTS_MAX = 100
_NAME_MAX = 64
_DEFAULT_MAX = 1000


@dataclass(frozen=True)
class Crew:
    """Something that performs runs."""

    name: str
    inputs: tuple[str, ...]
    """The names of those that each run needs."""
    perform: Callable[[Run], Any]
    optional: tuple[dict[str, Any], ...] = ()
    """Those with a default: `name`, and `default` where it is JSON."""


def load_crew(entrypoint: Entrypoint) -> Crew:
    """Imports a project's crew. Raises ProjectError, and whatever the import raises."""
    for folder in reversed(source_folders(entrypoint.project)):
        sys.path.insert(0, str(folder))
    if entrypoint.file:
        return _of_file(entrypoint)
    module = importlib.import_module(entrypoint.module)
    found: Any = module
    for part in entrypoint.name.split("."):
        if not hasattr(found, part):
            names = [name for name in vars(module) if not name.startswith("_")]
            raise ProjectError(
                f"{entrypoint.module} has no {entrypoint.name}; it has: "
                f"{', '.join(sorted(names)[:20]) or 'nothing'}. Correct the entrypoint."
            )
        found = getattr(found, part)
    return _of_object(found, entrypoint)


def output_of(result: Any) -> str:
    """The text of what a crew returned."""
    raw = getattr(result, "raw", result)
    if raw is None or isinstance(raw, str):
        return raw or ""
    if hasattr(raw, "model_dump_json"):
        return str(raw.model_dump_json())
    try:
        return json.dumps(raw, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(raw)


def _of_file(entrypoint: Entrypoint) -> Crew:
    try:
        from crewai.project.crew_loader import load_crew as load_file
    except ImportError as error:
        raise ProjectError(
            f"{entrypoint} needs CrewAI 1.15 or newer ({error}). Name it among the dependencies "
            "of the project."
        ) from error
    crew, defaults = load_file(entrypoint.file)
    named = [name for name in _placeholders(crew) if name not in defaults]
    needs = _Needs(tuple(named), dict(defaults))
    return _of_crewai(crew, entrypoint, needs, dict(defaults))


def _of_object(found: Any, entrypoint: Entrypoint) -> Crew:
    if inspect.isclass(found):
        if not getattr(found, "is_crew_class", False) and not hasattr(found, "kickoff"):
            raise ProjectError(
                f"{entrypoint} is a class with neither @CrewBase nor a method kickoff. Name a "
                "function, a crew or a flow."
            )
        found = found()
    if getattr(found, "is_crew_class", False) and hasattr(found, "crew"):
        found = found.crew()
    if callable(found) and not hasattr(found, "kickoff"):
        return _of_function(found, entrypoint)
    if not hasattr(found, "kickoff"):
        raise ProjectError(
            f"{entrypoint} is of the type {type(found).__name__}: name a function, a crew or a "
            "flow."
        )
    if hasattr(found, "fetch_inputs"):
        return _of_crewai(found, entrypoint, _Needs(_placeholders(found), {}), {})
    return _of_crewai(found, entrypoint, _needs_of_flow(found), {})


@dataclass(frozen=True)
class _Needs:
    """The inputs that a crew needs, and those that it has defaults for."""

    required: tuple[str, ...]
    defaults: dict[str, Any]

    def optional(self) -> tuple[dict[str, Any], ...]:
        shown = [
            {"name": name, **_shown(default)}
            for name, default in self.defaults.items()
            if isinstance(name, str) and name.isidentifier() and len(name) <= _NAME_MAX
        ]
        return tuple(shown[: max(0, _INPUTS_MAX - len(self.required))])


def _shown(default: Any) -> dict[str, Any]:
    # To leave an input out says the same as None, which no caller may give.
    if default is None:
        return {}
    try:
        text = json.dumps(default, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return {}
    return {"default": json.loads(text)} if len(text) <= _DEFAULT_MAX else {}


def _of_crewai(
    crew: Any, entrypoint: Entrypoint, needs: _Needs, defaults: dict[str, Any]
) -> Crew:
    def perform(run: Run) -> Any:
        return crew.kickoff(inputs={**defaults, **run.inputs})

    name = getattr(crew, "name", None)
    given = name if isinstance(name, str) and name not in ("", "crew") else ""
    shown = given or entrypoint.name or entrypoint.project.resolve().name
    if entrypoint.inputs:
        return Crew(shown, entrypoint.inputs, perform)
    return Crew(shown, needs.required, perform, needs.optional())


def _of_function(function: Callable[..., Any], entrypoint: Entrypoint) -> Crew:
    wanted = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    if not wanted or len([each for each in wanted if each.default is each.empty]) > 2:
        raise ProjectError(
            f"{entrypoint} takes {len(wanted)} arguments. A function that is run takes the "
            "inputs, an object by name, and perhaps the context: def run(inputs, context)."
        )

    def perform(run: Run) -> Any:
        given = [run.inputs, Context(run)][: len(wanted)]
        result = function(*given)
        return asyncio.run(_await(result)) if inspect.isawaitable(result) else result

    name = entrypoint.project.resolve().name if entrypoint.name in ("run", "main") else ""
    return Crew(name or entrypoint.name, entrypoint.inputs, perform)


async def _await(awaitable: Any) -> Any:
    return await awaitable


def _placeholders(crew: Any) -> tuple[str, ...]:
    return tuple(sorted(crew.fetch_inputs()))


def _needs_of_flow(flow: Any) -> _Needs:
    """What a flow's state has no value for is needed; all else has a default."""
    state = getattr(flow, "state", None)
    if isinstance(state, dict):
        return _Needs((), {name: state[name] for name in state if name != "id"})
    fields = getattr(type(state), "model_fields", None)
    if fields is None:
        fields = getattr(getattr(flow, "_initial_state_t", None), "model_fields", {})
    required = [
        name for name, field in fields.items() if field.is_required() and not hasattr(state, name)
    ]
    others = {
        name: _default_of(state, name, field)
        for name, field in fields.items()
        if name not in required and name != "id"
    }
    return _Needs(tuple(required), others)


def _default_of(state: Any, name: str, field: Any) -> Any:
    # What a factory made may be of this moment, such as a time.
    return None if field.default_factory else getattr(state, name, field.default)
