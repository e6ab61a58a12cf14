"""What a model of CrewAI is asked."""

from typing import Any

from ..step_key import digest
from ..step_request import plain

# What models are asked with, besides messages and tools. Others, such as headers, may hold keys.
_PARAMETERS = (
    "temperature",
    "top_p",
    "top_k",
    "n",
    "max_tokens",
    "max_completion_tokens",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "seed",
    "response_format",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "thinking",
    "instructions",
)


def request_of(llm: Any, request: dict[str, Any], expected: type | None) -> dict[str, Any]:
    """All that a model is asked, the same in each process that asks it."""
    stops = getattr(llm, "stop_sequences", None) or getattr(llm, "stop", None) or []
    given = {name: getattr(llm, name, None) for name in _PARAMETERS}
    # CrewAI makes a set of them, in whatever order.
    given["stop"] = sorted({stops} if isinstance(stops, str) else set(stops)) or None
    given["response_model"] = expected
    parameters = {name: plain(each) for name, each in given.items() if each is not None}
    messages = _with_numbered_calls(plain(request["messages"]))
    tools = plain(request["tools"])
    return {
        "model": request["model"],
        "messages": messages,
        "tools": tools,
        "parameters": parameters,
    }


def _with_numbered_calls(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of tools by their order: some ids are other ones in each process."""
    numbers: dict[str, str] = {}

    def number(given: Any) -> str:
        return numbers.setdefault(str(given), f"call_{len(numbers) + 1}")

    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("id"):
                call["id"] = number(call["id"])
        if message.get("tool_call_id"):
            message["tool_call_id"] = number(message["tool_call_id"])
    return messages


def question_of(request: dict[str, Any], expected: type | None) -> str:
    """A hash of what a model is asked, without ids that are other ones in each attempt.

    An answer is only ever taken for the question that it was given to.
    """
    asked = []
    for message in request["messages"]:
        calls = [_asked_call(each) for each in message.get("tool_calls") or []]
        asked.append([message.get("role"), str(message.get("content")), calls])
    named = [str(getattr(expected, "__name__", "")), request["model"]]
    return digest([named, asked])[:16]


def _asked_call(call: Any) -> list[str]:
    function = call.get("function", {}) if isinstance(call, dict) else getattr(call, "function", {})
    if not isinstance(function, dict):
        function = vars(function)
    return [str(function.get("name")), str(function.get("arguments"))]
