"""How long applications run: what they declare, or what others of their kind took.

Declared is the tag ``remuda/runTimeSeconds`` of an ask, else that of its application. Learned is
the time from the first allocation to the end of the last one, of ended applications that the core
still keeps. What an application declares is corrected by what such words were worth before.
Nothing else is assumed: what is neither declared nor learned is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, final

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.core.messages.tags import RUN_TIME

# How many ended applications of a kind, all of which ran longer than one that runs now, say how
# long that one will run.
LEARNED_FROM: Final = 5

# What a declared run time is worth is told in thousandths of it, so exact words stay exact.
_WHOLE: Final = 1_000

_SECONDS: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")
_PIECES: Final = re.compile(r"[-_.:]")
_HEX: Final = frozenset("0123456789abcdef")


@message
class Ended:
    """An ended application: where it ran, for whom, for how long, and what it had declared."""

    application_id: str
    queue: str
    user: str
    ran_ns: int
    declared_ns: int | None = None


@message
class Possible:
    """Run times that are possible, one as likely as another: ``times`` from ``first`` on.

    ``times``: ascending; if ``declared_ns`` is not 0, in thousandths of that.
    """

    times: Sequence[int]
    first: int = 0
    declared_ns: int = 0

    def certain(self) -> bool:
        """Whether there is only one."""
        return self.times[self.first] == self.times[-1]

    def drawn(self, chance: Random) -> int:
        """Return one of them."""
        count = len(self.times) - self.first
        found = self.times[self.first + chance.randrange(count) if count > 1 else self.first]
        return found * self.declared_ns // _WHOLE if self.declared_ns else found


def declared_ns(tags: Mapping[str, str]) -> int | None:
    """Return the run time that tags declare; None: none, or it is no number of seconds above 0.

    Rules: EXT-120.
    """
    found = _SECONDS.fullmatch(tags.get(RUN_TIME, ""))
    if found is None:
        return None
    return int(found[1]) * SECOND + int((found[2] or "").ljust(9, "0")) or None


def name_of(application_id: str) -> str:
    """Return an ID without the numbers at its end, which tell runs of one job apart.

    ``train-7`` and ``train-2026.11-3fa9`` are ``train``.
    """
    cut = len(application_id)
    for piece in reversed(_PIECES.split(application_id)):
        if not (_HEX.issuperset(piece) and any(map(str.isdigit, piece))):
            break
        cut -= len(piece) + 1
    return application_id[: max(0, cut)].rstrip("0123456789") or application_id


@final
class RunTimes:
    """What was learned from ended applications: per queue, user and name; queue and user; queue."""

    def __init__(self, ended: Iterable[Ended]) -> None:
        self._ran: dict[tuple[str, ...], list[int]] = {}
        # What declared run times were worth, in thousandths.
        self._worth: dict[tuple[str, ...], list[int]] = {}
        for each in ended:
            for kind in _kinds(each.queue, each.user, each.application_id):
                self._ran.setdefault(kind, []).append(each.ran_ns)
                if each.declared_ns:
                    worth = (each.ran_ns * _WHOLE + each.declared_ns // 2) // each.declared_ns
                    self._worth.setdefault(kind, []).append(worth)
        for times in (*self._ran.values(), *self._worth.values()):
            times.sort()

    def after(
        self,
        application_id: str,
        queue: str,
        user: str,
        *,
        age_ns: int = -1,
        declared_ns: int | None = None,
    ) -> Possible | None:
        """Return the run times beyond ``age_ns`` of an application; None: not known.

        ``declared_ns``: what the application declares. Those of the closest kind of which enough
        are longer than ``age_ns`` count. Implements: EXT-120.
        """
        if declared_ns:
            if self._worth:
                age = age_ns * _WHOLE // declared_ns
                for kind in _kinds(queue, user, application_id):
                    worth = self._worth.get(kind, [])
                    first = bisect_right(worth, age)
                    if len(worth) - first >= LEARNED_FROM:
                        return Possible(worth, first, declared_ns)
            if declared_ns > age_ns:
                return Possible((declared_ns,))
        for kind in _kinds(queue, user, application_id):
            times = self._ran.get(kind, [])
            first = bisect_right(times, age_ns)
            if len(times) - first >= LEARNED_FROM:
                return Possible(times, first)
        return None


def _kinds(queue: str, user: str, application_id: str) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of an application, the closest first."""
    yield (queue, user, name_of(application_id))
    yield (queue, user)
    yield (queue,)
