"""Makes JSON of what models, tools and tasks return, and what it was of JSON."""

import importlib
from typing import Any

from ..steps import Unrecorded


def encode(value: Any) -> Any:
    """Makes JSON of a value. Raises Unrecorded for what has none."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return {"value": value}
    if isinstance(value, (list, tuple)):
        return {"list": [encode(each) for each in value]}
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise Unrecorded
        return {"object": {key: encode(each) for key, each in value.items()}}
    if hasattr(value, "model_dump") and hasattr(type(value), "model_validate"):
        return {"model": _name(type(value)), "data": value.model_dump(mode="json")}
    raise Unrecorded


def decode(recorded: Any, expected: type | None = None) -> Any:
    """Makes a value of JSON; a model of the class that is expected, if there is one."""
    if not isinstance(recorded, dict):
        raise Unrecorded
    if "value" in recorded:
        return recorded["value"]
    if isinstance(recorded.get("list"), list):
        return [decode(each, expected) for each in recorded["list"]]
    if isinstance(recorded.get("object"), dict):
        return {key: decode(each, expected) for key, each in recorded["object"].items()}
    if "model" in recorded:
        return _model(recorded["model"], recorded.get("data"), expected)
    raise Unrecorded


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _model(name: Any, data: Any, expected: type | None) -> Any:
    kind: Any = expected if expected and _name(expected) == name else _find(str(name))
    if not hasattr(kind, "model_validate"):
        raise Unrecorded
    try:
        return kind.model_validate(data)
    except ValueError as error:
        raise Unrecorded from error


def _find(name: str) -> Any:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        raise Unrecorded from None
    return found
