"""Makes a step of each call of a model."""

import contextvars
import functools
import inspect
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ..channel import now
from ..context import estimate
from ..run import LlmCall, Place, Run
from ..steps import OpenStep, Step, current_step
from ..tiers import has_no_room, is_unknown, refused
from ..usage import Usage
from .codec import decode, encode
from .llm_request import question_of, request_of
from .wrapping import Method, wrap_method, wrap_methods

_ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "openai": "https://api.openai.com/v1",
}


@dataclass
class _Heard:
    """What became known of a call while it went on."""

    facts: dict[str, Any] = field(default_factory=dict)
    tier: str | None = None
    """The service tier that is asked for, and then the one that the answer names."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    written: int = 0
    """The UTF-16 units that a model has written so far, as the platform counts characters."""


_calling: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar(
    "calling", default=frozenset()
)
_heard: contextvars.ContextVar[_Heard | None] = contextvars.ContextVar("heard", default=None)


def connect(run: Run) -> None:
    """Lets all models report to a run."""
    from crewai.llms.base_llm import BaseLLM

    from crewai import LLM

    wraps = {
        "call": lambda method: _sync(run, method),
        "acall": lambda method: _async(run, method),
    }
    wrap_methods(BaseLLM, wraps)
    for name, wrap in wraps.items():
        wrap_method(LLM, name, wrap)
    wrap_method(BaseLLM, "_track_token_usage_internal", _counted)
    extracts = ("_extract_openai_token_usage", "_extract_responses_token_usage")
    wrap_methods(BaseLLM, {name: _with_tier for name in extracts})


def hear(usage: Any, **facts: Any) -> None:
    """Takes what an event says of the call that goes on here."""
    heard = _heard.get()
    if not heard:
        return
    heard.facts.update({name: each for name, each in facts.items() if isinstance(each, str)})
    if isinstance(usage, dict) and not heard.input_tokens:
        heard.input_tokens = _count(usage, "prompt_tokens", "input_tokens")
        heard.output_tokens = _count(usage, "completion_tokens", "output_tokens")
        heard.cached_input_tokens = _count(usage, "cached_prompt_tokens")


def hear_text(run: Run, text: Any) -> None:
    """Takes a part of what a model is writing, where the project lets it stream."""
    heard, step = _heard.get(), current_step()
    if not heard or not step or not isinstance(text, str) or not text:
        return
    if run.channel.is_followed:
        place = run.here()
        where = {"step": step.key, "task": place.task, "agent": place.agent}
        run.channel.show("text_delta", **where, offset=heard.written, text=text)
    heard.written += len(text.encode("utf-16-le", "surrogatepass")) // 2


def _count(usage: dict[str, Any], *names: str) -> int:
    found = next((usage[name] for name in names if isinstance(usage.get(name), int)), 0)
    return int(found)


def _counted(method: Method) -> Method:
    """Sees the tokens that a model adds to its own count."""

    @functools.wraps(method)
    def track(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(self._token_usage)
        result = method(self, *args, **kwargs)
        heard = _heard.get()
        if heard:
            after = self._token_usage
            heard.input_tokens += after["prompt_tokens"] - before["prompt_tokens"]
            heard.output_tokens += after["completion_tokens"] - before["completion_tokens"]
            cached = "cached_prompt_tokens"
            heard.cached_input_tokens += after.get(cached, 0) - before.get(cached, 0)
        return result

    return track


def _with_tier(method: Method) -> Method:
    """Sees by which service tier an answer was given."""

    @functools.wraps(method)
    def extract(self: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        heard, tier = _heard.get(), getattr(response, "service_tier", None)
        if heard and isinstance(tier, str):
            heard.tier = tier
        return method(self, response, *args, **kwargs)

    return extract


def _gives_up_tier(run: Run, llm: Any, error: Exception) -> bool:
    """Lets the rest of the run call a model by the usual service tier where a batch's is refused.

    One that the project itself asks for is no wish of the platform's.
    """
    heard, endpoint = _heard.get(), run.endpoints().get(str(llm.model))
    status, said = getattr(error, "status_code", None), str(error)
    if not heard or not heard.tier or not endpoint or endpoint.service_tier != heard.tier:
        return False
    if not has_no_room(status, said) and not is_unknown(status, said):
        return False
    llm.additional_params.pop("service_tier", None)
    heard.facts["refused_tier"], heard.tier = refused(heard.tier, said), None
    return True


@dataclass(frozen=True)
class _Call:
    """A call of a model as CrewAI makes it."""

    llm: Any
    place: Place
    messages: list[dict[str, Any]]
    expected: type | None
    step: Step

    def report(self, run: Run, opened: OpenStep, started_at: str, **ended: Any) -> None:
        heard = _heard.get() or _Heard()
        usage = Usage(heard.input_tokens, heard.output_tokens, heard.cached_input_tokens)
        counted = usage.to_json() if any(asdict(usage).values()) else {}
        provider = str(getattr(self.llm, "provider", None) or "openai")
        call = LlmCall(
            model=self.step.name,
            provider=provider,
            base_url=_address(self.llm, provider),
            messages=self.messages,
            started_at=started_at,
            facts={**heard.facts, **counted, "service_tier": heard.tier},
            **ended,
        )
        run.report_llm(opened, self.place, call)


def _sync(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _calling.get():
            return method(self, *args, **kwargs)
        made = _describe(run, self, method, args, kwargs)

        def act(opened: OpenStep) -> Any:
            tokens = _begin(self)
            started_at = now()
            try:
                try:
                    result = method(self, *args, **kwargs)
                except Exception as error:
                    if not _gives_up_tier(run, self, error):
                        raise
                    result = method(self, *args, **kwargs)
            except Exception as error:
                made.report(run, opened, started_at, error=error)
                raise
            else:
                made.report(run, opened, started_at, answer=_answer(result))
                return result
            finally:
                _end(tokens)

        return run.steps.perform(made.step, act)

    return call


def _async(run: Run, method: Method) -> Method:
    @functools.wraps(method)
    async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _calling.get():
            return await method(self, *args, **kwargs)
        made = _describe(run, self, method, args, kwargs)

        async def act(opened: OpenStep) -> Any:
            tokens = _begin(self)
            started_at = now()
            try:
                try:
                    result = await method(self, *args, **kwargs)
                except Exception as error:
                    if not _gives_up_tier(run, self, error):
                        raise
                    result = await method(self, *args, **kwargs)
            except Exception as error:
                made.report(run, opened, started_at, error=error)
                raise
            else:
                made.report(run, opened, started_at, answer=_answer(result))
                return result
            finally:
                _end(tokens)

        return await run.steps.aperform(made.step, act)

    return acall


def _begin(llm: Any) -> tuple[Any, Any]:
    tier = (getattr(llm, "additional_params", None) or {}).get("service_tier")
    return _calling.set(_calling.get() | {id(llm)}), _heard.set(_Heard(tier=tier))


def _end(tokens: tuple[Any, Any]) -> None:
    _calling.reset(tokens[0])
    _heard.reset(tokens[1])


def _describe(run: Run, llm: Any, method: Method, args: Any, kwargs: Any) -> _Call:
    given = inspect.signature(method).bind(llm, *args, **kwargs).arguments
    given = {**given, **given.get("kwargs", {})}
    place = _place(run, given.get("from_task"), given.get("from_agent"))
    model = str(getattr(llm, "model", type(llm).__name__))
    messages = _messages(given.get("messages"))
    expected = given.get("response_model")
    request = {"model": model, "messages": messages, "tools": given.get("tools") or []}
    limit = getattr(llm, "max_completion_tokens", None) or getattr(llm, "max_tokens", None)
    step = Step(
        "llm",
        (place.task, place.agent, "llm", question_of(request, expected)),
        model,
        estimate=estimate({**request, "max_tokens": limit}),
        request=request_of(llm, request, expected),
        encode=encode,
        decode=lambda recorded: decode(recorded, expected),
    )
    return _Call(llm, place, messages, expected, step)


def _place(run: Run, task: Any, agent: Any) -> Place:
    from .tasks import place_of

    known = place_of(task)
    if known:
        return known
    here = run.here()
    role = getattr(agent, "role", None)
    return Place(here.task, role.strip()) if isinstance(role, str) else here


def _messages(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return [dict(each) for each in given or [] if isinstance(each, dict)]


def _answer(result: Any) -> dict[str, Any]:
    if isinstance(result, list) and result and not isinstance(result[0], str):
        return {"role": "assistant", "content": "", "tool_calls": result}
    if hasattr(result, "model_dump_json"):
        return {"role": "assistant", "content": result.model_dump_json()}
    return {"role": "assistant", "content": result if isinstance(result, str) else str(result)}


def _address(llm: Any, provider: str) -> str:
    given = getattr(llm, "base_url", None) or getattr(llm, "api_base", None)
    if not given and provider == "openai":
        given = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
    return str(given or _ADDRESSES.get(provider, f"https://{provider}"))
