"""Reads what a project says of itself in pyproject.toml and .env."""

import ast
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = None  # type: ignore[assignment]

_VARIABLE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$")


@dataclass(frozen=True)
class Settings:
    """What pyproject.toml says that matters here."""

    entrypoint: str = ""
    inputs: tuple[str, ...] = ()
    type: str = ""
    """`crew` or `flow`, as CrewAI has it."""


def read_settings(project: Path) -> Settings:
    """Reads [tool.crew-runtime] and [tool.crewai]; a file with mistakes says nothing."""
    try:
        text = (project / "pyproject.toml").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return Settings()
    own, crewai = _table(text, "crew-runtime"), _table(text, "crewai")
    inputs = own.get("inputs")
    return Settings(
        entrypoint=_text(own.get("entrypoint")),
        inputs=tuple(str(each) for each in inputs) if isinstance(inputs, list) else (),
        type=_text(crewai.get("type")),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _table(text: str, name: str) -> dict[str, Any]:
    if tomllib is None:
        return _plain_table(text, f"tool.{name}")
    try:
        found = tomllib.loads(text).get("tool", {}).get(name, {})
    except (tomllib.TOMLDecodeError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {}


def _plain_table(text: str, name: str) -> dict[str, Any]:
    """The texts and lists of texts of a table, each on one line: Python 3.10 reads no TOML."""
    found: dict[str, Any] = {}
    table = ""
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            table = line.split("#")[0].strip().strip("[]").replace('"', "")
        match = re.match(r"""\s*([\w-]+)\s*=\s*(\[.*\]|"[^"]*"|'[^']*')""", line)
        if table == name and match:
            try:
                found[match[1]] = ast.literal_eval(match[2])
            except (SyntaxError, ValueError):
                continue
    return found


def load_variables(project: Path) -> None:
    """Sets the variables of .env, as `crewai run` does, where the environment has none."""
    try:
        lines = (project / ".env").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for line in lines:
        match = _VARIABLE.match(line)
        if match:
            os.environ.setdefault(match[1], _unquoted(match[2]))


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.split(" #")[0].rstrip()
