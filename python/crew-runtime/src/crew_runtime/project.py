"""Finds what a project's folder has to run, without importing anything of it."""

import ast
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .pyproject import read_settings

_FILES_MAX = 5000
_SKIPPED = {"node_modules", "__pycache__", "venv", "env", "build", "dist", "test", "tests"}


class ProjectError(Exception):
    """A project that cannot be run, in words that say why and what to do."""


@dataclass(frozen=True)
class Entrypoint:
    """What is run: a name in a module, or the file of a crew in JSON."""

    project: Path
    module: str = ""
    name: str = ""
    file: Path | None = None
    inputs: tuple[str, ...] = ()
    """The names of its inputs, where the project says them."""

    def __str__(self) -> str:
        if self.file:
            return str(self.file.relative_to(self.project))
        return f"{self.module}:{self.name}"


@dataclass(frozen=True)
class _Found:
    kind: str
    path: Path
    module: str
    name: str


def find_entrypoint(project: Path, named: str = "") -> Entrypoint:
    """Finds what to run. Raises ProjectError."""
    if not project.is_dir():
        raise ProjectError(f"There is no folder {project}. Pass the project's as --project DIR.")
    settings = read_settings(project)
    entrypoint = named or settings.entrypoint
    if entrypoint:
        return _named(project, entrypoint, settings.inputs)
    for name in ("crew.jsonc", "crew.json"):
        if (project / name).is_file():
            return Entrypoint(project, file=project / name, inputs=settings.inputs)
    found: list[_Found] = []
    for folder in source_folders(project):
        found = found or list(_search(project, folder))
    chosen = _choose([each for each in found if each.kind == settings.type] or found)
    return Entrypoint(project, chosen.module, chosen.name, inputs=settings.inputs)


def source_folders(project: Path) -> list[Path]:
    """The folders from which a project's modules are imported."""
    return [each for each in (project / "src", project) if each.is_dir()]


def _named(project: Path, text: str, inputs: tuple[str, ...]) -> Entrypoint:
    module, colon, name = text.partition(":")
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise ProjectError(
            f'The entrypoint "{text}" is not of the form module:name, such as "my_crew.main:run". '
            "It is set in CREW_ENTRYPOINT, or as entrypoint in [tool.crew-runtime] of "
            "pyproject.toml."
        )
    return Entrypoint(project, module, name, inputs=inputs)


def _choose(found: list[_Found]) -> _Found:
    # The crews beside a flow are parts of it.
    flows = [each for each in found if each.kind == "flow"]
    candidates = flows or found
    if len(candidates) > 1:
        preferred = "main" if flows else "crew"
        candidates = [each for each in found if each.path.stem == preferred] or candidates
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = ", ".join(f"{each.module}:{each.name}" for each in candidates[:10])
        raise ProjectError(
            f"The project has {len(candidates)} crews: {names}. Say which of them is run, in "
            "CREW_ENTRYPOINT or as entrypoint in [tool.crew-runtime] of pyproject.toml."
        )
    raise ProjectError(
        "The project has no crew: neither a crew.jsonc nor a Python file with a class that is "
        "decorated with @CrewBase or derived from Flow. For a program without CrewAI, name its "
        "function as module:function, in CREW_ENTRYPOINT or as entrypoint in [tool.crew-runtime] "
        "of pyproject.toml."
    )


def _search(project: Path, root: Path) -> Iterator[_Found]:
    for path in _python_files(root):
        text = path.read_text("utf-8", "replace")
        if "CrewBase" not in text and "Flow" not in text:
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError) as error:
            where = f", line {error.lineno}" if isinstance(error, SyntaxError) else ""
            raise ProjectError(
                f"{path.relative_to(project)}{where} is not valid Python: {error.args[0]}. "
                "Correct it."
            ) from None
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        for node in ast.walk(tree):
            kind = _kind_of(node) if isinstance(node, ast.ClassDef) else ""
            if kind:
                yield _Found(kind, path, module.removesuffix(".__init__"), node.name)


def _python_files(root: Path) -> Iterator[Path]:
    seen = 0
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(
            each for each in folders if each not in _SKIPPED and not each.startswith(".")
        )
        for name in sorted(files):
            if not name.endswith(".py"):
                continue
            seen += 1
            if seen > _FILES_MAX:
                raise ProjectError(
                    f"The project has more than {_FILES_MAX} Python files. Name what is run in "
                    "CREW_ENTRYPOINT, as module:name."
                )
            yield Path(folder) / name


def _kind_of(node: ast.ClassDef) -> str:
    if any(_last_name(each) == "CrewBase" for each in node.decorator_list):
        return "crew"
    return "flow" if any(_last_name(each) == "Flow" for each in node.bases) else ""


def _last_name(node: ast.expr) -> str:
    if isinstance(node, (ast.Call, ast.Subscript)):
        return _last_name(node.func if isinstance(node, ast.Call) else node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
