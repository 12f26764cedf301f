"""The gang of an application: its placeholders, its task groups and the reservation timer.

A *placeholder* keeps room for a *member* of a task group that comes later. While the RM ends a
placeholder, the real allocation that replaces it is *in flight*: its ask counts it, but queues and
users do not. Its node counts it only if that is not the placeholder's node (GANG-14, GANG-16).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, final

from remuda.core.model import states
from remuda.core.model.asks.ask_order import AskOrder
from remuda.core.model.ranking import Ranking, SortKey
from remuda.core.model.vectors import Amounts, Vector, amount_at, covers

if TYPE_CHECKING:
    from remuda.core.model.allocation import Allocation
    from remuda.core.model.applications.application import Application
    from remuda.core.model.deadlines import Deadline

# (type index, missing amount) for each type of which a gang still lacks some.
Lack: TypeAlias = tuple[tuple[int, int], ...]


@final
class TaskGroup:
    """One task group of an application.

    ``minimum``: the amounts of the first placeholder seen. ``count``: members asked for or
    recovered; ``replaced``: members that replaced their placeholders; ``timed_out``: members that
    ended otherwise; ``given_up``: how many of those still run, until the RM ended them (GANG-23).
    ``free``: its placeholders without a release request, oldest first. ``order``: its pending real
    asks.
    Implements: GANG-35.
    """

    __slots__ = ("count", "free", "given_up", "minimum", "name", "order", "replaced", "timed_out")

    def __init__(self, name: str) -> None:
        self.name = name
        self.minimum: Amounts | None = None
        self.count: int = 0
        self.replaced: int = 0
        self.timed_out: int = 0
        self.given_up: int = 0
        self.free: dict[str, Allocation] = {}
        self.order = AskOrder()

    def expects(self) -> bool:
        """Whether a placeholder for one more real ask exists or is expected.

        Implements: GANG-11.
        """
        return self.count > self.replaced + self.timed_out

    def enlist(self, amounts: Amounts, members: int) -> None:
        """Count members that were asked for or recovered. Implements: GANG-9. Rules: GANG-35."""
        if members > 0 and self.minimum is None:
            self.minimum = amounts
        self.count += max(0, members)

    def lose(self, members: int) -> None:
        """Count members that ended without being replaced, at most as many as there are.

        Implements: SI-112. Rules: GANG-35, SI-60.
        """
        self.timed_out = min(self.count - self.replaced, self.timed_out + members)

    def replace(self) -> None:
        """Count a confirmed replacement, also of a member counted as lost.

        Rules: GANG-17, GANG-35.
        """
        self.replaced += 1
        self.timed_out = min(self.timed_out, self.count - self.replaced)

    def lose_placeholder(self, *, ordered: bool) -> None:
        """Count a placeholder that ended, unless it was given up; ``ordered``: it was ordered out.

        Rules: GANG-23, GANG-35.
        """
        if ordered and self.given_up:
            self.given_up -= 1
        else:
            self.lose(1)

    def give_up(self, coming: int, running: int) -> None:
        """Count as lost all members that are neither replaced nor in flight.

        ``running``: how many of them have a placeholder that still runs. Rules: GANG-23.
        """
        self.timed_out = max(self.timed_out, self.count - self.replaced - coming)
        self.given_up = running


@final
class Gang:
    """The placeholders of one application.

    ``total``: the amounts of ``placeholderAsk``, None without (GANG-1). ``complete``: placeholders
    once covered ``total``; ``over``: the reservation timed out, and the application is an ordinary
    one now (GANG-25). ``groups``: task groups by name. ``placeholders``: allocated placeholders,
    oldest first; ``usage``: their amounts; ``pending``: how many placeholders are pending;
    ``lacks``: what it still lacks, as its queues count it (GANG-4). ``replacing``: real allocations
    in flight by the ID of their placeholder. ``timer``: the reservation timer, None if it is not
    running; ``since_ns``: when it began. ``ending``: the completing timer has run out (GANG-30).

    How its asks are admitted: ``needs_gang_quota``: placeholder asks need quota for the whole gang;
    ``real_asks_wait``: all real asks wait until the last placeholder is allocated; ``expecting``:
    task groups whose real asks wait for a placeholder of their group. How placeholders are
    replaced: ``able``: task groups with a free placeholder and a real ask; ``swap_failed``: the
    last try replaced none; ``looked_until``: the sort key of the ask after which an unfinished try
    continues, empty for none; ``looked_since``: the count of changes when that try began.
    ``awaits_answer``: the RM has not answered yet (EXT-14).
    """

    __slots__ = (
        "able",
        "awaits_answer",
        "complete",
        "ending",
        "expecting",
        "groups",
        "lacks",
        "looked_since",
        "looked_until",
        "needs_gang_quota",
        "over",
        "pending",
        "placeholders",
        "real_asks_wait",
        "replacing",
        "since_ns",
        "swap_failed",
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
        self.lacks: Lack = ()
        self.replacing: dict[str, Allocation] = {}
        self.timer: Deadline | None = None
        self.since_ns: int = 0
        self.ending: bool = False
        self.needs_gang_quota: bool = False
        self.real_asks_wait: bool = False
        self.expecting: dict[str, None] = {}
        self.able: dict[str, None] = {}
        self.swap_failed: bool = False
        self.awaits_answer: bool = False
        self.looked_until: SortKey = ()
        self.looked_since: int = 0

    def group(self, name: str) -> TaskGroup:
        """Return a task group; create it if it is missing. Rules: GANG-9."""
        found = self.groups.get(name)
        if found is None:
            found = self.groups[name] = TaskGroup(name)
        return found

    def reserved(self) -> bool:
        """Whether the placeholders cover at least ``total``.

        False if ``total`` is None.

        Rules: GANG-5.
        """
        return self.total is not None and covers(self.usage, self.total)

    def still_lacks(self, state: str) -> Lack:
        """Return what it lacks to be complete, if it started and may become so. Rules: GANG-4."""
        total = self.total
        if total is None or self.complete or self.over or not self.placeholders:
            return ()
        if state not in (states.NEW, states.ACCEPTED):
            return ()
        left = [(index, amount - amount_at(self.usage, index)) for index, amount in total.pairs]
        return tuple([each for each in left if each[1] > 0])

    def not_releasing(self) -> list[Allocation]:
        """Return the placeholders without a release request, oldest first.

        Rules: GANG-22, GANG-23.
        """
        return [each for each in self.placeholders.values() if not each.release_type]

    def note(self, group: TaskGroup) -> bool:
        """Renew ``able`` and ``expecting`` for a group; return whether ``expecting`` changed.

        Rules: GANG-10, GANG-11.
        """
        _mark(self.able, group.name, present=bool(group.free) and group.order.count > 0)
        before = group.name in self.expecting
        _mark(self.expecting, group.name, present=group.expects())
        return before != (group.name in self.expecting)

    def conditions(self, state: str, *, greedy: bool) -> tuple[bool, bool]:
        """Return whether placeholder asks need quota for the whole gang, and real asks must wait.

        Real asks wait until the last placeholder is allocated. Implements: GANG-6. Rules: GANG-4,
        GANG-25.
        """
        if self.total is None or self.complete or self.over:
            return False, False
        if state not in (states.NEW, states.ACCEPTED):
            return False, False
        some = bool(self.placeholders)
        return not greedy and not some, self.pending > 0 or some

    def renew(self, state: str, *, greedy: bool) -> tuple[bool, bool]:
        """Renew ``needs_gang_quota`` and ``real_asks_wait``; return for each whether it changed.

        Rules: GANG-4, GANG-6, GANG-25.
        """
        before = (self.needs_gang_quota, self.real_asks_wait)
        self.needs_gang_quota, self.real_asks_wait = self.conditions(state, greedy=greedy)
        return before[0] != self.needs_gang_quota, before[1] != self.real_asks_wait

    def keeps_waiting(self, task_group: str) -> bool:
        """Whether real asks of a task group ("" for asks of none) must wait now.

        Rules: GANG-6, GANG-11.
        """
        return self.real_asks_wait or task_group in self.expecting

    def may_replace(self, state: str) -> bool:
        """Whether a real ask may replace a placeholder now.

        Rules: GANG-6, GANG-10, APP-12, EXT-14.
        """
        idle = (
            self.real_asks_wait
            or self.swap_failed
            or self.awaits_answer
            or state in (states.RESUMING, states.FAILING)
        )
        return bool(self.able) and not idle


@final
class Swaps:
    """The applications of a leaf that may replace placeholders, in their order. Rules: QUE-39."""

    __slots__ = ("_applications", "order")

    def __init__(self) -> None:
        self.order = Ranking()
        self._applications: dict[int, Application] = {}

    def put(self, application: Application) -> None:
        """Add an application, or sort it again."""
        self._applications[application.number] = application
        self.order.put(application.sort_key)

    def drop(self, application: Application) -> None:
        """Remove an application, if it is listed."""
        if self._applications.pop(application.number, None) is not None:
            self.order.drop(application.number)

    def clear(self) -> None:
        """Remove all applications. Rules: RLD-23."""
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
