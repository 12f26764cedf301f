"""Plays a trace through the scheduler's one door, on a clock that jumps from event to event.

The simulator is a resource manager like any other: it registers, adds nodes, submits each task as
an ask of its application, and releases its allocation when the task's run time is over. It never
decides anything, so its results are those of the served scheduler. At one instant ends come before
arrivals, and decisions take no time. A task without run time ends right after the decisions of its
instant, and the scheduler decides again. The same holds for the members of gangs: an allocation
ends at once when the scheduler requests its release. Only preempted allocations end a moment later
(see evictions).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias, final

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.config.process_limits import NO_LIMITS
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.messages.commands import (
    CREATE,
    DECOMISSION,
    PREEMPTED_BY_SCHEDULER,
    AllocationRelease,
    ApplicationRemoval,
    Ask,
    Command,
    NewApplication,
    NodeUpdate,
    RegisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateNodes,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationsAnswered,
    ApplicationUpdated,
    AsksRejected,
    Effect,
    NodesAnswered,
    RegistrationAnswered,
    Rejection,
    RequestRefused,
)
from remuda.core.ports import Predicates, always_true
from remuda.core.scheduler import Scheduler
from remuda.runtime.ports import Door
from remuda.sim.evictions import Evictions, Preemption
from remuda.sim.gangs import GangCounts, Gangs, Style
from remuda.sim.obstacles import Obstacle, obstacles
from remuda.sim.outages import Outage, Outages
from remuda.sim.predicates import predicates_for
from remuda.sim.queues import QueuePlan
from remuda.sim.running import Placement, Running
from remuda.sim.singles import Asking, Singles
from remuda.sim.timeline import Timeline
from remuda.sim.workload import SECOND_NS, NodeSpec, Workload

RM_ID: Final = "sim"
# Second 0 of a trace on the scheduler's clock, where time 0 means "never".
EPOCH_NS: Final = SECOND_NS
STEP_LIMIT: Final = 1_000
# Timers in a row for each task that waits, without anything placed, after which a run is over.
_IDLE_TIMERS: Final = 10

Mode: TypeAlias = Literal["replay", "fill"]
Progress: TypeAlias = Callable[[int], None]


@message
class Scenario:
    """Everything that determines a run: cluster, tasks, queues, and how tasks come.

    ``reservation_delay_ns``: how long a task waits before it may reserve a node; None: never.
    ``gangs``: each task is a gang of this style; None: each is one ask. ``preemption``: tasks may
    preempt others. ``outages``: when nodes fail, one node never twice at a time.
    """

    nodes: tuple[NodeSpec, ...]
    workload: Workload
    queues: QueuePlan
    mode: Mode
    reservation_delay_ns: int | None = RESERVATION_DELAY_NS
    gangs: Style | None = None
    preemption: bool = False
    outages: tuple[Outage, ...] = ()


@message
class Outcome:
    """The decisions in the order they were taken, and how the cluster looked meanwhile.

    ``obstacles``: what holds up the tasks that are left waiting. ``gangs``: what became of them,
    None if there are none. ``preemptions``: what was preempted, None if nothing may be.
    """

    placements: tuple[Placement, ...]
    timeline: Timeline
    obstacles: tuple[Obstacle, ...] = ()
    gangs: GangCounts | None = None
    preemptions: tuple[Preemption, ...] | None = None

    def lasting(self) -> list[Placement]:
        """Return the starts that were not cut short: one for each task that got its room."""
        return [placement for placement in self.placements if not placement.preempted]


def simulate(scenario: Scenario, progress: Progress) -> Outcome:
    """Play a scenario to its end. ``progress`` is told how many tasks are through.

    Raises: UsageError, when the scheduler refuses a node or a task.
    """
    predicates = _predicates(scenario)
    delay_ns = scenario.reservation_delay_ns
    scheduler = Scheduler(predicates, reservation_delay_ns=delay_ns, limits=NO_LIMITS)
    return play(scenario, scheduler, progress)


def play(scenario: Scenario, door: Door, progress: Progress) -> Outcome:
    """Play a scenario through a door that nothing has gone through yet."""
    run = _Run(scenario, door, progress)
    run.register()
    if scenario.mode == "fill":
        run.fill()
    else:
        run.replay()
    return Outcome(
        tuple(run.running.placements),
        run.timeline,
        run.obstacles(),
        run.gangs.counts() if run.gangs is not None else None,
        tuple(run.evictions.preemptions) if scenario.preemption else None,
    )


def _predicates(scenario: Scenario) -> Predicates:
    tasks = scenario.workload.tasks
    return predicates_for(scenario.nodes, tasks, gangs=scenario.gangs is not None)


@final
class _Run:
    """The state of one simulation."""

    def __init__(self, scenario: Scenario, door: Door, progress: Progress) -> None:
        self.timeline = Timeline([node.capacity for node in scenario.nodes])
        self.running = Running()
        self._scenario = scenario
        self._tasks = scenario.workload.tasks
        preempts = scenario.preemption
        self.gangs = None
        if scenario.gangs is not None:
            self.gangs = Gangs(scenario.gangs, self._tasks, self.timeline, preempts=preempts)
        self._asking: Asking = self.gangs or Singles(self._tasks, self.timeline, preempts=preempts)
        self._paths = scenario.queues.paths
        self._place_of = {task.task_id: place for place, task in enumerate(self._tasks)}
        self.evictions = Evictions(self._place)
        self._outages = Outages(scenario.outages)
        self._door = door
        self._progress = progress
        self._now_ns = -1
        # Tasks that were submitted, got a node or ended: a state is new when this has grown.
        self._moves = 0
        # Tasks submitted and not ended, per application: it lives as long as there are any.
        self._live: dict[str, int] = {}

    def register(self) -> None:
        """Introduce the RM and its nodes at second 0."""
        constrained = _predicates(self._scenario) is not always_true
        configuration = self._scenario.queues.configuration
        self._tell(RegisterResourceManager(RM_ID, configuration, predicates=constrained), 0)
        nodes = [NodeUpdate(each.node_id, CREATE, each.capacity) for each in self._scenario.nodes]
        self._tell(UpdateNodes(RM_ID, tuple(nodes)), 0)

    def fill(self) -> None:
        """Submit everything at once and let nothing end."""
        self._submit(range(len(self._tasks)), 0)
        self.timeline.settle(0)
        self._decide(0)

    def replay(self) -> None:
        """Go from instant to instant until nothing runs and nothing more comes."""
        tasks = self._tasks
        waiting = sorted(range(len(tasks)), key=lambda place: (tasks[place].submit_ns, place))
        waiting.reverse()
        while waiting or self._next_end() is not None:
            now_ns = self._next_instant(waiting)
            before = self._moves
            self._end_due(now_ns)
            self._evict_due(now_ns)
            self._fail_due(now_ns)
            arriving: list[int] = []
            while waiting and tasks[waiting[-1]].submit_ns == now_ns:
                arriving.append(waiting.pop())
            if arriving:
                self._submit(arriving, now_ns)
            self._decide(now_ns)
            self._settle(now_ns, before)
        self._wait_for_timers()

    def _wait_for_timers(self) -> None:
        """Let the scheduler place what it holds back for a while, though nothing else happens.

        A scheduler that always finds a reason for another timer is left alone at last.
        """
        idle = 0
        while self._live and idle < _IDLE_TIMERS * (1 + self.timeline.pending):
            times = (self._next_end(), self._door.next_deadline(), self._outages.next_change())
            if all(each is None for each in times):
                return
            now_ns = self._next_instant(())
            before = self._moves
            self._end_due(now_ns)
            self._evict_due(now_ns)
            # There are only so many outages, and a repair may be what the tasks wait for.
            changes = self._outages.next_change() == now_ns
            self._fail_due(now_ns)
            self._decide(now_ns)
            self._settle(now_ns, before)
            idle = 0 if changes or self._moves > before else idle + 1

    def _settle(self, now_ns: int, before: int) -> None:
        """Note the state after an instant, unless it only served a timer without consequence."""
        if self._moves > before:
            self.timeline.settle(now_ns)
            self._progress(self.running.finished)

    def obstacles(self) -> tuple[Obstacle, ...]:
        """Return what holds up the tasks that wait."""
        if not self.timeline.pending:
            return ()
        return obstacles(self._door, lambda request: self._place(request.allocation_key))

    def _next_instant(self, waiting: Sequence[int]) -> int:
        """Return when something happens next: an end, an arrival, a timer of the scheduler."""
        end_ns = self._next_end()
        times = [] if end_ns is None else [end_ns]
        if waiting:
            times.append(self._tasks[waiting[-1]].submit_ns)
        change_ns = self._outages.next_change()
        if change_ns is not None:
            times.append(change_ns)
        deadline_ns = self._door.next_deadline()
        if deadline_ns is not None:
            times.append(deadline_ns - EPOCH_NS)
        now_ns = min(times)
        assert now_ns > self._now_ns or deadline_ns is None or now_ns < deadline_ns - EPOCH_NS, (
            f"the timer due at {deadline_ns} ns is still due after its time"
        )
        self._now_ns = now_ns
        return now_ns

    def _next_end(self) -> int | None:
        """Return when something that runs ends next, by itself or as a victim."""
        ends = (self.running.next_end(), self.evictions.next_end())
        return min((each for each in ends if each is not None), default=None)

    def _end_due(self, now_ns: int) -> None:
        releases: list[AllocationRelease] = []
        removals: list[ApplicationRemoval] = []
        for place, allocation_id in self.running.due(now_ns):
            task = self._tasks[place]
            application_id = task.application_id
            self._asking.ended(task)
            self._moves += 1
            releases.append(AllocationRelease(application_id, allocation_id))
            self._live[application_id] -= 1
            if not self._live[application_id]:
                del self._live[application_id]
                removals.append(ApplicationRemoval(application_id))
        if releases:
            self._tell(UpdateAllocations(RM_ID, releases=tuple(releases)), now_ns)
        if removals:
            self._tell(UpdateApplications(RM_ID, remove=tuple(removals)), now_ns)

    def _evict_due(self, now_ns: int) -> None:
        """Confirm the ends of victims, and ask for the same work again."""
        anew: list[Ask] = []
        releases: list[AllocationRelease] = []
        for victim in self.evictions.due(now_ns):
            asks = self._asking.evicted(victim)
            if asks is None:
                continue
            self._moves += 1
            anew += asks
            place = self._place(victim.allocation_key)
            if not self._asking.whole(self._tasks[place]) and self.running.cut(place, now_ns):
                self.timeline.arrived(1)
            releases.append(
                AllocationRelease(
                    victim.application_id,
                    victim.allocation_id,
                    termination_type=PREEMPTED_BY_SCHEDULER,
                )
            )
        if releases:
            update = UpdateAllocations(RM_ID, asks=tuple(anew), releases=tuple(releases))
            self._tell(update, now_ns)

    def _fail_due(self, now_ns: int) -> None:
        """Take away the nodes that fail, give back those that are repaired, ask anew."""
        anew: list[Ask] = []
        for node, fails in self._outages.due(now_ns):
            spec = self._scenario.nodes[node]
            action = DECOMISSION if fails else CREATE
            update = NodeUpdate(spec.node_id, action, None if fails else spec.capacity)
            for effect in self._tell(UpdateNodes(RM_ID, (update,)), now_ns):
                if isinstance(effect, AllocationsReleased):
                    anew += self._lost(effect, now_ns)
        if anew:
            self._tell(UpdateAllocations(RM_ID, asks=tuple(anew)), now_ns)

    def _lost(self, effect: AllocationsReleased, now_ns: int) -> list[Ask]:
        """Note what ended with its node; return what to ask for in its place."""
        anew: list[Ask] = []
        for each in effect.released:
            asks = self._asking.evicted(each)
            if asks is None:
                continue
            self._moves += 1
            anew += asks
            place = self._place(each.allocation_key)
            if not self._asking.whole(self._tasks[place]) and self.running.cut(place, now_ns):
                self.timeline.arrived(1)
        return anew

    def _submit(self, places: Sequence[int], now_ns: int) -> None:
        new: list[NewApplication] = []
        for place in places:
            task = self._tasks[place]
            application_id = task.application_id
            if application_id not in self._live:
                new.append(self._asking.application(task, self._paths[place]))
            self._live[application_id] = self._live.get(application_id, 0) + 1
        self.timeline.arrived(len(places))
        self._moves += len(places)
        if new:
            self._tell(UpdateApplications(RM_ID, tuple(new)), now_ns)
        asks = [ask for place in places for ask in self._asking.asks(self._tasks[place])]
        self._tell(UpdateAllocations(RM_ID, asks=tuple(asks)), now_ns)

    def _decide(self, now_ns: int) -> None:
        """Let the scheduler allocate until nothing more can be placed at this instant."""
        working = True
        while working:
            self._hear(self._door.step(now_ns + EPOCH_NS, STEP_LIMIT), now_ns)
            self._confirm(now_ns)
            if self._scenario.mode == "fill":
                self._progress(len(self.running.placements))
            working = self._door.has_work()

    def _confirm(self, now_ns: int) -> None:
        """End what the scheduler asked to release."""
        while releases := self._asking.confirmations():
            self._moves += len(releases)
            self._tell(UpdateAllocations(RM_ID, releases=releases), now_ns)

    def _tell(self, command: Command, now_ns: int) -> Sequence[Effect]:
        effects = self._door.handle(command, now_ns + EPOCH_NS)
        for effect in effects:
            for rejection in _refusals(effect):
                if not self._asking.refused(rejection.subject, rejection.rule):
                    raise UsageError(self._explained(rejection.subject, rejection.reason))
                del self._live[rejection.subject]
        self._hear(effects, now_ns)
        return effects

    def _hear(self, effects: Sequence[Effect], now_ns: int) -> None:
        """Take note of what got a node, of what has to end, and of what will never run."""
        for effect in effects:
            if isinstance(effect, AllocationNew):
                self._placed(effect, now_ns)
            elif isinstance(effect, AllocationsReleased):
                self.evictions.heard(effect, now_ns)
                self._asking.released(effect)
            elif isinstance(effect, ApplicationUpdated) and self._asking.updated(effect):
                self._moves += 1
                self.timeline.started({})  # nothing starts: it waits no more
                del self._live[effect.application_id]

    def _placed(self, effect: AllocationNew, now_ns: int) -> None:
        self._moves += 1
        begun = self._asking.placed(effect)
        if begun is None:
            return
        self.timeline.started({})
        place = self._place(effect.ask.allocation_key)
        task = self._tasks[place]
        if self._scenario.mode == "fill":
            self.running.start(Placement(place, begun.node_ids, 0, now_ns, None), "")
            self.timeline.settle(len(self.running.placements))
            return
        assert task.duration_ns is not None, "an untimed task in a replay"
        end_ns = now_ns + task.duration_ns
        placement = Placement(place, begun.node_ids, task.submit_ns, now_ns, end_ns)
        self.running.start(placement, begun.allocation_id)

    def _place(self, allocation_key: str) -> int:
        """Return where in the workload the task of an ask is."""
        return self._place_of[self._asking.task_of(allocation_key)]

    def _explained(self, subject: str, reason: str) -> str:
        place = self._place_of.get(subject)
        if place is None:
            return f"the scheduler refuses '{subject}': {reason}"
        workload = self._scenario.workload
        where = f"{workload.source}:{workload.tasks[place].line}"
        return f"{where}: the scheduler refuses task '{subject}': {reason}"


def _refusals(effect: Effect) -> Sequence[Rejection]:
    """Return everything an effect refuses."""
    if isinstance(effect, ApplicationsAnswered | AsksRejected | NodesAnswered):
        return effect.rejected
    if isinstance(effect, RegistrationAnswered | RequestRefused) and effect.reason:
        return (Rejection(effect.rm_id, effect.reason, effect.rule),)
    return ()
