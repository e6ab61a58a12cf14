"""Puts something around a method of a class and of all that derive from it, also later."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

_MARK = "__crew_runtime__"

Method = Callable[..., Any]


def wrap_method(owner: type, name: str, wrap: Callable[[Method], Method]) -> None:
    """Replaces a method that a class itself defines, once."""
    method = vars(owner).get(name)
    if not callable(method) or getattr(method, _MARK, False):
        return
    wrapped = wrap(_plain(method))
    setattr(wrapped, _MARK, True)
    setattr(owner, name, wrapped)


def _plain(method: Method) -> Method:
    """A function of what may be an object that knows its instance only when it is bound."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method.__get__(self, type(self))(*args, **kwargs)

    call.__wrapped__ = inspect.unwrap(method)  # type: ignore[attr-defined]
    return call


def wrap_methods(base: type, wraps: dict[str, Callable[[Method], Method]]) -> None:
    """Replaces methods wherever a class and those derived from it define them."""

    def wrap_all(owner: type) -> None:
        for name, wrap in wraps.items():
            wrap_method(owner, name, wrap)

    for owner in _tree(base):
        wrap_all(owner)
    former = vars(base).get("__init_subclass__")

    def init_subclass(cls: type, **kwargs: Any) -> None:
        if former:
            former.__func__(cls, **kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        wrap_all(cls)

    base.__init_subclass__ = classmethod(init_subclass)  # type: ignore[assignment]


def _tree(base: type) -> list[type]:
    found = [base]
    for owner in found:
        found.extend(each for each in owner.__subclasses__() if each not in found)
    return found
