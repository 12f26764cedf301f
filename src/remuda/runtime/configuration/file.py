"""Keeps the default configuration document in step with the file it came from.

The file is read again when it changes and when somebody says so (SIGHUP). Looking is left to
other threads, because a file may lie on a slow disk. Only the meta data is looked at each time:
a new inode, size or time of change of what the path leads to, however many symbolic links are on
the way; configuration maps of a cluster are swapped by such a link. A file that is refused, maybe
because it is half written, changes nothing and is read again after its next change.
"""

from __future__ import annotations

import asyncio
import logging
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from remuda.base.errors import ConfigError, UsageError
from remuda.config.schema import Configuration
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.configuration.errands import ConfigurationErrands

_log = logging.getLogger("remuda.config")

INTERVAL_SECONDS: Final = 1.0

# A file that changed is read when it looks the same after a pause, or after so many pauses.
_SETTLE_SECONDS: Final = 0.1
_SETTLE_LOOKS: Final = 20

# What tells one state of a file from another; None: there is no file.
Mark: TypeAlias = tuple[int, ...] | None


class ConfigurationFile:
    """One file and the document made of it.

    Args:
        path: the file.
        read: reads it; raises ConfigError or UsageError, also if it is empty: whoever empties a
            file is about to fill it, and does not mean the built-in configuration.
        configurations: where the document is put in force.
        interval_seconds: how often the file is looked at; None: only when told.

    ``mark`` has to be taken before the file is read for the first time, so that no change in
    between is missed. Rules: RM-5, SI-86, SI-88, EXT-24.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[], Configuration],
        configurations: ConfigurationErrands,
        *,
        mark: Mark,
        interval_seconds: float | None = INTERVAL_SECONDS,
    ) -> None:
        self._path = path
        self._read = read
        self._configurations = configurations
        self._mark = mark
        self._interval = interval_seconds
        self._told = asyncio.Event()

    def tell(self) -> None:
        """Have the file read again, whether it changed or not. Event loop."""
        self._told.set()

    async def keep(self) -> None:
        """Follow the file until cancelled. Raises: LoopStoppedError."""
        while True:
            told = await self._wait()
            mark = await asyncio.to_thread(mark_of, self._path)
            if mark not in (None, self._mark):
                mark = await self._settled(mark)
            before, self._mark = self._mark, mark
            if told or (mark is not None and mark != before):
                await self._reload()
            elif mark != before:
                _log.warning("%s is gone; the configuration in force stays", self._path)

    async def _wait(self) -> bool:
        """Wait for the next look; True if somebody asked for it."""
        try:
            await asyncio.wait_for(self._told.wait(), self._interval)
        except TimeoutError:
            return False
        self._told.clear()
        return True

    async def _settled(self, mark: Mark) -> Mark:
        """Wait while somebody writes: half a file may be a legal configuration with half of it."""
        for _ in range(_SETTLE_LOOKS):
            await asyncio.sleep(_SETTLE_SECONDS)
            before, mark = mark, await asyncio.to_thread(mark_of, self._path)
            if mark == before:
                break
        return mark

    async def _reload(self) -> None:
        try:
            configuration = await asyncio.to_thread(self._read)
            new = NewDocument(configuration, origin=str(self._path))
            change = await asyncio.wrap_future(self._configurations.store(new))
            change.raise_if_refused(str(self._path), name_rms=True)
        except ConfigError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s is refused, the configuration in force stays", self._path)
        except UsageError as error:
            _log.error("%s; the configuration in force stays", error)


def mark_of(path: Path) -> Mark:
    """Return the present mark of a file; a pipe or device has none, reading it once empties it."""
    try:
        found = path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
