"""Serves a Python project as a crew: a project of CrewAI as it is, or any function."""

from .chat import Answer, ModelError
from .context import Context
from .run import Connection, current_run

__all__ = ["Answer", "Connection", "Context", "ModelError", "connection"]


def connection(name: str) -> Connection:
    """The token of a connection of this run, renewed before it ends. Raises KeyError."""
    return current_run().connection(name)
