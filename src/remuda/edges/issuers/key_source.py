"""The keys of one issuer over time: fetched, remembered, fetched again (EXT-31). Event loop only.

An issuer replaces its keys and can be out of reach. So keys are fetched again before they are old
and when a token names one that is not known, but never faster than some seconds apart: strangers
send tokens, too. Known keys are used until they are too old.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError
from remuda.edges.certificates import content
from remuda.edges.issuers.download import DownloadError, download
from remuda.edges.issuers.keys import DOCUMENT_LIMIT, Key, KeysError, read_keys
from remuda.edges.issuers.settings import Trust
from remuda.edges.lockout import RefusedTokenError

_log = logging.getLogger("remuda.security")

# Seconds for one download.
DOWNLOAD_SECONDS: Final = 5.0

# Seconds after which keys are fetched again, and the fewest between two attempts: of an address, of
# a file.
_RENEWED_AFTER: Final = 300.0
_ADDRESS_PAUSE: Final = 10.0
_FILE_PAUSE: Final = 2.0


class KeySource:
    """The keys of an issuer. ``changed``: called when they are others. ``now``: seconds."""

    def __init__(
        self,
        trust: Trust,
        changed: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._trust = trust
        self._changed = changed
        self._now = now
        self._keys: tuple[Key, ...] = ()
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None
        of_file = isinstance(trust.keys, Path)
        self._pause = _FILE_PAUSE if of_file else _ADDRESS_PAUSE
        self._renewed_after = _FILE_PAUSE if of_file else _RENEWED_AFTER

    def lists(self, digest: bytes) -> bool:
        """Whether a key is among those that are known; it is, if none was ever read."""
        return self._read_at is None or any(key.digest == digest for key in self._keys)

    def tend(self) -> None:
        """Have keys that are getting old fetched again; nobody waits for it."""
        if self._age() > self._renewed_after:
            self._begin()

    async def key(self, name: str, algorithm: str) -> Key | None:
        """Return the key that a token names, for an algorithm; None: the issuer has none.

        Raises: RefusedTokenError if it cannot be known now.
        """
        if self._age() > self._trust.kept_seconds:
            await self._refreshed()
            self._require_usable()
        self.tend()
        found = self._find(name, algorithm)
        if found is None and await self._refreshed():
            self._require_usable()
            found = self._find(name, algorithm)
        return found

    def _age(self) -> float:
        return float("inf") if self._read_at is None else self._now() - self._read_at

    def _require_usable(self) -> None:
        if self._age() > self._trust.kept_seconds:
            text = f"The keys of the issuer {self._trust.name} cannot be read; try again later"
            raise RefusedTokenError(text)

    def _find(self, name: str, algorithm: str) -> Key | None:
        """Return a key by its name; without a name the only one that fits."""
        fitting = [key for key in self._keys if key.fits(algorithm)]
        if name:
            fitting = [key for key in fitting if key.name == name]
        return fitting[0] if len(fitting) == 1 or (name and fitting) else None

    async def _refreshed(self) -> bool:
        """Wait until the keys were fetched; False if it is too early to fetch them."""
        task = self._begin()
        if task is None:
            return False
        # Others wait for it as well, so a call that ends must not end it.
        await asyncio.shield(task)
        return True

    def _begin(self) -> asyncio.Task[None] | None:
        """Begin to fetch the keys unless that is under way; None if it is too early."""
        if self._fetching is not None:
            return self._fetching
        if self._tried_at is not None and self._now() - self._tried_at < self._pause:
            return None
        self._tried_at = self._now()
        self._fetching = asyncio.create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        trust = self._trust
        try:
            fresh = await asyncio.to_thread(read_keys, await self._document())
        except (DownloadError, KeysError, UsageError) as error:
            _log.warning("the keys of the issuer %r were not read: %s", trust.name, error)
            return
        finally:
            self._fetching = None
        self._read_at = self._now()
        before = {key.digest for key in self._keys}
        self._keys = fresh
        if before != {key.digest for key in fresh}:
            _log.info("the issuer %r has %d keys that are used", trust.name, len(fresh))
            self._changed()

    async def _document(self) -> bytes:
        place = self._trust.keys
        if isinstance(place, Path):
            return await asyncio.to_thread(content, place)
        return await download(
            place, self._trust.authority, limit=DOCUMENT_LIMIT, seconds=DOWNLOAD_SECONDS
        )
