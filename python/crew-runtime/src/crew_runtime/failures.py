"""The failures of steps and runs, in words."""

from .channel import excerpt

_MESSAGE_CHARACTERS_MAX = 4000


class ApprovalUnsupported(Exception):
    """A worker without a journal cannot let a run wait."""

    code = "approval_unsupported"

    def __str__(self) -> str:
        return "The worker cannot let a run wait for a person. Update the workers."


def failure(error: BaseException) -> dict[str, str]:
    """The failure of a step or a run, in words."""
    said = str(error).strip()
    name = type(error).__name__
    code = getattr(error, "code", None)
    if said and isinstance(code, str) and code.startswith(("approval_", "replay_")):
        return {"code": code, "message": said}
    message = f"{name}: {said}" if said else name
    return {"code": "crew_failed", "message": excerpt(message, _MESSAGE_CHARACTERS_MAX)}
