"""The processes that perform runs: one for each, and one that waits for the next."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .project import ProjectError
from .settings import Settings

_PACKAGE_FOLDER = str(Path(__file__).resolve().parents[1])
# Without the working directory among the folders of modules.
_PROGRAM = (
    "import sys; sys.path[:] = [each for each in sys.path if each]; "
    f"sys.path.insert(0, {_PACKAGE_FOLDER!r}); "
    "from crew_runtime.run_process import main; main()"
)
_LOOK_SECONDS = 600
_LAST_LINES = 30
_KILL_SECONDS = 2
_LINE_BYTES_MAX = 16_384
# A self-hosted crew tells nobody what it does, unless it is told to.
_DEFAULTS = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "PYTHONUNBUFFERED": "1",
}


class RunProcess:
    """A process of a project, with a working directory of its own."""

    def __init__(self, order: dict[str, Any], name: str):
        self.name = name
        self.redact: Callable[[str], str] = lambda text: text
        self.last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._folder = _working_folder(Path(order["project"]))
        env = {**_DEFAULTS, **os.environ}
        env.pop("CREW_TOKEN", None)
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder,
            env=env,
            start_new_session=True,
        )
        self._writing = threading.Lock()
        self._ending = threading.Lock()
        self._log = threading.Thread(target=self._pass_log_on, daemon=True)
        self._log.start()

    @property
    def output(self) -> int:
        """The file descriptor of its events."""
        assert self._process.stdout
        return self._process.stdout.fileno()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def write(self, line: bytes) -> None:
        """Gives it a line; one that has ended hears nothing."""
        assert self._process.stdin
        with self._writing, contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line.rstrip(b"\r\n") + b"\n")
            self._process.stdin.flush()

    def kill(self) -> int:
        """Ends it and all that it has started, and returns its exit code."""
        with self._ending:
            code = self._wait(0)
            if code is None:
                self._signal(signal.SIGTERM)
                code = self._wait(_KILL_SECONDS)
            # Also the processes that it has left behind.
            self._signal(signal.SIGKILL)
            return self._process.wait() if code is None else code

    def end(self) -> str:
        """Ends it, removes what it had, and says how it ended; '' for an end in order.

        Only whoever reads its output may call this.
        """
        code = self.kill()
        self._log.join(_KILL_SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        return describe_exit(code)

    def wait(self, seconds: float) -> None:
        """Gives it time to end by itself."""
        self._wait(seconds)

    def _wait(self, seconds: float) -> int | None:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _pass_log_on(self) -> None:
        assert self._process.stderr
        with self._process.stderr as stream:
            for line in iter(lambda: stream.readline(_LINE_BYTES_MAX), b""):
                text = self.redact(line.decode("utf-8", "replace").rstrip())
                self.last_lines.append(text)
                print(f"[{self.name}] {text}", file=sys.stderr, flush=True)


def describe_exit(code: int) -> str:
    """How a process ended, in words; '' for an end in order."""
    if code == 0:
        return ""
    if code > 0:
        return f"it ended with exit code {code}"
    name = signal.Signals(-code).name
    if -code == signal.SIGKILL:
        return f"it was killed ({name}); most often it needed more memory than there is"
    return f"it was ended by {name}"


def _working_folder(project: Path) -> str:
    """A folder to write to in which everything of the project is found by its relative path."""
    folder = tempfile.mkdtemp(prefix="crew-run-")
    if project.is_dir():
        for entry in os.scandir(project):
            if entry.name not in (".git", ".venv"):
                os.symlink(entry.path, os.path.join(folder, entry.name))
    return folder


class Processes:
    """Starts the processes of a project."""

    def __init__(self, settings: Settings):
        self.order: dict[str, Any] = {
            "task": "perform",
            "project": str(settings.project),
            "entrypoint": settings.entrypoint,
        }
        self.name = settings.project.name
        self.inputs: dict[str, Any] = {"inputs": []}
        self._spare: RunProcess | None = None
        self._looking: RunProcess | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def look(self) -> dict[str, Any]:
        """Imports the project once. Raises ProjectError."""
        with self._lock:
            if self._is_closed:
                raise ProjectError("The program is ending; the project was not imported.")
            process = self._looking = RunProcess({**self.order, "task": "look"}, "import")
        timer = threading.Timer(_LOOK_SECONDS, process.kill)
        timer.start()
        try:
            with os.fdopen(os.dup(process.output), "rb") as answer:
                line = answer.readline()
        finally:
            timer.cancel()
            process.wait(_KILL_SECONDS)
            with self._lock:
                self._looking = None
                how = process.end()
        if not line:
            raise ProjectError(
                f"The project was not imported: {how or 'it ended the program'}. An import may "
                f"take {_LOOK_SECONDS} s. The lines above are the last that it wrote."
            )
        told = json.loads(line)
        if "problem" in told:
            raise ProjectError(told["problem"])
        self.name = told["name"]
        self.inputs = {"inputs": told["inputs"]}
        if told["optional"]:
            self.inputs["optional"] = told["optional"]
        self.order = {**self.order, "name": told["name"], "modules": told["modules"]}
        return told

    def keep_spare(self) -> None:
        """Starts a process that waits for the next run, if there is none."""
        with self._lock:
            if not self._is_closed and (self._spare is None or not self._spare.is_alive):
                self._end_spare()
                self._spare = RunProcess(self.order, "next run")

    def take(self, name: str) -> RunProcess:
        """Returns a process for a run."""
        with self._lock:
            process, self._spare = self._spare, None
        if process is None or not process.is_alive:
            if process:
                process.end()
            process = RunProcess(self.order, name)
        process.name = name
        return process

    def close(self) -> None:
        """Ends the process that waits, and the one that imports the project."""
        with self._lock:
            self._is_closed = True
            self._end_spare()
            if self._looking:
                self._looking.kill()

    def _end_spare(self) -> None:
        if self._spare:
            self._spare.end()
            self._spare = None
