"""Service tiers: slower answers for less, which are a wish."""

import re
from typing import Any

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_NO_ROOM = re.compile("resource.?(unavailable|exhausted)", re.IGNORECASE)
_UNKNOWN = re.compile("service.?tier", re.IGNORECASE)


def tier_of(given: Any) -> str | None:
    """The service tier that an answer names; what is not the name of one counts as none."""
    return given if isinstance(given, str) and _NAME.fullmatch(given) else None


def has_no_room(status: int | None, said: str) -> bool:
    """Whether a tier has no room: providers bill nothing for such a refusal."""
    return status == 503 or (status == 429 and bool(_NO_ROOM.search(said)))


def is_unknown(status: int | None, said: str) -> bool:
    """Whether an endpoint takes no service tier for a model."""
    return status is not None and 400 <= status < 429 and bool(_UNKNOWN.search(said))


def refused(tier: str, said: str) -> dict[str, Any]:
    """What a report says of a tier that was asked for and not given."""
    return {"tier": tier, "error": {"code": "llm_rejected", "message": said}}
