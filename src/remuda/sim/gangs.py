"""Tasks as gangs: each is an application whose members start together, or not at all.

The resource manager asks for a placeholder and for a real allocation per member, and confirms
release requests at once. The task starts when its last member runs. The scheduler does the rest
(rules: chapter 80 section 3). A task that loses a member to a preemption stops; the other members
keep their room, and the task begins anew when the missing member has a node again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal, TypeAlias, final

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.core.messages.commands import (
    PLACEHOLDER_REPLACED,
    TIMEOUT,
    AllocationRelease,
    Ask,
    NewApplication,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationUpdated,
    ReleasedAllocation,
)
from remuda.sim.predicates import equivalence
from remuda.sim.singles import Begun, user_of
from remuda.sim.timeline import Timeline
from remuda.sim.workload import Task, Workload

Style: TypeAlias = Literal["Soft", "Hard"]

# All members of a run; two asks each, several of which may wait at a time.
MEMBERS_LIMIT: Final = 1_000_000
TASK_GROUP: Final = "members"
PLACEHOLDER: Final = "placeholder"
MEMBER: Final = "member"
# A gang that no queue could ever hold is refused by this rule; it counts and stays behind.
TOO_LARGE: Final = "GANG-3"

_FAILED: Final = "Failed"
_TIMED_OUT: Final = "ResourceReservationTimeout"


@message
class GangCounts:
    """The results of the gangs of a run.

    ``of_several``: those of more than one member. ``timed_out``: those whose placeholders did not
    all get room in time. ``failed``: those that therefore never ran (style Hard). ``too_large``:
    those larger than the maximum of their queue. ``started_in_part``: members that started while
    another one of their gang had neither placeholder nor node, though its time had not run out and
    nothing of it was preempted; it has to be 0.
    """

    gangs: int
    of_several: int
    members: int
    timed_out: int
    failed: int
    too_large: int
    started_in_part: int


def as_gangs(workload: Workload) -> Workload:
    """Return the workload with an application for each task, as a gang has to be.

    Raises: UsageError, when there are too many members, or parts that are not equal.
    """
    total = 0
    for task in workload.tasks:
        where = f"{workload.source}:{task.line}: task '{task.task_id}'"
        total += task.members
        if total > MEMBERS_LIMIT:
            have = f"this and the tasks before it have {total:,} members"
            raise UsageError(f"--gangs: {where}: {have}, at most {MEMBERS_LIMIT:,}; say --to")
        for name, amount in task.resource.items():
            if amount % task.members:
                parts = f"{amount} of {name} are not {task.members} equal parts"
                raise UsageError(f"--gangs: {where}: {parts}")
    tasks = tuple(replace(task, application_id=task.task_id) for task in workload.tasks)
    return replace(workload, tasks=tasks)


@final
class _Gang:
    """One gang under way.

    ``held``: the placeholders it has. ``swaps``: how many it gave back for a member that is about
    to begin. ``nodes``: of the members that run, by allocation ID. ``timed_out``: its time for
    placeholders ran out. ``robbed``: some of its allocations were preempted. ``asked``: how many
    allocations each of its members was asked for, if more than one; ``spare``: the number of its
    next placeholder.
    """

    __slots__ = ("asked", "held", "nodes", "robbed", "size", "spare", "swaps", "task", "timed_out")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.size = {name: amount // task.members for name, amount in task.resource.items()}
        self.held: set[str] = set()
        self.swaps = 0
        self.nodes: dict[str, str] = {}
        self.timed_out = False
        self.robbed = False
        self.asked: dict[str, int] = {}
        self.spare = task.members

    def whole(self) -> bool:
        """Whether each member runs."""
        return len(self.nodes) == self.task.members

    def covered(self) -> bool:
        """Whether each member has a placeholder or runs."""
        return len(self.held) + self.swaps + len(self.nodes) >= self.task.members


@final
class Gangs:
    """All gangs of a run: the requests for them, and the answers about them."""

    def __init__(
        self,
        style: Style,
        tasks: tuple[Task, ...],
        timeline: Timeline,
        *,
        preempts: bool = False,
    ) -> None:
        self._style = style
        self._timeline = timeline
        self._preempts = preempts
        members = [task.members for task in tasks]
        self._all = (len(members), sum(each > 1 for each in members), sum(members))
        self._gangs: dict[str, _Gang] = {}
        self._confirmations: list[AllocationRelease] = []
        self._timed_out = 0
        self._failed = 0
        self._too_large = 0
        self._started_in_part = 0

    # ---------------------------------------------------------------------------- to send

    def task_of(self, allocation_key: str) -> str:
        """Return the task of a placeholder or a member."""
        return allocation_key.rpartition("/")[0]

    def application(self, task: Task, path: str) -> NewApplication:
        """Return the application of a task; its placeholder ask has the amounts of all members."""
        self._gangs[task.task_id] = _Gang(task)
        user = user_of(task)
        return NewApplication(
            task.task_id,
            path,
            user=user,
            groups=(user,),
            placeholder_ask=task.resource,
            gang_scheduling_style=self._style,
        )

    def asks(self, task: Task) -> tuple[Ask, ...]:
        """Return a placeholder for each member, then the members; none if it was refused."""
        gang = self._gangs.get(task.task_id)
        if gang is None:
            return ()
        keys = [f"{task.task_id}/{PLACEHOLDER}-{number}" for number in range(task.members)]
        placeholders = [self._ask(gang, key, placeholder=True) for key in keys]
        keys = [f"{task.task_id}/{MEMBER}-{number}" for number in range(task.members)]
        return (*placeholders, *(self._ask(gang, key) for key in keys))

    def confirmations(self) -> tuple[AllocationRelease, ...]:
        """Return the allocations whose end has to be confirmed, once."""
        found = tuple(self._confirmations)
        self._confirmations.clear()
        return found

    # ---------------------------------------------------------------------------- to hear

    def placed(self, effect: AllocationNew) -> Begun | None:
        """Note a placeholder or a member; return the start of the task if it was the last one."""
        gang = self._gangs[effect.ask.application_id]
        if effect.ask.placeholder:
            gang.held.add(effect.allocation_id)
            self._timeline.took(gang.size)
            return None
        if gang.swaps:
            gang.swaps -= 1
        else:
            self._timeline.took(gang.size)
        gang.nodes[effect.allocation_id] = effect.node_id
        if not gang.timed_out and not gang.robbed and not gang.covered():
            self._started_in_part += 1
        return Begun(tuple(gang.nodes.values()), "") if gang.whole() else None

    def released(self, effect: AllocationsReleased) -> None:
        """Note release requests of the scheduler; answers to own releases are ignored."""
        for each in effect.released:
            kind = each.termination_type
            gang = self._gangs.get(each.application_id)
            if gang is None or kind not in (PLACEHOLDER_REPLACED, TIMEOUT):
                continue
            gang.held.discard(each.allocation_id)
            if kind == PLACEHOLDER_REPLACED:
                gang.swaps += 1
            else:
                self._timeline.ended(gang.size)
            release = AllocationRelease(
                each.application_id, each.allocation_id, termination_type=kind
            )
            self._confirmations.append(release)

    def updated(self, effect: ApplicationUpdated) -> bool:
        """Note the state of an application; return whether its task will never run."""
        gang = self._gangs.get(effect.application_id)
        if gang is None:
            return False
        if effect.message == _TIMED_OUT:
            gang.timed_out = True
            self._timed_out += 1
        if effect.state != _FAILED:
            return False
        self._failed += 1
        self._forget(gang)
        return True

    def refused(self, application_id: str, rule: str) -> bool:
        """Note that no queue could hold a gang; nothing else may be refused."""
        if rule != TOO_LARGE:
            return False
        self._too_large += 1
        self._forget(self._gangs[application_id])
        return True

    def ended(self, task: Task) -> None:
        """Note the end of a task with all its allocations."""
        gang = self._gangs[task.task_id]
        for _ in range(len(gang.held) + len(gang.nodes)):
            self._timeline.ended(gang.size)
        self._forget(gang)

    def evicted(self, victim: ReleasedAllocation) -> tuple[Ask, ...] | None:
        """Note the end of a victim; return the ask for its place, None if it had ended before.

        A placeholder is asked for again only if its member still needs one.
        """
        gang = self._gangs.get(victim.application_id)
        if gang is None:
            return None
        key = victim.allocation_key
        if victim.allocation_id in gang.nodes:
            del gang.nodes[victim.allocation_id]
            total = gang.asked[key] = gang.asked.get(key, 1) + 1
            anew: tuple[Ask, ...] = (self._ask(gang, key, total=total),)
        elif victim.allocation_id in gang.held:
            gang.held.discard(victim.allocation_id)
            anew = () if gang.timed_out or gang.covered() else (self._spare(gang),)
        else:
            return None
        gang.robbed = True
        self._timeline.ended(gang.size)
        return anew

    def whole(self, task: Task) -> bool:
        """Whether all members of a gang run."""
        return self._gangs[task.task_id].whole()

    def counts(self) -> GangCounts:
        """Return the results of all gangs."""
        return GangCounts(
            *self._all,
            timed_out=self._timed_out,
            failed=self._failed,
            too_large=self._too_large,
            started_in_part=self._started_in_part,
        )

    def _spare(self, gang: _Gang) -> Ask:
        """Return the ask for one more placeholder."""
        key = f"{gang.task.task_id}/{PLACEHOLDER}-{gang.spare}"
        gang.spare += 1
        return self._ask(gang, key, placeholder=True)

    def _ask(self, gang: _Gang, key: str, *, total: int = 1, placeholder: bool = False) -> Ask:
        return Ask(
            gang.task.task_id,
            key,
            gang.size,
            max_allocations=total,
            priority=gang.task.priority,
            task_group=TASK_GROUP,
            placeholder=placeholder,
            allow_preempt_other=self._preempts,
            equivalence=equivalence(gang.task),
        )

    def _forget(self, gang: _Gang) -> None:
        del self._gangs[gang.task.task_id]
