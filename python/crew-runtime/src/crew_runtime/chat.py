"""Calls a model by the chat completions of OpenAI's API."""

import json
import time
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .run import Endpoint
from .steps import Unrecorded
from .tiers import has_no_room, is_unknown, refused, tier_of

_TIMEOUT_SECONDS = 600
_BYTES_MAX = 16_777_216
_TRIES_MAX = 4
_WAIT_SECONDS_MAX = 30.0
_PASSING = {408, 409, 429, 500, 502, 503, 504, 529}


@dataclass(frozen=True)
class Answer:
    """The answer of a model."""

    text: str
    tool_calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    model: str | None = None
    id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    attempts: int = 1
    service_tier: str | None = None
    refused_tier: dict[str, Any] | None = None
    """The service tier that was asked for, and why it was not given."""

    def __str__(self) -> str:
        return self.text

    @property
    def message(self) -> dict[str, Any]:
        """The message to go on with in the next call."""
        said: dict[str, Any] = {"role": "assistant", "content": self.text}
        return {**said, "tool_calls": self.tool_calls} if self.tool_calls else said

    def facts(self) -> dict[str, Any]:
        """What a report of the call says of it."""
        return {
            "response_model": self.model,
            "response_id": self.id,
            "finish_reason": self.finish_reason,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "attempts": self.attempts,
            "service_tier": self.service_tier,
            "refused_tier": self.refused_tier,
        }

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(recorded: Any) -> "Answer":
        if not isinstance(recorded, dict) or not isinstance(recorded.get("text"), str):
            raise Unrecorded
        known = {name: recorded[name] for name in Answer.__dataclass_fields__ if name in recorded}
        return Answer(**known)


class ModelError(Exception):
    """A model could not be called, or did not answer."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A key is for the address that it was handed with."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)


def complete(endpoint: Endpoint, request: dict[str, Any]) -> Answer:
    """Asks a model, again where that may help. Raises ModelError."""
    url = f"{endpoint.base_url.rstrip('/')}/chat/completions"
    headers = {"content-type": "application/json", "user-agent": "crew-runtime"}
    if endpoint.api_key:
        headers["authorization"] = f"Bearer {endpoint.api_key}"
    # The tier that the program itself asks for is no wish of the platform's.
    tier = None if "service_tier" in request else endpoint.service_tier
    refused_tier = None
    for attempt in range(1, _TRIES_MAX + 1):
        body = json.dumps({**request, "service_tier": tier} if tier else request).encode()
        asked = urllib.request.Request(url, data=body, headers=headers)
        try:
            with _opener.open(asked, timeout=_TIMEOUT_SECONDS) as response:
                answer = _read(response.read(_BYTES_MAX + 1), attempt)
                billed = answer.service_tier or tier
                return replace(answer, service_tier=billed, refused_tier=refused_tier)
        except urllib.error.HTTPError as error:
            said = _refusal(error)
            is_refused = has_no_room(error.code, said) or is_unknown(error.code, said)
            if tier and is_refused and attempt < _TRIES_MAX:
                refused_tier, tier = refused(tier, said), None
                continue
            if error.code not in _PASSING or attempt == _TRIES_MAX:
                raise ModelError(said) from None
            time.sleep(_wait_seconds(error.headers.get("retry-after"), attempt))
        except (OSError, urllib.error.URLError) as error:
            if attempt == _TRIES_MAX:
                raise ModelError(f"The model at {url} cannot be reached: {error}.") from None
            time.sleep(_wait_seconds(None, attempt))
    raise AssertionError("the last attempt returns or raises")


def _wait_seconds(retry_after: str | None, attempt: int) -> float:
    try:
        return min(float(retry_after or ""), _WAIT_SECONDS_MAX)
    except ValueError:
        return 0.5 * 2**attempt


def _refusal(error: urllib.error.HTTPError) -> str:
    said = error.read(2000).decode("utf-8", "replace")
    return f"The model answered HTTP {error.code}: {said}"


def _read(body: bytes, attempt: int) -> Answer:
    if len(body) > _BYTES_MAX:
        raise ModelError(f"The model's answer has more than {_BYTES_MAX} bytes.")
    try:
        given = json.loads(body)
        choice = given["choices"][0]
        message, usage = choice["message"], given.get("usage") or {}
    except (ValueError, LookupError, TypeError):
        raise ModelError("The model's answer is no chat completion.") from None
    return Answer(
        text=message.get("content") or "",
        tool_calls=message.get("tool_calls") or [],
        finish_reason=choice.get("finish_reason"),
        model=given.get("model"),
        id=given.get("id"),
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
        cached_input_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        attempts=attempt,
        service_tier=tier_of(given.get("service_tier")),
    )
