"""The process that performs one run, or that looks once at what a project has to run.

It takes lines of JSON from its standard input and writes lines of JSON to its standard output;
what a project prints goes to standard error.
"""

import importlib
import importlib.util
import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import spans
from .artifacts import report_files
from .channel import Channel, WorkerGone
from .files import place_files
from .load import load_crew, output_of
from .network import close_network
from .project import Entrypoint, ProjectError, find_entrypoint
from .pyproject import load_variables
from .redact import secrets_of
from .run import Run, set_run
from .steps import Steps

_MODULES_MAX = 200
_PLACEHOLDER = "handed-over-with-each-run"


def main() -> None:
    """Begins the process; its argument is JSON."""
    order = json.loads(sys.argv[1])
    lines, out = _take_streams()
    load_variables(Path(order["project"]))
    if order["task"] == "look":
        look(order, out)
    preload(order.get("modules", []))
    first = next(lines, b"")
    if not first:
        _exit(0)
    perform(json.loads(first), order, lines, out)


def _take_streams() -> tuple[Iterator[bytes], int]:
    """Keeps the project from reading and writing where the run's lines are."""
    out, given = os.dup(1), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    sys.stdin = os.fdopen(0, "r")
    return iter(given.readline, b""), out


def preload(modules: list[str]) -> None:
    """Imports what the project is going to import anyway, before there is a run."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            # The project's own import says what is wrong, if it still matters.
            continue


def look(order: dict[str, Any], out: int) -> None:
    """Imports the project once, and writes what it found, or why it cannot be run."""
    try:
        has_key = "OPENAI_API_KEY" in os.environ
        if not has_key:
            os.environ["OPENAI_API_KEY"] = _PLACEHOLDER
        prepare(None)
        found = _find(order)
        crew = load_crew(found)
        told = {
            "entrypoint": str(found),
            "name": crew.name,
            "inputs": list(crew.inputs),
            "optional": list(crew.optional),
            "modules": _libraries(Path(order["project"])),
        }
    except BaseException as error:
        if not isinstance(error, ProjectError):
            _print_error(error)
        told = {"problem": explain(error)}
    os.write(out, json.dumps(told).encode() + b"\n")
    _exit(0)


def _find(order: dict[str, Any]) -> Entrypoint:
    return find_entrypoint(Path(order["project"]), order.get("entrypoint", ""))


def explain(error: BaseException) -> str:
    """Why a project cannot be run, and what to do."""
    if isinstance(error, ProjectError):
        return str(error)
    name, said = type(error).__name__, str(error) or "no message"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"The project imports {error.name}, which is not installed: {said}. Add it to the "
            "dependencies in pyproject.toml, or correct the import."
        )
    if isinstance(error, SyntaxError):
        place = f"{error.filename}, line {error.lineno}"
        return f"{place} is not valid Python: {error.msg}. Correct it."
    if isinstance(error, SystemExit):
        return f"The project ends the program while it is imported: exit {error.code}."
    return f"The project cannot be imported: {name}: {said}. The lines above say where."


def _libraries(project: Path) -> list[str]:
    """The packages outside of the project that its import has loaded."""
    own = str(project.resolve())
    found = []
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None) or ""
        is_package = "." not in name and "site-packages" in origin
        if is_package and not os.path.realpath(origin).startswith(own):
            found.append(name)
    return sorted(found)[:_MODULES_MAX]


def prepare(run: Run | None) -> None:
    """Connects CrewAI, if it is installed, with the run."""
    if importlib.util.find_spec("crewai"):
        from .crewai_project import connect

        connect(run)


def perform(
    kickoff: dict[str, Any], order: dict[str, Any], lines: Iterator[bytes], out: int
) -> None:
    """Performs a run, and ends the process."""
    channel = Channel(out, [*secrets_of(kickoff), *spans.header_secrets()])
    steps = Steps(channel, kickoff, lambda: _hand_over(channel, steps))
    run = Run(kickoff, channel, steps, order["name"])
    run.give_up = steps.give_up = lambda error: _give_up(run, error)

    def hear(said: dict[str, Any]) -> None:
        if "connections" in said:
            run.renew(said["connections"])
        if said.get("stopping"):
            channel.write("crew_stopping")
            channel.is_stopping = steps.is_journaled or steps.is_replay
        if channel.is_stopping:
            steps.stop()

    def listen() -> None:
        channel.listen(lines, hear)
        _exit(0)

    channel.write("crew_started", crew=run.crew)
    threading.Thread(target=listen, daemon=True).start()
    set_run(run)
    _set_model_variables(run)
    if steps.is_replay:
        close_network(steps.model_urls, steps.is_asking)
    else:
        spans.begin(run)
    try:
        run.inputs = place_files(kickoff)
        prepare(run)
        crew = load_crew(_find(order))
        output = output_of(crew.perform(run))
        report_files(run)
        run.complete(output)
    except WorkerGone:
        pass
    except BaseException as error:
        _print_error(error)
        _give_up(run, error)
    spans.end()
    _exit(0)


def _give_up(run: Run, error: BaseException) -> None:
    try:
        run.fail(error)
    except WorkerGone:
        pass
    spans.end()
    _exit(0)


def _print_error(error: BaseException) -> None:
    traceback.print_exception(type(error), error, error.__traceback__)


def _set_model_variables(run: Run) -> None:
    """Lets libraries that know nothing of the run find its model, if there is one."""
    endpoints = run.endpoints()
    if len(set(endpoints.values())) != 1 or "OPENAI_API_KEY" in os.environ:
        return
    [endpoint] = set(endpoints.values())
    os.environ["OPENAI_API_KEY"] = endpoint.api_key or "none"
    os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"] = endpoint.base_url
    if len(endpoints) == 1 and not _names_model():
        os.environ["MODEL"] = next(iter(endpoints))


def _names_model() -> bool:
    return any(os.environ.get(name) for name in ("MODEL", "MODEL_NAME", "OPENAI_MODEL_NAME"))


_handing = threading.Lock()


def _hand_over(channel: Channel, steps: Steps) -> None:
    """Ends the attempt in a thread of its own: the one that hears acks may be who asks for it."""
    if _handing.acquire(blocking=False):
        threading.Thread(target=_end_early, args=(channel, steps), daemon=True).start()


def _end_early(channel: Channel, steps: Steps) -> None:
    end = {"type": "approval_requested", **steps.asked} if steps.asked else {"type": "handed_over"}
    try:
        channel.wait(channel.end(**end), 10)
    except WorkerGone:
        pass
    spans.end()
    _exit(0)


def _exit(code: int) -> None:
    """Ends the process whatever threads a project has left."""
    sys.stdout.flush()
    sys.stderr.flush()
    # What was written a moment ago is read before the pipe is closed.
    time.sleep(0)
    os._exit(code)


if __name__ == "__main__":
    main()
