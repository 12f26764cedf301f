"""What an application has of placeholders: task groups, who waits to take a place, the timer.

A *placeholder* keeps room for a *member* of a task group that comes later. While the RM ends a
placeholder to make room, the real allocation that takes its place is *in flight*: the ask has it,
queues and users do not count it, only the node does if it is another one (GANG-14, GANG-16).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from remuda.core.model import states
from remuda.core.model.ask_order import AskOrder
from remuda.core.model.ranking import Ranking, SortKey
from remuda.core.model.vectors import Amounts, Vector, covers

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.application import Application
    from remuda.core.model.deadlines import Deadline


@final
class TaskGroup:
    """One task group of an application (GANG-35).

    ``minimum``: the size of the first placeholder seen. ``count``: members asked for or recovered;
    ``replaced``: confirmed swaps; ``timed_out``: members that went otherwise. ``free``: its
    placeholders nobody ordered out, oldest first. ``order``: its real asks with something pending.
    """

    __slots__ = ("count", "free", "minimum", "name", "order", "replaced", "timed_out")

    def __init__(self, name: str) -> None:
        self.name = name
        self.minimum: Amounts | None = None
        self.count: int = 0
        self.replaced: int = 0
        self.timed_out: int = 0
        self.free: dict[str, Allocation] = {}
        self.order = AskOrder()

    def expects(self) -> bool:
        """Whether there is, or will be, a placeholder for one more real ask. Rules: GANG-11."""
        return self.count > self.replaced + self.timed_out

    def enlist(self, amounts: Amounts, members: int) -> None:
        """Count members that were asked for or recovered. Rules: GANG-9, GANG-35."""
        if members > 0 and self.minimum is None:
            self.minimum = amounts
        self.count += max(0, members)

    def lose(self, members: int) -> None:
        """Count members that went without being replaced; never more than there were.

        Rules: GANG-35, SI-60, SI-112.
        """
        self.timed_out = min(self.count - self.replaced, self.timed_out + members)

    def replace(self) -> None:
        """Count a confirmed swap, be it one that had been given up. Rules: GANG-17, GANG-35."""
        self.replaced += 1
        self.timed_out = min(self.timed_out, self.count - self.replaced)

    def give_up(self, coming: int) -> None:
        """Count as lost all members but those replaced and those in flight. Rules: GANG-23."""
        self.timed_out = max(self.timed_out, self.count - self.replaced - coming)


@final
class Gang:
    """The placeholders of one application.

    ``total``: the amounts of ``placeholderAsk``, None without (GANG-1). ``complete``: placeholders
    covered it once; ``over``: the reservation timed out, it is an ordinary application now
    (GANG-25). ``groups``: by name. ``placeholders``: allocated ones, oldest first; ``usage``: what
    they hold; ``pending``: how many are asked for. ``replacing``: real allocations in flight by
    the ID of their placeholder. ``timer``: of the reservation, None if it is not running;
    ``since_ns``: when it began. ``ending``: the completing timer has run out (GANG-30).

    How asks were put into lanes: ``gated``: those for placeholders need quota for all of the gang;
    ``holding``: real ones wait for the last placeholder, and those of the groups in ``expecting``
    for one of their group. ``able``: groups with a free placeholder and an ask for it; ``stuck``:
    none could be replaced at the last try; ``looked_until``: the place of the ask after which a
    long try is to go on, empty for none. ``aside``: an answer of the RM is to come (EXT-14).
    """

    __slots__ = (
        "able",
        "aside",
        "complete",
        "ending",
        "expecting",
        "gated",
        "groups",
        "holding",
        "looked_since",
        "looked_until",
        "over",
        "pending",
        "placeholders",
        "replacing",
        "since_ns",
        "stuck",
        "timer",
        "total",
        "usage",
    )

    def __init__(self, total: Amounts | None) -> None:
        self.total = total
        self.complete: bool = False
        self.over: bool = False
        self.groups: dict[str, TaskGroup] = {}
        self.placeholders: dict[str, Allocation] = {}
        self.usage = Vector()
        self.pending: int = 0
        self.replacing: dict[str, Allocation] = {}
        self.timer: Deadline | None = None
        self.since_ns: int = 0
        self.ending: bool = False
        self.gated: bool = False
        self.holding: bool = False
        self.expecting: dict[str, None] = {}
        self.able: dict[str, None] = {}
        self.stuck: bool = False
        self.aside: bool = False
        self.looked_until: SortKey = ()
        self.looked_since: int = 0

    def group(self, name: str) -> TaskGroup:
        """Return a task group; the first time it is named it begins. Rules: GANG-9."""
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = TaskGroup(name)
        return found

    def reserved(self) -> bool:
        """Whether placeholders cover all that was announced; a surplus does no harm. Rules: GANG-5.

        Without an announcement they never do.
        """
        return self.total is not None and covers(self.usage, self.total)

    def not_ordered(self) -> list[Allocation]:
        """Return the placeholders nobody ordered out, oldest first. Rules: GANG-22, GANG-23."""
        return [each for each in self.placeholders.values() if not each.ordered]

    def note(self, group: TaskGroup) -> bool:
        """Note what a group has now, and return whether its asks begin or end to be held back.

        Rules: GANG-10, GANG-11.
        """
        _mark(self.able, group.name, present=bool(group.free) and group.order.count > 0)
        before = group.name in self.expecting
        _mark(self.expecting, group.name, present=group.expects())
        return before != (group.name in self.expecting)

    def gates(self, state: str, *, greedy: bool) -> tuple[bool, bool]:
        """Return whether placeholder asks need quota for the whole gang, and real ones must wait.

        Those wait for the last placeholder. Rules: GANG-4, GANG-6, GANG-25.
        """
        if self.total is None or self.complete or self.over:
            return False, False
        if state not in (states.NEW, states.ACCEPTED):
            return False, False
        some = bool(self.placeholders)
        return not greedy and not some, self.pending > 0 or some

    def renew(self, state: str, *, greedy: bool) -> tuple[bool, bool]:
        """Work out ``gated`` and ``holding`` anew, and return of each whether it changed.

        Rules: GANG-4, GANG-6, GANG-25.
        """
        before = (self.gated, self.holding)
        self.gated, self.holding = self.gates(state, greedy=greedy)
        return before[0] != self.gated, before[1] != self.holding

    def holds_back(self, task_group: str) -> bool:
        """Whether a real ask of a group, "" for none, is not placed regularly now.

        Rules: GANG-6, GANG-11.
        """
        return self.holding or task_group in self.expecting

    def may_replace(self, state: str) -> bool:
        """Whether there is a placeholder with an ask that may take its place.

        Rules: GANG-6, GANG-10, APP-12, EXT-14.
        """
        idle = (
            self.holding or self.stuck or self.aside or state in (states.RESUMING, states.FAILING)
        )
        return bool(self.able) and not idle


@final
class Swaps:
    """The applications of a leaf that may replace placeholders, in their order (QUE-39)."""

    __slots__ = ("_applications", "order")

    def __init__(self) -> None:
        self.order = Ranking()
        self._applications: dict[int, Application] = {}

    def put(self, application: Application) -> None:
        """Add an application, or put it where it stands now."""
        self._applications[application.number] = application
        self.order.put(application.standing)

    def drop(self, application: Application) -> None:
        """Take an application out, if it is in."""
        if self._applications.pop(application.number, None) is not None:
            self.order.drop(application.number)

    def clear(self) -> None:
        """Take every application out. Rules: RLD-23."""
        self._applications.clear()
        self.order.clear()

    def first(self) -> Application:
        """Return the first application; there must be one."""
        return self._applications[self.order.first()]

    def numbers(self) -> list[int]:
        """Return the numbers of its applications, sorted, for checks."""
        return sorted(self._applications)


def _mark(names: dict[str, None], name: str, *, present: bool) -> None:
    if present:
        names[name] = None
    else:
        names.pop(name, None)
