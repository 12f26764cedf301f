"""Notices when the process comes close to a limit of its memory, and has new work refused (EXT-39).

Limits of what is kept (SI-14) are counts, and what a count costs differs. At a limit of the system
the process is killed or fails anywhere, so nothing new is taken before that.

Freed memory is rarely given back: small objects that stay pin the blocks around them. What was
freed since the use was highest is used again for new objects, so it does not count as used.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from remuda.base.message import message
from remuda.telemetry.health.findings import Finding
from remuda.telemetry.memory_limits import (
    RESIDENT,
    Bound,
    Use,
    give_back,
    memory_bounds,
    memory_used,
    objects,
    reusable,
)
from remuda.telemetry.metrics.families import Families

_log = logging.getLogger("remuda.runtime")

_CHECK: Final = "Memory"
_CHECKED: Final = "Check whether the process stays below its limits of memory"

# Percent of a limit: from where on new work is refused, and below which it is taken again.
REFUSING: Final = 85
ADMITTING: Final = 75

# The same, if what was freed and not given back counts as well.
REFUSING_WHOLE: Final = 95
ADMITTING_WHOLE: Final = 90

# The size of a small object on average, rounded down; of asks that end it is some 90 bytes.
_OBJECT: Final = 80

# Seconds between two looks, and above such a share of a limit, as hundreds of MiB may come in a
# second. A look takes 0.2 ms.
_LOOK_SECONDS: Final = 0.25
_OFTEN_SECONDS: Final = 0.05
_OFTEN_FROM: Final = 0.5

# Seconds between two lines of the log about the same, and between two requests to the allocator.
_SAID_EVERY: Final = 60.0
_GIVEN_BACK_EVERY: Final = 1.0

_MIB: Final = 1 << 20


@message
class Process:
    """How the memory of this process is read and given back; see memory_limits."""

    bounds: Callable[[], Sequence[Bound]]
    used: Callable[[], Use | None] = memory_used
    objects: Callable[[], int] = objects
    reusable: Callable[[], int] = reusable
    give_back: Callable[[], None] = give_back


def this_process(limit: int | None) -> Process:
    """Return this process; ``limit``: bytes of memory that it was allowed, 0: any number."""
    if limit == 0:
        return Process(list)
    return Process(partial(memory_bounds, limit))


@message
class _Part:
    """How much of a limit is used, in bytes: with what was freed (``whole``), and without it."""

    bound: Bound
    whole: int
    used: int

    def reaches(self, used: int, whole: int) -> bool:
        """Whether so many percent are reached."""
        limit = self.bound.limit
        return self.used * 100 >= used * limit or self.whole * 100 >= whole * limit


class MemoryWatch:
    """Tells a scheduler when to refuse what is new. One thread looks, any may ask.

    Args:
        tell: takes why new work is refused, "" if it is not.
        process: what it looks at.
        now: reads a steady clock, in seconds.

    Rules: EXT-39.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        process: Process,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell = tell
        self._process = process
        self._now = now
        # By kind: the most objects so far, and the highest use since then; (use, objects).
        self._highest: dict[str, tuple[int, int]] = {}
        self._share = 0.0
        self._said_at = self._given_back_at = now() - _SAID_EVERY
        self.reason = ""

    def look(self) -> None:
        """Compare the use with the limits, and tell a change. Rules: EXT-39."""
        use = self._process.used()
        if use is None:
            return
        parts = [_Part(each, _of(use, each), _of(use, each)) for each in self._process.bounds()]
        if self.reason or any(each.reaches(REFUSING, REFUSING_WHOLE) for each in parts):
            parts = self._parts(parts)
        self._share = max((each.used / each.bound.limit for each in parts), default=0.0)
        levels = (ADMITTING, ADMITTING_WHOLE) if self.reason else (REFUSING, REFUSING_WHOLE)
        short = [each for each in parts if each.reaches(*levels)]
        if short:
            self._refuse(max(short, key=lambda each: each.whole / each.bound.limit))
        elif self.reason:
            self.reason = ""
            self._tell("")
            _log.warning("new asks and applications are accepted again: there is enough memory")

    def pause(self) -> float:
        """Return the seconds until the next look. Rules: EXT-39."""
        often = self._share >= _OFTEN_FROM and not self.reason
        return _OFTEN_SECONDS if often else _LOOK_SECONDS

    def scarce(self) -> bool:
        """Return whether new work is refused at the moment."""
        return bool(self.reason)

    def findings(self) -> Sequence[Finding]:
        """Return the shortage, if there is one. Rules: HLT-20."""
        if not self.reason:
            return []
        return [Finding(_CHECK, _CHECKED, _refused(self.reason), succeeded=False)]

    def add(self, families: Families) -> None:
        """Add how close the process is to a limit. Implements: MET-60."""
        text = (
            "Part of its memory that the process uses, by the limit that is closest; 0: no limit."
        )
        families.gauge("scheduler_memory_share", text).add(self._share)
        text = "Whether new asks and applications are refused for want of memory."
        families.gauge("scheduler_memory_shortage", text).add(1 if self.reason else 0)

    def _parts(self, parts: Sequence[_Part]) -> list[_Part]:
        """Give back what is free, and return what is used without what cannot be given back."""
        if self._now() - self._given_back_at >= _GIVEN_BACK_EVERY:
            self._given_back_at = self._now()
            self._process.give_back()
        use = self._process.used()
        if use is None:
            return list(parts)
        count, free = self._process.objects(), self._process.reusable()
        found = []
        for each in parts:
            whole = _of(use, each.bound) - (0 if each.bound.kind == RESIDENT else free)
            highest, most = self._highest.get(each.bound.kind, (0, 0))
            # With as many objects as ever, none of the use can be theirs that ended.
            highest, most = (whole, count) if count >= most else (max(highest, whole), most)
            self._highest[each.bound.kind] = highest, most
            used = min(whole, highest - _OBJECT * max(0, most - count))
            found.append(_Part(each.bound, whole, used))
        return found

    def _refuse(self, part: _Part) -> None:
        """Have new work refused; it is logged when that begins, and once a minute."""
        if not self.reason:
            limit = part.bound.limit // _MIB
            self.reason = (
                f"the scheduler uses {part.whole // _MIB} MiB of the {limit} MiB that it may"
                f" ({part.bound.name}); release what is not needed, or send it again later"
            )
            self._tell(self.reason)
        if self._now() - self._said_at >= _SAID_EVERY:
            self._said_at = self._now()
            _log.error("%s", _refused(self.reason))


def _of(use: Use, bound: Bound) -> int:
    """Return the use that a limit bounds."""
    return int(getattr(use, bound.kind))


def _refused(reason: str) -> str:
    return f"new asks and applications are refused: {reason}"
