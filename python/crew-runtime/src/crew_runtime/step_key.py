"""The keys of steps: the same in each attempt at a run, as the crew contract makes them."""

import hashlib
import json
from decimal import Decimal
from typing import Any

_DIGITS = 32


def step_base(version: int, inputs: Any) -> str:
    """What the keys of all steps of a run have in common: a hash of its version and inputs."""
    return digest([version, _sorted(inputs)])


def step_key(base: str, path: list[str]) -> str:
    """The key of the step at a path within a run."""
    return digest([base, *path])[:_DIGITS]


def idempotency_key(run_id: str, step: str) -> str:
    """The key of a step's act towards others: the same in each attempt at a run."""
    return digest([run_id, step])[:_DIGITS]


def digest(value: Any) -> str:
    """A hash of a JSON value."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def _canonical(value: Any) -> str:
    """The JSON that JavaScript writes, of which the platform makes its keys."""
    if isinstance(value, float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_canonical(each) for each in value)}]"
    if isinstance(value, dict):
        members = (f"{_canonical(name)}:{_canonical(each)}" for name, each in value.items())
        return f"{{{','.join(members)}}}"
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    """A number as JavaScript writes it."""
    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    digits, exponent = repr(value).split("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def _sorted(value: Any) -> Any:
    if isinstance(value, list):
        return [_sorted(each) for each in value]
    if not isinstance(value, dict):
        return value
    # JavaScript compares texts by their UTF-16.
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return [[name, _sorted(value[name])] for name in names]
