"""The messages of a conversation with a model, as events have them."""

from typing import Any

from .channel import excerpt

_CONVERSATION_CHARACTERS_MAX = 262_144


def to_message(given: Any) -> dict[str, Any]:
    """A message of a conversation, as events have it."""
    said = {"role": str(given.get("role", "user")), "content": _text(given.get("content"))}
    calls = [_to_call(each) for each in given.get("tool_calls") or []]
    if calls:
        said["tool_calls"] = calls
    if given.get("tool_call_id"):
        said["tool_call_id"] = str(given["tool_call_id"])
    return said


def _to_call(given: Any) -> dict[str, str]:
    read = _reader(given)
    function = _reader(read("function") or given)
    return {
        "id": str(read("id") or ""),
        "name": str(function("name") or ""),
        "arguments": excerpt(_text(function("arguments") or function("input") or "")),
    }


def _reader(given: Any) -> Any:
    return given.get if isinstance(given, dict) else lambda name: getattr(given, name, None)


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, list):
        return excerpt("\n".join(_part(each) for each in content))
    return excerpt(content if isinstance(content, str) else str(content))


def _part(given: Any) -> str:
    if isinstance(given, dict):
        text = given.get("text") or given.get("content")
        return text if isinstance(text, str) else f"({given.get('type', 'part')})"
    return str(given)


def excerpts(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leaves out the middle of a long conversation: events before this one have it."""
    left = _CONVERSATION_CHARACTERS_MAX
    newest_first = []
    for index, message in enumerate(reversed([to_message(each) for each in messages])):
        left -= len(message["content"])
        if left < 0 and index < len(messages) - 2:
            note = f"({len(message['content'])} characters were left out here)"
            message = {**message, "content": note}
        newest_first.append(message)
    return newest_first[::-1]
