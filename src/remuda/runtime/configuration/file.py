"""Reloads the default configuration document when its file changes.

A file that is refused, maybe because it is half written, changes nothing and is read again after
its next change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from remuda.base.errors import ConfigError, UsageError
from remuda.config.schema import Configuration
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.configuration.errands import ConfigurationErrands
from remuda.runtime.configuration.followed_file import INTERVAL_SECONDS, FollowedFile, Mark

_log = logging.getLogger("remuda.config")


def nobody_told(_refusal: str) -> None:
    """Ignore a reading: the default."""


class ConfigurationFile:
    """One file and the document made of it.

    Args: path: the file. read: reads it; raises ConfigError or UsageError. configurations: where
        the document is put in force. mark, interval_seconds: as for FollowedFile. reloaded: called
        after each reading, with the reason of a refusal, else "".

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
        self._file = FollowedFile(
            path,
            self._reload,
            kept="the configuration in force stays",
            log=_log,
            mark=mark,
            interval_seconds=interval_seconds,
        )

    def tell(self) -> None:
        """Have the file read again, even if it did not change. Event loop."""
        self._file.tell()

    async def keep(self) -> None:
        """Follow the file until cancelled. Raises: LoopStoppedError."""
        await self._file.keep()

    async def _reload(self) -> None:
        try:
            configuration = await self._file.on_thread(self._read)
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
