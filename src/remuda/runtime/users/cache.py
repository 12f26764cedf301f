"""Caches the groups of users for a limited time.

One cache belongs to one resolver of one partition (D-R4): what a partition learned does not
answer for another. Only results of the resolver are kept; groups that a client gives never get
here, so no client changes what others see (D-R3). Entries are too old after a time counted from
their resolution, found ones and failed ones alike (D-R1), and are then resolved again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from remuda.base.message import message
from remuda.runtime.users.resolver import ResolutionError, Resolver

# How long an answer counts, in seconds after its resolution. Implements: UGR-31.
_FOUND_SECONDS: Final = 300.0
_FAILED_SECONDS: Final = 30.0

# How often entries that nobody asks for any more are dropped (UGR-31, UGR-24).
CLEAN_SECONDS: Final = 60.0
SAMPLE_CLEAN_SECONDS: Final = 1.0

# Users remembered; beyond it the one resolved first is forgotten.
CAPACITY: Final = 50_000


@message
class Answer:
    """The groups of a user, or why they could not be found (``fault`` not empty)."""

    groups: tuple[str, ...] = ()
    fault: str = ""


@message
class _Entry:
    groups: tuple[str, ...]
    failed: bool
    resolved: float
    resolved_wall: float


class GroupCache:
    """A resolver with a memory. Any number of threads.

    Args:
        resolver: who is asked.
        now: seconds of a clock that only goes forward; what ages are measured with.
        wall: Unix seconds; what the time in a text comes from.
        clean_seconds: how often old entries are looked for.
        capacity: how many users are remembered.
        kind: the name of the resolver in configurations.
        origin: what the resolver was made from; an equal one would give the same answers.

    Implements: UGR-32 (Ours). Rules: UGR-30, UGR-31, UGR-33.
    """

    def __init__(
        self,
        resolver: Resolver,
        *,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        clean_seconds: float = CLEAN_SECONDS,
        capacity: int = CAPACITY,
        kind: str = "",
        origin: object = None,
    ) -> None:
        self.resolver = resolver
        self.kind = kind
        self.origin = origin
        self._now = now
        self._wall = wall
        self.clean_seconds = clean_seconds
        self._capacity = capacity
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._clean_due = now() + clean_seconds

    def __len__(self) -> int:
        return len(self._entries)

    def recall(self, user: str) -> Answer | None:
        """Return what is known, None if that is nothing or too old. Never waits long.

        Implements: UGR-30.
        """
        now = self._now()
        with self._lock:
            if now >= self._clean_due:
                self._clean(now)
            entry = self._entries.get(user)
            if entry is None or _too_old(entry, now):
                return None
        if not entry.failed:
            return Answer(entry.groups)
        when = datetime.fromtimestamp(entry.resolved_wall, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return Answer(fault=f"user resolution failed, cached data returned: {when}")

    def resolve(self, user: str) -> Answer:
        """Return what is known, else ask the resolver, wait for it and remember the outcome.

        Rules: UGR-30, UGR-31, UGR-32, UGR-33.
        """
        known = self.recall(user)
        if known is not None:
            return known
        try:
            answer = Answer(self.resolver.groups_of(user))
        except ResolutionError as error:
            answer = Answer(fault=str(error))
        entry = _Entry(answer.groups, bool(answer.fault), self._now(), self._wall())
        with self._lock:
            # Taken out first, so that the order of the entries is that of their resolution.
            self._entries.pop(user, None)
            self._entries[user] = entry
            if len(self._entries) > self._capacity:
                del self._entries[next(iter(self._entries))]
        return answer

    def _clean(self, now: float) -> None:
        self._entries = {
            user: entry for user, entry in self._entries.items() if not _too_old(entry, now)
        }
        self._clean_due = now + self.clean_seconds


def _too_old(entry: _Entry, now: float) -> bool:
    return now - entry.resolved > (_FAILED_SECONDS if entry.failed else _FOUND_SECONDS)
