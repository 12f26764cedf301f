"""Follows the file of identities while the service runs (EXT-27).

A file with a fault changes nothing, so a half written file shuts nobody out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

from remuda.base.errors import UsageError
from remuda.edges.callers import KnownCallers
from remuda.edges.identities import AccessRules
from remuda.runtime.configuration.followed_file import (
    INTERVAL_SECONDS,
    FollowedFile,
    Mark,
)
from remuda.telemetry.audit.records import DONE, REFUSED, RELOAD_ACCESS, Audit, Record

_log = logging.getLogger("remuda.security")

Read: TypeAlias = Callable[[], AccessRules]

_KEPT: Final = "the identities in force stay"


class AccessFile(FollowedFile):
    """One file and the callers it makes known.

    Args: path: the file. read: reads it; raises UsageError. callers: gets what was read. mark:
        taken before the file was first read. audit: takes records of readings.
        interval_seconds: how often the file is looked at; None: only on request.

    Rules: EXT-26, EXT-27.
    """

    def __init__(
        self,
        path: Path,
        read: Read,
        callers: KnownCallers,
        *,
        mark: Mark,
        audit: Audit,
        interval_seconds: float | None = INTERVAL_SECONDS,
    ) -> None:
        super().__init__(path, kept=_KEPT, log=_log, mark=mark, interval_seconds=interval_seconds)
        self._read = read
        self._callers = callers
        self._audit = audit

    async def reload(self) -> None:
        """Put the identities of the file in force."""
        try:
            rules = await self.on_thread(self._read)
        except UsageError as error:
            _log.error("%s; %s", error, _KEPT)
            self._audit(Record(RELOAD_ACCESS, REFUSED, target=str(self._path), reason=str(error)))
            return
        self._audit(Record(RELOAD_ACCESS, DONE, target=str(self._path)))
        ended = self._callers.replace(rules.identities, rules.issuers)
        text = "%s was read again: %d identities, %d issuers; %d open calls were ended"
        counts = (len(rules.identities), len(rules.issuers), len(ended))
        _log.info(text, self._path, *counts)
