"""The callbacks of one scheduler, which are called when something happens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from remuda.library.errors import RequestError
from remuda.library.records import Allocation, ApplicationUpdate, Outcome, Rejection, Release

C = TypeVar("C", bound=Callable[..., object])
A = TypeVar("A", bound=Callable[[Allocation], object])
R = TypeVar("R", bound=Callable[[Release], object])
J = TypeVar("J", bound=Callable[[Rejection], object])
U = TypeVar("U", bound=Callable[[ApplicationUpdate], object])


class Listening:
    """Callbacks by the kind of outcome; each ``on_`` method is a decorator, too, and returns it."""

    def __init__(self) -> None:
        self._callbacks: dict[type[Outcome], tuple[Callable[[Any], object], ...]] = {}

    def on_allocation(self, callback: A) -> A:
        """Call ``callback`` with each new allocation: start it there."""
        return self._add(Allocation, callback)

    def on_release(self, callback: R) -> R:
        """Call ``callback`` with each release: what ended, and what is ``ordered`` to end."""
        return self._add(Release, callback)

    def on_rejection(self, callback: J) -> J:
        """Call ``callback`` with everything that is refused, also with what is raised."""
        return self._add(Rejection, callback)

    def on_application(self, callback: U) -> U:
        """Call ``callback`` with each state that an application enters."""
        return self._add(ApplicationUpdate, callback)

    def _add(self, kind: type[Outcome], callback: C) -> C:
        if not callable(callback):
            raise RequestError(f"{callback!r:.80} cannot be called; pass a function")
        self._callbacks[kind] = (*self._callbacks.get(kind, ()), callback)
        return callback

    def _call(self, outcome: Outcome) -> None:
        """Call the callbacks for this kind of outcome, the oldest first."""
        for callback in self._callbacks.get(type(outcome), ()):
            callback(outcome)
