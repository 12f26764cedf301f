"""Work that other threads request from the core thread, and the promise of its result.

Requests go through the inbox as they are. Everything that needs an answer (a registration, a query,
a barrier) goes through it as an errand, so one inbox gives one order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Generic, Protocol, TypeVar

from remuda.base.errors import RemudaError
from remuda.runtime.interpreter import UNDISTURBED

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


def promise() -> Future[T]:
    """Return a future that cannot be cancelled: the core thread completes it in any case."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    return future


class Errand(Generic[T_co]):
    """``work`` to run on the core thread; its result or error completes ``future``.

    ``rm_id``: the resource manager among whose requests it takes its turn; "": it comes after all
    requests that are there before it.
    ``touches_core``: the work changes the scheduler. An error other than a refusal (RemudaError)
    then means that the core is broken, and is raised on the core thread as well. ``large``: the
    work may take many milliseconds, and other threads should wait until it is done.
    """

    __slots__ = ("future", "large", "rm_id", "touches_core", "work")

    def __init__(
        self,
        work: Callable[[], T_co],
        rm_id: str = "",
        *,
        touches_core: bool = False,
        large: bool = False,
    ) -> None:
        self.work = work
        self.rm_id = rm_id
        self.touches_core = touches_core
        self.large = large
        self.future: Future[T_co] = promise()

    def carry_out(self) -> None:
        """Run the work and complete the future. Core thread."""
        try:
            with UNDISTURBED if self.large else nullcontext():
                result = self.work()
        except Exception as error:
            self.future.set_exception(error)
            if self.touches_core and not isinstance(error, RemudaError):
                raise
        else:
            self.future.set_result(result)

    def give_up(self, error: Exception) -> None:
        """Fail the future, because the work will not be done."""
        self.future.set_exception(error)


class Send(Protocol):
    """Puts an errand between the inputs of the core thread."""

    def __call__(self, errand: Errand[T]) -> Future[T]:
        """Return the future of the errand, which fails if the core thread has ended."""
        ...
