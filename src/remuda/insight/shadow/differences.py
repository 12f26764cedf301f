"""How a primary and its shadow differ: per ask, and counted by queue and cause.

Names are bounded in number, counts are not, so a shadow may go on for weeks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, final

import msgspec

from remuda.base.duration import SECOND
from remuda.base.texts import shown
from remuda.insight.shadow.pairs import AppName, AskPair, Course, Pairs

# The causes, in the order in which they are counted and shown.
REFUSED: Final = "newly refused"
ACCEPTED: Final = "no longer refused"
PREEMPTED: Final = "newly preempted"
SPARED: Final = "no longer preempted"
UNPLACED: Final = "not placed"
PLACED: Final = "placed there only"
LATER: Final = "later"
EARLIER: Final = "earlier"
ELSEWHERE: Final = "elsewhere"
CAUSES: Final = (
    REFUSED,
    ACCEPTED,
    PREEMPTED,
    SPARED,
    UNPLACED,
    PLACED,
    LATER,
    EARLIER,
    ELSEWHERE,
)

# The differences that are kept with their names; further ones are only counted.
NAMED_LIMIT: Final = 10_000

# The differences that the text names, and the width of a queue there.
_SHOWN: Final = 20

# Returns the queue of an application, "" if neither side knows it.
QueueOf: TypeAlias = Callable[[AppName], str]


class Difference(msgspec.Struct, frozen=True):
    """An ask, or with an empty ``allocation_key`` an application, with another outcome.

    ``cause``: one of CAUSES; "" withdraws what was told before. ``primary``, ``shadow``: the nodes
    of its allocations, oldest first. ``seconds``: by how much the first allocation that differs is
    later in the shadow, negative: earlier. ``reason``: of a refusal. ``input``, ``at_ns``: when it
    was found.
    """

    cause: str
    queue: str
    rm_id: str
    partition: str
    application_id: str
    allocation_key: str
    primary: tuple[str, ...]
    shadow: tuple[str, ...]
    seconds: float
    reason: str
    input: int
    at_ns: int

    def __str__(self) -> str:
        """Return it as a line for a person."""
        name = "/".join(filter(None, (self.application_id, self.allocation_key)))
        return shown(f"{name} in {self.queue or 'no queue'}: {self.cause}{_detail(self)}")


class Count(msgspec.Struct, frozen=True):
    """How many asks and applications of a queue differ for one cause."""

    queue: str
    cause: str
    count: int


class ShadowResult(msgspec.Struct, frozen=True):
    """What a comparison found. The names are limited to the first 10,000 that differ.

    ``inputs``: that both schedulers got, up to number ``last_input`` at ``at_ns``. ``decisions``:
    allocations made and orders to end some, by the primary. ``starts``: how often the shadow
    started from the primary's state. ``reloads``: new configurations of the primary, which the
    shadow did not get.
    """

    inputs: int
    last_input: int
    at_ns: int
    decisions: int
    starts: int
    reloads: int
    differences: int
    counts: tuple[Count, ...]
    named: tuple[Difference, ...]

    def __str__(self) -> str:
        """Return it for a person."""
        return "\n".join(self.lines(_SHOWN))

    def lines(self, names: int) -> list[str]:
        """Return a heading, a table of queues and causes, and the first ``names`` differences."""
        told = f"{self.inputs} inputs, {self.decisions} decisions, {_count(self.differences)}"
        if self.starts > 1:
            told += f", {self.starts} starts"
        if self.reloads:
            told += f", {self.reloads} reloads not applied"
        lines = [told]
        width = max([len(each.cause) for each in self.counts], default=0)
        lines += [
            shown(f"  {each.cause:{width}}  {each.count:7}  {each.queue or 'no queue'}")
            for each in self.counts
        ]
        lines += [str(each) for each in self.named[:names]]
        left = self.differences - min(names, len(self.named))
        return [*lines, f"and {left} more"] if names and left > 0 else lines


@final
class Comparison:
    """Compares both sides of each ask that something happened to.

    ``tolerance_ns``: times that differ by no more are the same. ``tell`` is called with each
    difference as it is found, changed or withdrawn. Implements: EXT-131.
    """

    def __init__(self, pairs: Pairs, tolerance_ns: int, tell: Callable[[Difference], None]) -> None:
        self._pairs: Final = pairs
        self._tolerance_ns: Final = tolerance_ns
        self._tell: Final = tell
        self._counts: dict[tuple[str, str], int] = {}
        self._named: dict[tuple[AppName, str], Difference] = {}
        self._refused: dict[AppName, tuple[str, str]] = {}
        self._total = 0

    @property
    def total(self) -> int:
        """How many asks and applications differ."""
        return self._total

    def counts(self) -> tuple[Count, ...]:
        """Return the counts by cause, then by queue."""
        found = [(CAUSES.index(cause), queue, n) for (queue, cause), n in self._counts.items() if n]
        return tuple([Count(queue, CAUSES[cause], n) for cause, queue, n in sorted(found)])

    def named(self) -> tuple[Difference, ...]:
        """Return the first differences that were found and not withdrawn."""
        return tuple(self._named.values())

    def look(self, number: int, now_ns: int, queue_of: QueueOf) -> None:
        """Compare all asks of which something changed, after an input."""
        pairs = self._pairs
        touched, pairs.touched = pairs.touched, {}
        for name, key in touched:
            if not key:
                self._application(name, number, now_ns, queue_of)
                continue
            pair = pairs.known(name, key)
            if pair is None:
                continue
            cause, reason, seconds = self._cause(pair)
            if cause != pair.cause:
                queue = pair.queue or (queue_of(name) if cause else "")
                self._count(queue, pair.cause, cause)
                pair.cause, pair.queue = cause, queue
                found = Difference(
                    cause,
                    queue,
                    *name,
                    key,
                    _nodes_of(pair.primary),
                    _nodes_of(pair.shadow),
                    seconds,
                    reason,
                    number,
                    now_ns,
                )
                self._note(found)
            if pair.over():
                del pairs.asks[name][key]

    def _application(self, name: AppName, number: int, now_ns: int, queue_of: QueueOf) -> None:
        there = self._pairs.shadow.refused.get(name, "")
        here = self._pairs.primary.refused.get(name, "")
        cause = "" if bool(here) == bool(there) else REFUSED if there else ACCEPTED
        queue, before = self._refused.get(name, ("", ""))
        if cause == before:
            return
        queue = queue or queue_of(name)
        self._count(queue, before, cause)
        self._refused[name] = (queue, cause)
        none: tuple[str, ...] = ()
        self._note(
            Difference(cause, queue, *name, "", none, none, 0.0, there or here, number, now_ns)
        )

    def forget(self, name: AppName) -> None:
        """Drop an application that is removed; what was counted stays."""
        self._refused.pop(name, None)

    def _cause(self, pair: AskPair) -> tuple[str, str, float]:
        """Return how an ask differs, "" if it does not; why it was refused, and by how much later.

        Implements: EXT-132.
        """
        here, there = pair.primary, pair.shadow
        if bool(here.refused) != bool(there.refused):
            return (REFUSED if there.refused else ACCEPTED), here.refused or there.refused, 0.0
        if here.preempted != there.preempted:
            return (PREEMPTED if there.preempted else SPARED), "", 0.0
        place = _first_other(here, there, self._tolerance_ns)
        if place is None:
            return "", "", 0.0
        if place == len(there.made):
            return UNPLACED, "", 0.0
        if place == len(here.made):
            return PLACED, "", 0.0
        delay_ns = there.made[place].at_ns - here.made[place].at_ns
        if abs(delay_ns) > self._tolerance_ns:
            return (LATER if delay_ns > 0 else EARLIER), "", delay_ns / SECOND
        return ELSEWHERE, "", 0.0

    def _count(self, queue: str, before: str, cause: str) -> None:
        for each, change in ((before, -1), (cause, 1)):
            if each:
                self._counts[queue, each] = self._counts.get((queue, each), 0) + change
                self._total += change

    def _note(self, found: Difference) -> None:
        name = ((found.rm_id, found.partition, found.application_id), found.allocation_key)
        if not found.cause:
            self._named.pop(name, None)
        elif name in self._named or len(self._named) < NAMED_LIMIT:
            self._named[name] = found
        self._tell(found)


def _first_other(here: Course, there: Course, tolerance_ns: int) -> int | None:
    """Return the place of the first allocation that differs, None if all are the same."""
    for place, (one, other) in enumerate(zip(here.made, there.made, strict=False)):
        if one.node_id != other.node_id or abs(one.at_ns - other.at_ns) > tolerance_ns:
            return place
    same = len(here.made) == len(there.made)
    return None if same else min(len(here.made), len(there.made))


def _nodes_of(course: Course) -> tuple[str, ...]:
    return tuple([each.node_id for each in course.made])


def _detail(found: Difference) -> str:
    """Return what a line says after the cause."""
    if found.reason:
        return f": {found.reason}"
    if found.cause in (LATER, EARLIER):
        return f" by {abs(found.seconds):.3f} s"
    if found.cause in (ELSEWHERE, UNPLACED, PLACED):
        return f": on {_nodes(found.shadow)} instead of {_nodes(found.primary)}"
    return ""


def _nodes(nodes: tuple[str, ...]) -> str:
    return ", ".join(nodes[:3]) + (", ..." if len(nodes) > 3 else "") if nodes else "no node"


def _count(differences: int) -> str:
    return "1 difference" if differences == 1 else f"{differences} differences"
