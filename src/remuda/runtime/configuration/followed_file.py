"""Follows a file that people or programs replace while the process serves.

The file is read again when it changes and on request. Other threads watch it, because it may be on
a slow disk. They are daemon threads, because the disk may never answer. Only the meta data is
looked at each time: a new inode, size or time of change of what the path leads to, however many
symbolic links are on the way; configuration maps of a cluster are swapped by such a link.
"""

from __future__ import annotations

import asyncio
import logging
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from remuda.runtime.errand import promise

T = TypeVar("T")

INTERVAL_SECONDS: Final = 1.0

# A changed file is read when its mark is the same after a pause, at the latest after this many
# pauses.
_SETTLE_SECONDS: Final = 0.1
_SETTLE_LOOKS: Final = 20

# How long a look or a reading may take before a warning is logged.
_PATIENCE_SECONDS: Final = 10.0

# The meta data that changes with a file; None: there is no file.
Mark: TypeAlias = tuple[int, ...] | None


class FollowedFile(ABC):
    """One file; a class of it says what is done when it changes.

    Args: path: the file. kept: what stays in force without a new content, for the log. log: takes
        warnings. interval_seconds: how often the file is looked at; None: only on request.

    ``mark`` must be taken before the file is first read, so that no change in between is missed.
    Rules: RM-5.
    """

    def __init__(
        self,
        path: Path,
        *,
        kept: str,
        log: logging.Logger,
        mark: Mark,
        interval_seconds: float | None = INTERVAL_SECONDS,
    ) -> None:
        self._path = path
        self._kept = kept
        self._log = log
        self._mark = mark
        self._interval = interval_seconds
        self._asked = asyncio.Event()

    @abstractmethod
    async def reload(self) -> None:
        """Read the file and put it in force; what is wrong with it is told and changes nothing."""

    def tell(self) -> None:
        """Have the file read again, even if it did not change. Event loop."""
        self._asked.set()

    async def keep(self) -> None:
        """Follow the file until cancelled. Raises: what ``reload`` raises."""
        while True:
            told = await self._wait()
            mark = await self.on_thread(lambda: mark_of(self._path))
            if mark not in (None, self._mark):
                mark = await self._settled(mark)
            before, self._mark = self._mark, mark
            if told or (mark is not None and mark != before):
                await self.reload()
            elif mark != before:
                why = await self.on_thread(lambda: _trouble(self._path))
                self._log.warning("%s %s; %s", self._path, why, self._kept)

    async def on_thread(self, work: Callable[[], T]) -> T:
        """Return the result of ``work``, done by a daemon thread.

        The event loop would wait for its own threads when it ends.
        """
        done: Future[T] = promise()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
                done.set_exception(error)

        threading.Thread(target=run, name="remuda-file", daemon=True).start()
        result = asyncio.wrap_future(done)
        try:
            await asyncio.wait([result], timeout=_PATIENCE_SECONDS)
            if not result.done():
                self._log.warning("%s: no answer from its file system yet", self._path)
            return await result
        finally:
            # A result after the end of the event loop must not use it.
            result.cancel()

    async def _wait(self) -> bool:
        """Wait for the next look; True if it was requested."""
        try:
            await asyncio.wait_for(self._asked.wait(), self._interval)
        except TimeoutError:
            return False
        self._asked.clear()
        return True

    async def _settled(self, mark: Mark) -> Mark:
        """Wait while the file is being written: half a file may be a legal one."""
        for _ in range(_SETTLE_LOOKS):
            await asyncio.sleep(_SETTLE_SECONDS)
            before, mark = mark, await self.on_thread(lambda: mark_of(self._path))
            if mark == before:
                break
        return mark


def mark_of(path: Path) -> Mark:
    """Return the present mark of a file; a pipe or device has none, because reading empties it."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    # Two times: of the content, which programs may set, and of any change.
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _trouble(path: Path) -> str:
    """Return why a file has no mark."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "is gone"
    except OSError as error:
        return f"cannot be looked at: {error.strerror}"
    return "is a directory" if stat.S_ISDIR(mode) else "is not a regular file"
