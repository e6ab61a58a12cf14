"""Connects CrewAI with the run: its models, tasks, tools and events.

CrewAI is the project's, 1.9 or newer. What is used of it here are the methods through which all
of its work goes: `call` of models, `run` and `invoke` of tools, the core of tasks, and `emit` of
the event bus.
"""

from ..run import Run


def connect(run: Run | None) -> None:
    """Connects CrewAI with a run; without one, only lets a project be imported."""
    from . import models

    models.hand_over(run)
    if run is None:
        return
    from . import bus, human_input, llm_calls, tasks, tools

    bus.connect(run)
    tasks.connect(run)
    llm_calls.connect(run)
    tools.connect(run)
    human_input.connect(run)
