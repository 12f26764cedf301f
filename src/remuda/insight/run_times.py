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
from typing import Final, TypeVar, final

from remuda.base.duration import parse_decimal_seconds
from remuda.base.message import message
from remuda.core.messages.tags import RUN_TIME

K = TypeVar("K")

# How many ended applications of a kind, all of which ran longer than one that runs now, say how
# long that one will run.
LEARNED_FROM: Final = 5

# What a declared run time is worth is told in thousandths of it, so exact words stay exact.
_WHOLE: Final = 1_000

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
    return parse_decimal_seconds(tags.get(RUN_TIME, "")) or None


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
        # What declared run times were worth, in thousandths; also by the size of what was declared.
        self._worth: dict[tuple[str | int, ...], list[int]] = {}
        for each in ended:
            for kind in _kinds(each.queue, each.user, each.application_id):
                self._ran.setdefault(kind, []).append(each.ran_ns)
                if each.declared_ns:
                    worth = (each.ran_ns * _WHOLE + each.declared_ns // 2) // each.declared_ns
                    self._worth.setdefault(kind, []).append(worth)
                    self._worth.setdefault((*kind, _size(each.declared_ns)), []).append(worth)
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
                kinds = _sized(_kinds(queue, user, application_id), declared_ns)
                found = _enough(self._worth, kinds, age)
                if found is not None:
                    return Possible(*found, declared_ns)
            if declared_ns > age_ns:
                return Possible((declared_ns,))
        found = _enough(self._ran, _kinds(queue, user, application_id), age_ns)
        return Possible(*found) if found is not None else None


def _enough(
    known: Mapping[K, Sequence[int]], kinds: Iterable[K], least: int
) -> tuple[Sequence[int], int] | None:
    """Return the numbers of the first kind with enough above ``least``, and the place of these."""
    for kind in kinds:
        numbers = known.get(kind, ())
        first = bisect_right(numbers, least)
        if len(numbers) - first >= LEARNED_FROM:
            return numbers, first
    return None


def _size(declared_ns: int) -> int:
    """Return the size of a declared run time: equal for those in the same power of four."""
    return declared_ns.bit_length() // 2


def _sized(kinds: Iterable[tuple[str, ...]], declared_ns: int) -> Iterator[tuple[str | int, ...]]:
    """Yield each kind, first with those only that declared about as much."""
    for kind in kinds:
        yield (*kind, _size(declared_ns))
        yield kind


def _kinds(queue: str, user: str, application_id: str) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of an application, the closest first."""
    yield (queue, user, name_of(application_id))
    yield (queue, user)
    yield (queue,)
