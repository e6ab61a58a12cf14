"""What a function that is run as a crew may use."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .channel import excerpt, now
from .chat import Answer, complete
from .run import Connection, Endpoint, LlmCall, Place, Run, TaskReport
from .steps import OpenStep, Step, Unrecorded
from .step_key import digest
from .step_request import plain

_BYTES_PER_TOKEN = 3
_OUTPUT_TOKENS_ASSUMED = 4096


class Context:
    """The run that a function performs."""

    def __init__(self, run: Run):
        self._run = run
        self.kickoff_id = run.id
        self.inputs = run.inputs

    def step(self, name: str, act: Callable[[], Any]) -> Any:
        """Acts once in the whole run, and returns what came out, which has to be JSON.

        A new attempt at the run gets the recorded result. Steps of one name are told apart by
        their order.
        """
        run = self._run

        def perform(opened: OpenStep) -> Any:
            fields = {"name": name, "arguments": "{}", "started_at": now()}
            try:
                result = json.loads(json.dumps(act()))
            except Exception as error:
                message = {"code": "tool_failed", "message": str(error) or type(error).__name__}
                run.report_tool(opened, **fields, error=message)
                raise
            run.report_tool(opened, **fields, result=excerpt(json.dumps(result)))
            return result

        path = (self._run.here().task, "tool", name)
        encode, decode = _boxed(name)
        request = {"tool": name, "arguments": {}}
        step = Step("tool", path, name, request=request, encode=encode, decode=decode)
        return run.steps.perform(step, perform)

    def model(self, name: str, messages: list[dict[str, Any]], **options: Any) -> Answer:
        """Calls a model by the chat completions of OpenAI's API; `options` go into the request."""
        run, place = self._run, self._run.here()
        request = {"model": name, "messages": messages, **options}

        def perform(opened: OpenStep) -> Answer:
            endpoint, started_at = self.endpoint(name), now()
            facts = {"model": name, "provider": "openai", "base_url": endpoint.base_url}
            common = {**facts, "messages": messages, "started_at": started_at}
            try:
                answer = complete(endpoint, request)
            except Exception as error:
                run.report_llm(opened, place, LlmCall(**common, error=error))
                raise
            run.report_llm(
                opened, place, LlmCall(**common, answer=answer.message, facts=answer.facts())
            )
            return answer

        path = (place.task, place.agent, "llm", digest(request)[:16])
        return run.steps.perform(
            Step(
                "llm",
                path,
                name,
                estimate=estimate(request),
                request=_asked(name, messages, dict(options)),
                encode=Answer.to_json,
                decode=Answer.from_json,
            ),
            perform,
        )

    @contextmanager
    def task(self, name: str, description: str = "") -> Iterator[TaskReport]:
        """Groups what is done within; give what comes out to `finish` of what this returns."""
        with self._run.task(Place(name, self._run.crew), self._run.crew, description) as report:
            yield report

    def endpoint(self, model: str) -> Endpoint:
        """Where a model is called: as the run was handed it, else as OPENAI_BASE_URL says."""
        found = self._run.endpoints().get(model)
        if found:
            return found
        base_url, api_key = os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY")
        if not base_url and not api_key:
            raise LookupError(
                f"The run was handed no model {model!r}. Make an LLM connection with it, or set "
                "OPENAI_API_KEY for this crew."
            )
        return Endpoint(base_url or "https://api.openai.com/v1", api_key)

    def connection(self, name: str) -> Connection:
        """The token of a connection, renewed before it ends."""
        return self._run.connection(name)

    def report(self, type: str, **fields: Any) -> None:
        """Reports an event of your own, which is kept and shown as it is."""
        self._run.report(type, **fields)

    def artifact(self, name: str, content: str) -> None:
        """Adds a file to the run."""
        self._run.artifact(name, content)


def _asked(name: str, messages: list[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any]:
    tools = options.pop("tools", None) or []
    asked = {"model": name, "messages": messages, "tools": tools, "parameters": options}
    return {key: plain(each) for key, each in asked.items()}


def _boxed(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Results with the name of their step, which distinguishes them from those of others."""

    def decode(recorded: Any) -> Any:
        if not isinstance(recorded, dict) or recorded.get("of") != name:
            raise Unrecorded
        return recorded.get("result")

    return lambda result: {"of": name, "result": result}, decode


def estimate(request: dict[str, Any]) -> dict[str, int]:
    """The tokens that a call of a model may use: budgets reserve them before it is made."""
    size = len(json.dumps(request, default=str).encode())
    most = request.get("max_completion_tokens") or request.get("max_tokens")
    output = int(most) if isinstance(most, (int, float)) else _OUTPUT_TOKENS_ASSUMED
    return {"input_tokens": -(-size // _BYTES_PER_TOKEN), "output_tokens": output}
