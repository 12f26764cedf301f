"""Reloads the default configuration document when its file changes.

A file that is refused, maybe because it is half written, changes nothing and is read again after
its next change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from remuda.base.errors import ConfigError, UsageError
from remuda.config.schema import Configuration
from remuda.runtime.configuration.configurations import NewDocument
from remuda.runtime.configuration.errands import ConfigurationErrands
from remuda.runtime.configuration.followed_file import INTERVAL_SECONDS, FollowedFile, Mark

_log = logging.getLogger("remuda.config")


_KEPT: Final = "the configuration in force stays"


def nobody_told(_refusal: str) -> None:
    """Ignore a reading: the default."""


class ConfigurationFile(FollowedFile):
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
        super().__init__(path, kept=_KEPT, log=_log, mark=mark, interval_seconds=interval_seconds)
        self._reloaded = reloaded
        self._read = read
        self._configurations = configurations

    async def reload(self) -> None:
        """Put the document of the file in force. Raises: LoopStoppedError."""
        try:
            configuration = await self.on_thread(self._read)
            new = NewDocument(configuration, origin=str(self._path))
            change = await asyncio.wrap_future(self._configurations.store(new))
            change.raise_if_refused(str(self._path), name_rms=True)
        except ConfigError as error:
            for line in str(error).splitlines():
                _log.error("%s", line)
            _log.error("%s is refused, %s", self._path, _KEPT)
            self._reloaded("; ".join(str(error).splitlines()))
        except UsageError as error:
            _log.error("%s; %s", error, _KEPT)
            self._reloaded(str(error))
        else:
            self._reloaded("")
