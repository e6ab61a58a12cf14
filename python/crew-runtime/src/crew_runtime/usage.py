"""The tokens of calls of models."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Usage:
    """Tokens of model calls."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """Those of the input that the provider had in its cache."""

    def add(self, more: "Usage") -> None:
        self.input_tokens += max(0, more.input_tokens)
        self.output_tokens += max(0, more.output_tokens)
        self.cached_input_tokens += max(0, more.cached_input_tokens)

    def to_json(self) -> dict[str, int]:
        cached = self.cached_input_tokens
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return {**tokens, "cached_input_tokens": cached} if cached else tokens

    @staticmethod
    def of(facts: dict[str, Any]) -> "Usage":
        """The tokens that a report of a call, or a recorded step, tells."""
        return Usage(**{name: facts.get(name) or 0 for name in Usage.__dataclass_fields__})
