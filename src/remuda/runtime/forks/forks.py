"""Admits a bounded number of copies of the process, and reads their answers on other threads."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Final, final

from remuda.runtime.driver import Driver, Question
from remuda.runtime.errand import Errand, Send, promise
from remuda.runtime.forks.fork import Copy, Work, fork, possible
from remuda.runtime.forks.limits import (
    FORK_LIMITS,
    ForkFailedError,
    ForkLimits,
    ForksBusyError,
)

_MEMORY: Final = Path("/proc/meminfo")
_AVAILABLE: Final = "MemAvailable:"


@final
class Forks:
    """Where questions get a copy of the process. Any thread."""

    def __init__(self, limits: ForkLimits = FORK_LIMITS) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._taken = 0

    def answer(self, driver: Driver, question: Question) -> bytes:
        """Answer a question on a copy, on the thread that uses the core, which waits for it.

        Raises: RemudaError.
        """
        self._enter()
        try:
            return _made(driver.on_copy(question), self.limits).result()
        finally:
            self._leave()

    def answer_later(self, send: Send, driver: Driver, question: Question) -> Future[bytes]:
        """Answer a question on a copy made between two inputs of the core thread.

        The core thread stands still only while the copy is made. The future fails with RemudaError.
        Raises: ForksBusyError, ForkFailedError. Implements: EXT-43.
        """
        self._enter()
        future: Future[bytes] = promise()
        made = send(Errand(lambda: _made(driver.on_copy(question), self.limits)))
        reader = threading.Thread(
            target=self._read, args=(made, future), name="remuda-fork", daemon=True
        )
        reader.start()
        return future

    def _read(self, made: Future[Copy], future: Future[bytes]) -> None:
        """Wait for a copy, then for its answer."""
        try:
            answer = made.result().result()
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits
            self._leave()
            future.set_exception(error)
        else:
            self._leave()
            future.set_result(answer)

    def _leave(self) -> None:
        """Give a place back."""
        with self._lock:
            self._taken -= 1

    def _enter(self) -> None:
        """Take a place. Raises: ForksBusyError, ForkFailedError."""
        if not possible():
            raise ForkFailedError(
                "the scheduler cannot be copied here: that takes Linux with /proc, and the"
                " variable GRPC_ENABLE_FORK_SUPPORT has to be 0"
            )
        with self._lock:
            if self._taken >= self.limits.copies:
                raise ForksBusyError(
                    f"{self.limits.copies} copies of the scheduler answer questions already;"
                    " try again in a moment"
                )
            self._taken += 1
        if available_mib() < self.limits.memory_mib:
            self._leave()
            raise ForksBusyError(
                f"less than {self.limits.memory_mib} MiB of memory are available for a copy of"
                " the scheduler; try again later"
            )


def available_mib() -> int:
    """Return how much memory the machine has available, in MiB."""
    for line in _MEMORY.read_text().splitlines():
        if line.startswith(_AVAILABLE):
            return int(line.split()[1]) // 1024
    return 0


def _made(work: Work, limits: ForkLimits) -> Copy:
    try:
        return fork(work, limits)
    except OSError as error:
        raise ForksBusyError(
            f"the machine makes no more processes ({error.strerror}); try again later"
        ) from None
