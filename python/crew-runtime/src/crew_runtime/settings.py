"""The variables with which the program is started."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class SettingsError(Exception):
    """A variable or an option with a wrong value."""


@dataclass(frozen=True)
class Settings:
    """How the crew is served."""

    project: Path
    entrypoint: str
    token: str
    host: str
    port: int
    drain_seconds: int
    concurrency: int


def read_settings(
    env: Mapping[str, str], project: str | None, needs_token: bool = True
) -> Settings:
    """Reads the variables. Raises SettingsError."""
    token = env.get("CREW_TOKEN", "")
    if needs_token and not token:
        raise SettingsError(
            "CREW_TOKEN is not set: it is what workers send as Authorization: Bearer."
        )
    return Settings(
        project=Path(project or env.get("CREW_PROJECT") or ".").resolve(),
        entrypoint=env.get("CREW_ENTRYPOINT", ""),
        token=token,
        host=env.get("HOST") or "127.0.0.1",
        port=_integer(env, "PORT", 8000, (0, 65_535)),
        drain_seconds=_integer(env, "CREW_DRAIN_SECONDS", 25, (0, 3600)),
        concurrency=_integer(env, "CREW_CONCURRENCY", 4, (1, 100)),
    )


def _integer(env: Mapping[str, str], name: str, default: int, limits: tuple[int, int]) -> int:
    text = env.get(name) or str(default)
    least, most = limits
    if not text.isdecimal() or not text.isascii() or not least <= int(text) <= most:
        raise SettingsError(f'{name} is "{text}"; a number from {least} to {most} is asked for.')
    return int(text)
