"""Keeps the files that a run writes into its working directory."""

import os
from pathlib import Path

from .files import FOLDER
from .run import Run

_FILES_MAX = 50
_BYTES_MAX = 1_048_576
_SKIPPED = {"__pycache__", "node_modules", FOLDER}


def report_files(run: Run) -> None:
    """Adds the texts below the working directory to the run, without those that it has already."""
    for path in _files(Path.cwd()):
        if str(path) in run.artifacts:
            continue
        try:
            content = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        run.artifact(path.name, content)


def _files(folder: Path) -> list[Path]:
    """The new files: those of the project are links, and so are its folders."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if each not in _SKIPPED and not each.startswith(".")]
        for name in sorted(names):
            path = Path(parent, name)
            is_new = path.is_file() and not path.is_symlink() and not name.startswith(".")
            if is_new and path.stat().st_size <= _BYTES_MAX:
                found.append(path.relative_to(folder))
            if len(found) >= _FILES_MAX:
                return found
    return found
