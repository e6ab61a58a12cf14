"""Puts the files that a run was handed into its working directory."""

import base64
import os
import re
from pathlib import Path
from typing import Any

FOLDER = "input-files"
_NAME_CHARACTERS_MAX = 100


def place_files(kickoff: dict[str, Any]) -> dict[str, Any]:
    """Returns the inputs of a run, with the path of each file in place of what is said of it.

    A path is the same in each attempt, since what a model is asked may contain it.
    """
    files = kickoff.pop("files", None) or {}
    if files and os.path.islink(FOLDER):
        os.unlink(FOLDER)
    return {name: _place(name, value, files) for name, value in kickoff["inputs"].items()}


def _place(name: str, value: Any, files: dict[str, Any]) -> Any:
    given = files.get(value.get("file_id")) if isinstance(value, dict) else None
    if given is None:
        return value
    path = Path(FOLDER, _safe(name), _safe(given["name"]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(given["content_base64"]))
    return str(path)


def _safe(name: str) -> str:
    """A name that leads nowhere else, with its ending."""
    return re.sub(r"[^\w.+@ -]", "_", name)[-_NAME_CHARACTERS_MAX:].lstrip(". ") or "file"
