"""What a crew says that it needs."""

import pathlib
import unittest
from datetime import datetime

from crew_runtime.load import load_crew
from crew_runtime.project import Entrypoint


class Field:
    """A field as Pydantic describes it."""

    def __init__(self, default=..., factory=None):
        self.default = default
        self.default_factory = factory

    def is_required(self):
        return self.default is ... and self.default_factory is None


class State:
    """A state as Pydantic makes it: its values are attributes."""

    model_fields = {
        "id": Field(factory=str),
        "topic": Field("bees"),
        "count": Field(0),
        "outs": Field([]),
        "note": Field(None),
        "day": Field(datetime(2026, 1, 2)),
        "made": Field(factory=lambda: "now"),
    }

    def __init__(self):
        self.topic, self.count, self.outs, self.note = "bees", 0, [], None
        self.day, self.made = datetime(2026, 1, 2), "now"


class Unfilled:
    """A state without a value for one of its fields."""

    model_fields = {"topic": Field(), "words": Field(50)}


class Flow:
    """A flow as CrewAI makes it."""

    def __init__(self, state=None, model=None):
        self.state = state
        self._initial_state_t = model

    def kickoff(self, inputs):
        return inputs


class FLOWS:
    """Flows by their names."""

    model = Flow(State())
    unfilled = Flow(model=Unfilled)
    given = Flow({"id": "1", "topic": "bees", "max words": 9, "outs": [1]})
    empty = Flow({"id": "1"})
    long = Flow({"topic": "x" * 2000})


class LoadFlow(unittest.TestCase):
    def load(self, name, inputs=()):
        entrypoint = Entrypoint(pathlib.Path("."), __name__, f"FLOWS.{name}", inputs=inputs)
        crew = load_crew(entrypoint)
        return crew.inputs, list(crew.optional)

    def test_needs_nothing_that_the_state_has_a_value_for(self):
        expected = [
            {"name": "topic", "default": "bees"},
            {"name": "count", "default": 0},
            {"name": "outs", "default": []},
            {"name": "note"},
            {"name": "day"},
            {"name": "made"},
        ]
        self.assertEqual(self.load("model"), ((), expected))

    def test_needs_what_has_no_default(self):
        self.assertEqual(self.load("unfilled"), (("topic",), [{"name": "words", "default": 50}]))

    def test_shows_the_values_of_a_state_without_a_model(self):
        expected = [{"name": "topic", "default": "bees"}, {"name": "outs", "default": [1]}]
        self.assertEqual(self.load("given"), ((), expected))
        self.assertEqual(self.load("empty"), ((), []))
        self.assertEqual(self.load("long"), ((), [{"name": "topic"}]))

    def test_needs_what_the_project_says_and_nothing_else(self):
        self.assertEqual(self.load("model", ("topic",)), (("topic",), []))


if __name__ == "__main__":
    unittest.main()
