"""The command line."""

import argparse
import os
import signal
import sys
import threading

from .processes import Processes
from .project import ProjectError
from .server import CrewServer
from .settings import Settings, SettingsError, read_settings

_VARIABLES = """\
variables:
  CREW_TOKEN           what workers send as Authorization: Bearer; needed
  PORT, HOST           where it listens [8000, 127.0.0.1]
  CREW_PROJECT         the folder of the project, where --project is not given [.]
  CREW_ENTRYPOINT      module:name of what is run, where it cannot be found
  CREW_DRAIN_SECONDS   how long runs may go on after SIGTERM [25]
  CREW_CONCURRENCY     how many runs there may be at the same time [4]
  OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS
                       where spans go

exit codes: 0 it was told to stop, 1 the project cannot be run, 2 wrong use
"""


def main() -> None:
    """Runs the command, and ends the program whatever its threads do."""
    code = run(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(args: list[str]) -> int:
    """Runs the command, and returns its exit code."""
    options = _parser().parse_args(args)
    try:
        settings = read_settings(os.environ, options.project, needs_token=not options.check)
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        return _check(settings) if options.check else _serve(settings)
    except ProjectError as error:
        print(error, file=sys.stderr, flush=True)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m crew_runtime",
        description="Serves a Python project as a crew: one of CrewAI, or any function.",
        epilog=_VARIABLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--project", metavar="DIR", help="the folder of the project")
    parser.add_argument(
        "--check",
        action="store_true",
        help="import the project, print what was found, and end",
    )
    return parser


def _check(settings: Settings) -> int:
    found = Processes(settings).look()
    print(f"crew: {found['name']} ({found['entrypoint']})")
    print(f"inputs: {', '.join(found['inputs']) or 'none'}")
    return 0


def _serve(settings: Settings) -> int:
    processes = Processes(settings)
    try:
        server = CrewServer(settings, processes)
    except OSError as error:
        print(f"Cannot listen on {settings.host}:{settings.port}: {error}.", file=sys.stderr)
        return 2
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        return _perform(server, processes, stopped)
    finally:
        processes.close()


def _perform(server: CrewServer, processes: Processes, stopped: threading.Event) -> int:
    problems: list[ProjectError] = []

    def look() -> None:
        try:
            processes.look()
        except ProjectError as error:
            problems.append(error)
            stopped.set()
            return
        processes.keep_spare()
        server.trouble = ""
        host, port = server.server_address[:2]
        print(f"{processes.name} listens on {host!s}:{port}", file=sys.stderr, flush=True)

    threading.Thread(target=look, daemon=True).start()
    stopped.wait()
    if problems:
        server.trouble = str(problems[0])
        raise problems[0]
    server.drain()
    return 0
