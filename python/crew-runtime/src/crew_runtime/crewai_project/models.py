"""Lets a project's models be called as the run was handed them."""

import os
from typing import Any

from ..run import Endpoint, Run

_PLACEHOLDER = "handed-over-with-each-run"


def hand_over(run: Run | None) -> None:
    """Gives each model that the run was handed its address and its key.

    One for which the project names an address itself stays as it is. Without a run, any model can
    be made, so that a project can be looked at.
    """
    from crewai import LLM

    make = LLM.__new__
    endpoints = run.endpoints() if run else {}

    def new(cls: type, model: str, is_litellm: bool = False, **kwargs: Any) -> Any:
        named = _find(endpoints, model) if cls is LLM and not _has_address(kwargs) else None
        if named:
            name, endpoint = named
            return make(cls, name, **_directed(kwargs, endpoint))
        if run:
            return make(cls, model, is_litellm, **kwargs)
        try:
            return make(cls, model, is_litellm, **kwargs)
        except Exception:
            endpoint = Endpoint("http://127.0.0.1:9/v1", _PLACEHOLDER)
            return make(cls, model, **_directed(kwargs, endpoint))

    LLM.__new__ = new  # type: ignore[method-assign,assignment]
    if run and not endpoints and os.environ.get("OPENAI_API_KEY") == _PLACEHOLDER:
        del os.environ["OPENAI_API_KEY"]


def _has_address(kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.get("base_url") or kwargs.get("api_base"))


def _find(endpoints: dict[str, Endpoint], model: Any) -> tuple[str, Endpoint] | None:
    """A model by its name, or by its name behind that of a provider: `openai/gpt-5`."""
    if not isinstance(model, str):
        return None
    for name in (model, model.partition("/")[2]):
        if name in endpoints:
            return name, endpoints[name]
    return None


def _directed(kwargs: dict[str, Any], endpoint: Endpoint) -> dict[str, Any]:
    # Every address that is handed over speaks the API of OpenAI.
    others = {key: each for key, each in kwargs.items() if key not in ("provider", "api_key")}
    address = {"base_url": endpoint.base_url, "api_key": endpoint.api_key or "none"}
    # What it does not know itself, CrewAI puts into each request.
    tier = {"service_tier": endpoint.service_tier} if endpoint.service_tier else {}
    return {**tier, **others, "provider": "openai", **address}
