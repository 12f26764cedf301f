"""Reloads the default configuration document when its file changes.

The file is read again when it changes and on SIGHUP. Other threads watch it, because it may be on a
slow disk. They are daemon threads, because the disk may never answer. Only the meta data is looked
at each time: a new inode, size or time of change of what the path leads to, however many symbolic
links are on the way; configuration maps of a cluster are swapped by such a link. A file that is
refused, maybe because it is half written, changes nothing and is read again after its next change.
"""

from __future__ import annotations

import asyncio
import logging
import stat
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from remuda.base.errors import ConfigError, UsageError
from remuda.config.schema import Configuration
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.configuration.errands import ConfigurationErrands
from remuda.runtime.errand import promise

_log = logging.getLogger("remuda.config")

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


def nobody_told(_refusal: str) -> None:
    """Ignore a reading: the default."""


class ConfigurationFile:
    """One file and the document made of it.

    Args: path: the file. read: reads it; raises ConfigError or UsageError. configurations: where
        the document is put in force. interval_seconds: how often the file is looked at; None: only
        on request. reloaded: called after each reading, with the reason of a refusal, else "".

    ``mark`` must be taken before the file is first read, so that no change in between is missed.
    Rules: RM-5, SI-86, SI-88, EXT-24.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[], Configuration],
        configurations: ConfigurationErrands,
        *,
        mark: Mark,
        interval_seconds: float | None = INTERVAL_SECONDS,
        reloaded: Callable[[str], None] = nobody_told,
    ) -> None:
        self._path = path
        self._reloaded = reloaded
        self._read = read
        self._configurations = configurations
        self._mark = mark
        self._interval = interval_seconds
        self._asked = asyncio.Event()

    def tell(self) -> None:
        """Have the file read again, even if it did not change. Event loop."""
        self._asked.set()

    async def keep(self) -> None:
        """Follow the file until cancelled. Raises: LoopStoppedError."""
        while True:
            told = await self._wait()
            mark = await self._on_thread(lambda: mark_of(self._path))
            if mark not in (None, self._mark):
                mark = await self._settled(mark)
            before, self._mark = self._mark, mark
            if told or (mark is not None and mark != before):
                await self._reload()
            elif mark != before:
                why = await self._on_thread(lambda: _trouble(self._path))
                _log.warning("%s %s; the configuration in force stays", self._path, why)

    async def _wait(self) -> bool:
        """Wait for the next look; True if it was requested."""
        try:
            await asyncio.wait_for(self._asked.wait(), self._interval)
        except TimeoutError:
            return False
        self._asked.clear()
        return True

    async def _settled(self, mark: Mark) -> Mark:
        """Wait while the file is being written: half a file may be a legal configuration."""
        for _ in range(_SETTLE_LOOKS):
            await asyncio.sleep(_SETTLE_SECONDS)
            before, mark = mark, await self._on_thread(lambda: mark_of(self._path))
            if mark == before:
                break
        return mark

    async def _on_thread(self, work: Callable[[], T]) -> T:
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
                _log.warning("%s: no answer from its file system yet", self._path)
            return await result
        finally:
            # A result after the end of the event loop must not use it.
            result.cancel()

    async def _reload(self) -> None:
        try:
            configuration = await self._on_thread(self._read)
            new = NewDocument(configuration, origin=str(self._path))
            change = await asyncio.wrap_future(self._configurations.store(new))
            change.raise_if_refused(str(self._path), name_rms=True)
        except ConfigError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s is refused, the configuration in force stays", self._path)
            self._reloaded("; ".join(str(error).splitlines()))
        except UsageError as error:
            _log.error("%s; the configuration in force stays", error)
            self._reloaded(str(error))
        else:
            self._reloaded("")


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
