"""A run that is performed again: what is asked is answered from its record, and asked of no one
but models, where that is wanted."""

import builtins
import threading
from typing import Any

from .channel import Channel
from .step_request import request_digest

_ERROR_CODE = "crew_failed"


class Diverged(Exception):
    """The record has no answer to what is asked."""

    code = "replay_diverged"


class RecordedError(Exception):
    """A failure that the record has, of a kind that only the project knows."""


class Record:
    """The answers of a run that is performed again."""

    def __init__(self, channel: Channel, kickoff: dict[str, Any]):
        replay = kickoff["replay"]
        self._channel = channel
        self._models: dict[str, Any] = kickoff.get("models", {}) if replay.get("live") else {}
        self.model_urls: list[str] = [each["base_url"] for each in self._models.values()]
        self._answers: list[dict[str, Any]] = replay.get("answers") or []
        self._places: dict[tuple[str, str], list[int]] = {}
        for place, each in enumerate(self._answers):
            asked = (each["kind"], each["request_sha256"])
            self._places.setdefault(asked, []).append(place)
        self._taken: set[int] = set()
        self._raised: dict[int, int] = {}
        self._lock = threading.Lock()

    def answer(self, kind: str, path: list[str], request: dict[str, Any]) -> dict[str, Any] | None:
        """Takes the answer to a request; None where the record has none.

        It is the one of the same path, else the first that was not taken yet, else the last. What
        failed before it was answered fails as often here: such an answer has an `error`.
        """
        with self._lock:
            known = self._places.get((kind, request_digest(request)), [])
            free = [place for place in known if place not in self._taken]
            same = [place for place in free if self._answers[place]["path"] == path]
            place = next(iter([*same, *free, *known[-1:]]), None)
            if place is None:
                return None
            error = self._next_failure(place)
            if error is None:
                self._taken.add(place)
        if error is not None:
            return {"error": error}
        self._channel.write("replay_answered", answer=place)
        return self._answers[place]

    def _next_failure(self, place: int) -> dict[str, Any] | None:
        result = self._answers[place].get("result")
        failures = result.get("failures") if isinstance(result, dict) else None
        count = self._raised.get(place, 0)
        if not isinstance(failures, list) or count >= len(failures):
            return None
        self._raised[place] = count + 1
        return dict(failures[count])

    def may_ask(self, kind: str, name: str) -> bool:
        """Whether what the record does not answer is asked: a model that was handed over."""
        names = [name for each in self._models for name in (each, each.partition("/")[2])]
        return kind == "llm" and name in names

    def ask(self, **asked: Any) -> int:
        """Reports that a model is to be asked, and returns the number of the event."""
        return self._channel.write("replay_diverged", asks=True, **asked)

    def diverge(self, kind: str, name: str, path: list[str], request: dict[str, Any]) -> Diverged:
        """Reports that the record has no answer, and returns the error that ends the run."""
        self._channel.write("replay_diverged", kind=kind, name=name, path=path, request=request)
        at = " / ".join(path)
        return Diverged(f"The record has no answer to what {name} is asked at {at}.")


def recorded_error(error: dict[str, Any]) -> Exception:
    """Makes an error of a recorded failure: of Python's own class, else of one of its name."""
    message = str(error.get("message", ""))
    name, colon, said = message.partition(": ")
    if error.get("code") != _ERROR_CODE or not (name if colon else message).isidentifier():
        failed = RecordedError(message)
        failed.code = error.get("code")  # type: ignore[attr-defined]
        return failed
    kind = getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = type(name, (RecordedError,), {})
    try:
        made: Exception = kind(said) if colon else kind()
    except TypeError:
        made = RecordedError()
    # Of some classes, the text is not what they are made of.
    return made if str(made) == said else type(name, (RecordedError,), {})(said)
