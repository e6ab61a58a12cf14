"""Serves the crew contract over HTTP."""

import contextlib
import hmac
import json
import os
import select
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from typing import Any

from .channel import now
from .processes import Processes, RunProcess
from .redact import redactor, secrets_of
from .settings import Settings

CONTRACT = 2
_HEARTBEAT_SECONDS = 5
_SILENCE_SECONDS = 30
_KICKOFF_BYTES_MAX = 201_326_592
_PIECE_BYTES = 65_536
_EXIT_SECONDS = 5
_STOPPING_SECONDS = 1


class BadKickoff(Exception):
    """A body that is no kickoff."""


class CrewServer(ThreadingHTTPServer):
    """The server of one crew."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, settings: Settings, processes: Processes):
        self.settings = settings
        self.processes = processes
        self.trouble = "The project is being imported."
        """Why no run is taken; '' when runs are."""
        self.runs: set[RunProcess] = set()
        self.changed = threading.Condition()
        if ":" in settings.host:
            self.address_family = socket.AF_INET6
        super().__init__((settings.host, settings.port), _Handler)

    def begin(self, name: str) -> RunProcess | None:
        """Returns a process for a run; None when there are as many runs as there may be."""
        with self.changed:
            if len(self.runs) >= self.settings.concurrency:
                return None
            process = self.processes.take(name)
            self.runs.add(process)
        threading.Thread(target=self.processes.keep_spare, daemon=True).start()
        return process

    def finish(self, process: RunProcess) -> str:
        """Ends the process of a run, and says how it ended."""
        try:
            return process.end()
        finally:
            with self.changed:
                self.runs.discard(process)
                self.changed.notify_all()

    def drain(self) -> None:
        """Takes no more runs, and waits for those that go on to end or to be handed over."""
        with self.changed:
            self.trouble = "The crew stops."
            for process in self.runs:
                process.write(b'{"stopping": true}')
            # Even then they tell that they stop, or they would count as lost.
            seconds = max(self.settings.drain_seconds, _STOPPING_SECONDS)
            self.changed.wait_for(lambda: not self.runs, seconds)
            left = list(self.runs)
        for process in left:
            process.kill()
        with self.changed:
            self.changed.wait_for(lambda: not self.runs, _EXIT_SECONDS)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up is no error of the crew."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: CrewServer
    protocol_version = "HTTP/1.1"
    server_version = "crew-runtime"
    sys_version = ""
    timeout = _SILENCE_SECONDS

    def do_GET(self) -> None:
        processes, trouble = self.server.processes, self.server.trouble
        if self.path == "/health" and trouble:
            return self._refuse(503, "unavailable", trouble)
        pages: dict[str, Any] = {
            "/health": {"status": "ok"},
            "/describe": {
                "contract": CONTRACT,
                "name": processes.name,
                "capabilities": ["journal", "files", "replay"],
            },
            "/inputs": processes.inputs,
        }
        if self.path not in pages:
            return self._refuse(404, "not_found", f"There is no {self.path} here.")
        if trouble and self.path != "/health":
            return self._refuse(503, "unavailable", trouble)
        self._answer(200, "application/json", pages[self.path])

    def do_POST(self) -> None:
        self.close_connection = True
        if self.path != "/kickoff":
            return self._refuse(404, "not_found", f"There is no {self.path} here.")
        given = self.headers.get("authorization", "").encode("utf-8", "replace")
        if not hmac.compare_digest(given, f"Bearer {self.server.settings.token}".encode()):
            return self._refuse(401, "unauthorized", "This is not the token of this crew.")
        if self.server.trouble:
            return self._refuse(503, "unavailable", self.server.trouble)
        try:
            lines = self._lines()
            kickoff = self._read_kickoff(lines)
        except BadKickoff as error:
            return self._refuse(400, "invalid_request", str(error))
        process = self.server.begin(kickoff["kickoff_id"][:8])
        if not process:
            most = self.server.settings.concurrency
            return self._refuse(429, "too_many_runs", f"There are {most} runs, the most here.")
        self._perform(process, kickoff, lines)

    def _perform(
        self, process: RunProcess, kickoff: dict[str, Any], lines: Iterator[bytes]
    ) -> None:
        process.redact = redactor(secrets_of(kickoff))
        self._is_left = False
        self._start(200, "application/x-ndjson")
        # Not from here: it may still import libraries, and heartbeats are due meanwhile.
        whole = chain([json.dumps(kickoff).encode()], lines)
        relay = threading.Thread(target=self._relay, args=(process, whole), daemon=True)
        relay.start()
        try:
            self._follow(process)
        finally:
            how = self.server.finish(process)
            if how and not self._is_left:
                self._tell_end(f"The process of the run is gone: {how}.", process)
            # Who hangs up with lines unread cuts off what is on its way.
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_WR)
            relay.join(2)

    def _tell_end(self, message: str, process: RunProcess) -> None:
        print(f"[{process.name}] {message}", file=sys.stderr, flush=True)

    def _follow(self, process: RunProcess) -> None:
        """Passes the events of a run on, and a heartbeat where there are none, until its end."""
        is_line_open = False
        while True:
            ready, _, _ = select.select([process.output], [], [], _HEARTBEAT_SECONDS)
            if ready:
                piece = os.read(process.output, _PIECE_BYTES)
                if not piece:
                    return process.wait(_EXIT_SECONDS)
                is_line_open = not piece.endswith(b"\n")
            elif is_line_open:
                continue
            else:
                piece = json.dumps({"type": "heartbeat", "at": now()}).encode() + b"\n"
            try:
                self.wfile.write(piece)
            except OSError:
                self._is_left = True
                return

    def _relay(self, process: RunProcess, lines: Iterator[bytes]) -> None:
        """Passes what the worker says on; ends the run when the worker is gone."""
        try:
            for line in lines:
                if b'"connections"' in line:
                    self._learn_secrets(process, line)
                process.write(line)
        except (OSError, BadKickoff):
            pass
        # The thread that follows the run sees the end of its output.
        if process.is_alive:
            self._is_left = True
            process.kill()

    def _learn_secrets(self, process: RunProcess, line: bytes) -> None:
        with contextlib.suppress(ValueError, AttributeError):
            before, more = process.redact, redactor(secrets_of(json.loads(line)))
            process.redact = lambda text: more(before(text))

    def _read_kickoff(self, lines: Iterator[bytes]) -> dict[str, Any]:
        try:
            kickoff = json.loads(next(lines, b""))
        except ValueError:
            raise BadKickoff("The first line of the body is no JSON.") from None
        if not isinstance(kickoff, dict) or not isinstance(kickoff.get("inputs"), dict):
            raise BadKickoff("A kickoff is an object with kickoff_id and inputs.")
        if not isinstance(kickoff.get("kickoff_id"), str):
            raise BadKickoff("kickoff_id has to be the id of the run, a text.")
        return kickoff

    def _lines(self) -> Iterator[bytes]:
        """The lines of the body, as they come; of a document, the only one, and its end."""
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._chunked_lines()
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > _KICKOFF_BYTES_MAX:
            raise BadKickoff(f"The body has to be chunked, or at most {_KICKOFF_BYTES_MAX} bytes.")
        return self._document(int(length))

    def _document(self, length: int) -> Iterator[bytes]:
        yield self.rfile.read(length)
        # Nothing more comes until the worker closes the connection.
        self.connection.settimeout(None)
        self.rfile.read(1)

    def _chunked_lines(self) -> Iterator[bytes]:
        rest: list[bytes] = []
        waiting = 0
        while True:
            try:
                size = int(self.rfile.readline(100).split(b";")[0] or b"0", 16)
            except ValueError:
                raise BadKickoff("The chunks of the body have no lengths.") from None
            if size == 0:
                return
            waiting += size
            if waiting > _KICKOFF_BYTES_MAX:
                raise BadKickoff(f"A line has more than {_KICKOFF_BYTES_MAX} bytes.")
            piece = self.rfile.read(size)
            self.rfile.readline(100)
            rest.append(piece)
            if b"\n" in piece:
                *lines, last = b"".join(rest).split(b"\n")
                rest, waiting = [last], len(last)
                yield from (line for line in lines if line.strip())

    def _refuse(self, status: int, code: str, message: str) -> None:
        self.close_connection = True
        problem = {"status": status, "code": code, "message": message}
        self._answer(status, "application/problem+json", problem)

    def _answer(self, status: int, type: str, value: Any) -> None:
        body = json.dumps(value).encode() + b"\n"
        self._start(status, type, len(body))
        self.wfile.write(body)

    def _start(self, status: int, type: str, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("content-type", type)
        if length is not None:
            self.send_header("content-length", str(length))
        if status in (429, 503):
            self.send_header("retry-after", "2")
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Each run has its lines in the log; requests have none."""
