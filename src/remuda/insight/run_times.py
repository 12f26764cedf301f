"""How long applications run: what they declare, or what others of their kind took.

Declared is the tag ``remuda/runTimeSeconds`` of an ask, else that of its application. Learned is
the time from the first allocation to the end of the last one, of ended applications that the core
still keeps. Nothing else is assumed: what is neither declared nor learned is not known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final, final

from remuda.base.duration import SECOND
from remuda.base.message import message

# The tag with which an ask, or an application for all of its asks, says how long it will run.
RUN_TIME: Final = "remuda/runTimeSeconds"

# How many ended applications of a kind, all of which ran longer than one that runs now, say how
# long that one will run.
LEARNED_FROM: Final = 5

_SECONDS: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9}))?")
_PIECES: Final = re.compile(r"[-_.:]")
_HEX: Final = frozenset("0123456789abcdef")


@message
class Ended:
    """An ended application: where it ran, for whom, and for how long."""

    application_id: str
    queue: str
    user: str
    ran_ns: int


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
        self._known: dict[tuple[str, ...], list[int]] = {}
        for each in ended:
            for kind in _kinds(each.queue, each.user, each.application_id):
                self._known.setdefault(kind, []).append(each.ran_ns)
        for times in self._known.values():
            times.sort()

    def after(self, application_id: str, queue: str, user: str, age_ns: int = -1) -> Sequence[int]:
        """Return run times of the closest kind of which enough ran longer than ``age_ns``.

        Empty: not known. Implements: EXT-120.
        """
        for kind in _kinds(queue, user, application_id):
            times = self._known.get(kind, [])
            longer = len(times) - bisect_right(times, age_ns)
            if longer >= LEARNED_FROM:
                return times[-longer:]
        return ()


def drawn(times: Sequence[int], chance: Random) -> int:
    """Return one of some run times."""
    return times[chance.randrange(len(times))]


def _kinds(queue: str, user: str, application_id: str) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of an application, the closest first."""
    yield (queue, user, name_of(application_id))
    yield (queue, user)
    yield (queue,)
