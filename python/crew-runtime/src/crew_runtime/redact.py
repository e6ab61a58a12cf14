"""Takes the keys and tokens of a run out of what is reported or logged of it."""

import json
from typing import Any, Callable

_SHORTEST = 8
_INSTEAD = "[redacted]"


def secrets_of(kickoff: dict[str, Any]) -> list[str]:
    """The keys and tokens that a kickoff hands out, the longest first."""
    models = (kickoff.get("models") or {}).values()
    connections = (kickoff.get("connections") or {}).values()
    found = [each.get("api_key") for each in models]
    found += [each.get("access_token") for each in connections]
    long_enough = {each for each in found if each and len(each) >= _SHORTEST}
    return sorted(long_enough, key=len, reverse=True)


def redactor(secrets: list[str]) -> Callable[[str], str]:
    """Makes the function that replaces secrets in a text, also where it is JSON."""
    written = [*secrets, *(json.dumps(each)[1:-1] for each in secrets)]

    def redact(text: str) -> str:
        for secret in written:
            if secret in text:
                text = text.replace(secret, _INSTEAD)
        return text

    return redact
