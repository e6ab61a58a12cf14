"""What models, tools and people are asked, as a replay of a run finds it in the record."""

import hashlib
import json
import re
from typing import Any

from .step_key import number

_REQUEST_CHARACTERS_MAX = 2_000_000
_DEPTH_MAX = 100
_PICTURE_CHARACTERS_MIN = 1000
_LONE = re.compile("[\ud800-\udfff]")


def plain(value: Any, depth: int = 0) -> Any:
    """Makes JSON of what is asked, the same in each process: no addresses, no orders of sets.

    A picture stands in it by its digest: it is among the files of the run.
    """
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        is_picture = value.startswith("data:") and len(value) >= _PICTURE_CHARACTERS_MIN
        return {"sha256": _sha256(value)} if is_picture else value
    if isinstance(value, float):
        return value if value - value == 0 else str(value)
    if depth >= _DEPTH_MAX:
        return type(value).__name__
    if isinstance(value, dict):
        return {str(key): plain(each, depth + 1) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each, depth + 1) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((plain(each, depth + 1) for each in value), key=canonical)
    return _of_object(value, depth)


def _of_object(value: Any, depth: int) -> Any:
    if isinstance(value, type):
        # A class in place of a value is a shape that is asked for.
        schema = getattr(value, "model_json_schema", None)
        return plain(schema(), depth + 1) if callable(schema) else value.__qualname__
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"), depth + 1)
    return type(value).__qualname__


def kept(request: dict[str, Any]) -> dict[str, Any] | None:
    """A request that is short enough to be kept; a longer one counts as not told."""
    return request if len(json.dumps(request)) <= _REQUEST_CHARACTERS_MAX else None


def request_digest(request: dict[str, Any]) -> str:
    """The SHA-256 of a request as canonical JSON, as the platform makes it."""
    return _sha256(canonical(request))


def canonical(value: Any) -> str:
    """Writes JSON as RFC 8785 has it."""
    if isinstance(value, dict):
        texts = {_joined(name): each for name, each in value.items()}
        names = sorted(texts, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_quoted(name)}:{canonical(texts[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    if isinstance(value, str):
        return _quoted(_joined(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _double(value)
    return json.dumps(value)


def _double(value: int | float) -> str:
    """The number as the platform reads it: JavaScript has no others."""
    try:
        read = float(value)
    except OverflowError:
        return "null"
    return number(read)


def _joined(text: str) -> str:
    """Joins halves of a character that stand beside each other, as JSON does."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _quoted(text: str) -> str:
    escaped = json.dumps(text, ensure_ascii=False)
    return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", escaped)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
