"""The way from the process of a run to its worker and back: events out, acks and stops in."""

import json
import os
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from typing import Any

from .redact import redactor

LINE_CHARACTERS_MAX = 8_000_000
_TEXT_CHARACTERS_MAX = 65_536


class WorkerGone(BaseException):
    """Nobody hears this run any more. Not an Exception, so that no project catches it."""


class Channel:
    """Writes the events of one attempt, numbered, and knows which of them are committed."""

    def __init__(self, out: int, secrets: list[str]):
        self._out = out
        self._secrets = secrets
        self._redact = redactor(secrets)
        self._changed = threading.Condition(threading.RLock())
        self._seq = 0
        self._acked = 0
        self._is_gone = False
        self._is_over = False
        self.is_stopping = False
        self.is_followed = False
        """Whether somebody wants to see what models write while they write it."""

    def end(self, type: str, **fields: Any) -> int:
        """Writes the last event: whatever is written after it is dropped."""
        with self._changed:
            seq = self.write(type, **fields)
            self._is_over = True
            return seq

    def write(self, type: str, **fields: Any) -> int:
        """Writes an event without the fields that are None, and returns its number."""
        known = {
            name: each for name, each in fields.items() if each is not None or name == "result"
        }
        with self._changed:
            if self._is_over:
                return self._seq
            event = {"type": type, "at": now(), "seq": self._seq + 1, **known}
            line = self._redact(json.dumps(event, default=str))
            if len(line) > LINE_CHARACTERS_MAX:
                raise ValueError(
                    f"The event {type} has {len(line)} characters; the most is "
                    f"{LINE_CHARACTERS_MAX}."
                )
            self._seq += 1
            self._send(line.encode() + b"\n")
            return self._seq

    def redacted(self, value: Any) -> Any:
        """JSON as an event has it: without the secrets of the run."""
        return json.loads(self._redact(json.dumps(value)))

    def show(self, type: str, **fields: Any) -> None:
        """Writes an event without a number, which is kept nowhere."""
        with self._changed:
            if not self._is_over:
                self._send(self._redact(json.dumps({"type": type, **fields})).encode() + b"\n")

    def _send(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            self.leave()

    def wait(self, seq: int, timeout: float | None = None) -> bool:
        """Waits until an event is committed. Raises WorkerGone."""
        with self._changed:
            is_over = self._changed.wait_for(lambda: self._is_gone or self._acked >= seq, timeout)
            if self._is_gone:
                raise WorkerGone
            return is_over

    def listen(self, lines: Iterable[bytes], heard: Callable[[dict[str, Any]], None]) -> None:
        """Hears the lines of the worker until there are no more; runs in a thread of its own."""
        for line in lines:
            if not line.strip():
                continue
            said = json.loads(line)
            with self._changed:
                self._acked = max(self._acked, said.get("ack", 0))
                self.is_stopping = self.is_stopping or bool(said.get("stop"))
                self.is_followed = bool(said.get("text_deltas", self.is_followed))
                self._changed.notify_all()
            heard(said)
        self.leave()

    def keep_secret(self, secrets: list[str]) -> None:
        """Adds secrets that no event may hold."""
        self._secrets = [*self._secrets, *secrets]
        self._redact = redactor(self._secrets)

    def leave(self) -> None:
        """Raises WorkerGone for all who wait."""
        with self._changed:
            self._is_gone = True
            self._changed.notify_all()


def now() -> str:
    """This moment, as RFC 3339 has it."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def excerpt(text: str, characters_max: int = _TEXT_CHARACTERS_MAX) -> str:
    """The beginning of a text, and how much of it was left out."""
    left = len(text) - characters_max
    if left <= 0:
        return text
    return f"{text[:characters_max]} … ({left} more characters were left out)"
