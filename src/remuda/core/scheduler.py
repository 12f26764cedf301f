"""The only entrance to the core: commands in, effects out.

Exactly one thread may touch a Scheduler. It reads no clock, does no I/O and draws no random
number: the same sequence of (time, command or step) and predicate answers gives the same
effects, byte for byte.
Implements: REC-1.
"""

from __future__ import annotations

from typing import Final, final

from remuda.config.process_limits import DEFAULT_LIMITS, Limits
from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.apply.asks.outstanding import plan_look
from remuda.core.apply.asks.questions import take_answer
from remuda.core.apply.asks.reservations import review
from remuda.core.apply.asks.retries import note_request, plan_retries
from remuda.core.apply.decisions.carry_out import carry_out
from remuda.core.apply.decisions.commit import allocate
from remuda.core.apply.queues.quota_changes import end_runs
from remuda.core.apply.requests.allocations import recover_allocations
from remuda.core.apply.requests.applications import update_applications
from remuda.core.apply.requests.asks import add_asks, release_asks
from remuda.core.apply.requests.nodes import update_nodes
from remuda.core.apply.requests.object_states import change_object_state
from remuda.core.apply.requests.pauses import note_continued, pause, resume, stop_overdue
from remuda.core.apply.requests.registration import abandon, register, stop_manager
from remuda.core.apply.requests.releases import release_allocations
from remuda.core.apply.requests.reload import update_configuration
from remuda.core.apply.requests.unreadable import refuse_unreadable
from remuda.core.apply.shortage import limit_growth
from remuda.core.apply.timers.expiry import expire_due
from remuda.core.apply.turn import Turn
from remuda.core.cycle.decide import decide, has_work
from remuda.core.cycle.preempt import decide_preemption, may_preempt
from remuda.core.invariants.partition import check
from remuda.core.invariants.victims import check_choice
from remuda.core.messages.commands import (
    BindPredicates,
    ChangeObjectState,
    Command,
    LimitGrowth,
    MoveWallClock,
    PauseResourceManager,
    PredicateVerdicts,
    PreemptionVerdicts,
    RegisterResourceManager,
    ResumeResourceManager,
    UnregisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
    UpdateNodes,
)
from remuda.core.messages.effects import Effect, RequestRefused
from remuda.core.messages.queries import Query, View
from remuda.core.model.cluster import Cluster
from remuda.core.model.decision import Allocate, NoRoom, Preempt
from remuda.core.model.partition import Partition
from remuda.core.pending.ordering import settle
from remuda.core.ports import (
    AttemptWatch,
    FaultPoint,
    FaultWatch,
    Predicates,
    PreemptionPredicates,
    always_true,
    first_will_do,
)
from remuda.core.preempt.attempt import Ports
from remuda.core.snapshot.reader import read
from remuda.core.snapshot.writer import Writer
from remuda.core.views.answers import answer

# A timer may set another one that is due at once. The limit ends the loop if a fault sets them
# forever.
_TIMER_ROUNDS: Final = 1_000


@final
class Scheduler:
    """The partitions of all RMs, with the methods that change and read them.

    ``predicates`` and ``preemption`` ask the RMs that registered with such predicates.
    ``verified``: every choice of victims is checked before it is carried out; tests set it.
    ``reservation_delay_ns``: how old an ask must be to reserve a node, None: never (RSV-3).
    ``limits``: how much each partition may keep (SI-14).

    A fault of the core is raised to the caller, unless ``contain_faults`` was called.
    """

    __slots__ = (
        "_after",
        "_cluster",
        "_fault_watch",
        "_partitions",
        "_ports",
        "_predicates",
        "_verified",
    )

    def __init__(
        self,
        predicates: Predicates = always_true,
        *,
        preemption: PreemptionPredicates = first_will_do,
        reservation_delay_ns: int | None = RESERVATION_DELAY_NS,
        limits: Limits = DEFAULT_LIMITS,
        verified: bool = False,
    ) -> None:
        self._cluster = Cluster(reservation_delay_ns, limits)
        self._predicates = predicates
        self._ports = Ports(predicates, preemption)
        self._verified = verified
        self._partitions: list[Partition] = []
        self._after: int = 0
        self._fault_watch: FaultWatch | None = None

    def watch_attempts(self, watch: AttemptWatch) -> None:
        """Call ``watch`` when an attempt to preempt begins and when it ends. Rules: MET-13."""
        self._ports.watch = watch

    def contain_faults(self, watch: FaultWatch) -> None:
        """Drop only the RM for which a fault happened, and call ``watch`` before. Rules: SI-15."""
        self._fault_watch = watch

    def set_fault_point(self, point: FaultPoint | None) -> None:
        """Call ``point`` wherever something is reported; it may raise. For tests. Rules: SI-15."""
        self._cluster.fault_point = point

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command and return its effects.

        Each element of a request is applied wholly or changes nothing; refusals are effects.
        Implements: SI-4. Rules: SI-1, SI-2, SI-3, SI-15.
        """
        turn = Turn(self._cluster, now_ns, command.rm_id)
        try:
            self._handle(turn, command)
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is ours
            self._contain(turn, fault, {})
        return turn.effects

    def _handle(self, turn: Turn, command: Command) -> None:
        """Apply one command."""
        for partition in self._partitions:
            turn.rm_id = partition.rm_id
            partition.types.begin()
        turn.rm_id = command.rm_id
        if isinstance(command, RegisterResourceManager):
            register(turn, command)
        elif isinstance(command, MoveWallClock):
            self._cluster.calendar.move(turn.now_ns, command.ahead_ns)
        elif isinstance(command, LimitGrowth):
            limit_growth(turn, command)
        elif command.rm_id not in self._cluster.managers:
            reason = f"resource manager '{command.rm_id}' is not registered"
            turn.emit(RequestRefused(command.rm_id, reason, "SI-1"))
        elif isinstance(
            command, UnregisterResourceManager | PauseResourceManager | ResumeResourceManager
        ):
            self._change(turn, command)
        elif isinstance(command, ChangeObjectState):
            change_object_state(turn, command)
        elif isinstance(command, UpdateConfiguration):
            update_configuration(turn, command)
        elif isinstance(command, PredicateVerdicts | BindPredicates | PreemptionVerdicts):
            take_answer(turn, command)
        else:
            self._update(turn, command)
        self._settle(turn)

    def step(self, now_ns: int, limit: int, *, timers: bool = True) -> list[Effect]:
        """Run due timers and make at most ``limit`` decisions.

        A decision places one allocation, or blocks asks that cannot be placed, or asks the RM.
        Partitions take turns: after an allocation in one partition, the next one is looked at
        first. Due timers run before the next decision, unless ``timers`` is False. The effects do
        not depend on how a run is split into steps. The caller repeats the call while ``has_work``
        returns True.
        Implements: CYC-1, CYC-32. Rules: CYC-3, SI-11, CYC-34, SI-15.
        """
        turn = Turn(self._cluster, now_ns)
        blamed: dict[str, None] = {}
        while True:
            try:
                self._step(turn, limit, timers=timers)
            except Exception as fault:  # noqa: BLE001 - whatever it is, it is ours
                # The RM is dropped; the others get the decisions and timers that are due.
                self._contain(turn, fault, blamed)
            else:
                return turn.effects

    def _step(self, turn: Turn, limit: int, *, timers: bool) -> None:
        """Run due timers and make decisions."""
        now_ns = turn.now_ns
        deadlines = self._cluster.deadlines
        if timers:
            self._run_timers(turn)
        for _ in range(limit):
            partition = self._next_partition(turn)
            if partition is None:
                break
            decision = decide(partition, self._predicates)
            if isinstance(decision, Allocate):
                allocate(turn, partition, decision)
                alone = len(self._partitions) == 1
                self._after = 1 if alone else self._partitions.index(partition) + 1
            else:
                if isinstance(decision, NoRoom) and may_preempt(partition, decision):
                    decision = decide_preemption(partition, decision, self._ports, now_ns)
                    if self._verified and isinstance(decision, Preempt):
                        check_choice(partition, decision, now_ns)
                carry_out(turn, partition, decision)
            reserving, waiting = partition.reserving, partition.waiting
            if (
                reserving.classes
                or reserving.nodes_to_review
                or partition.preempting.candidates is not None
            ):
                review(turn, partition)
            if waiting.outstanding.leaves or waiting.retries.stale:
                _plan(turn, partition)
            settle(partition)
            if timers and deadlines.due(now_ns):
                self._run_timers(turn)

    def next_deadline(self) -> int | None:
        """Return when the caller must call ``step`` even without a command, None for never."""
        return self._cluster.next_deadline()

    def has_work(self) -> bool:
        """Whether ``step`` has something to decide. Rules: CYC-4, CYC-5, SI-15."""
        try:
            return any(has_work(partition) for partition in self._partitions)
        except Exception:
            if self._fault_watch is None:
                raise
            return True  # the step meets the fault, too, and knows for which RM

    def view(self, query: Query) -> View:
        """Answer a read-only question with frozen records. Rules: REST-21, REST-76."""
        return answer(self._cluster, query)

    def snapshot(self) -> bytes:
        """Return the whole state, for ``restore``; equal in every build. Rules: EXT-40."""
        return Writer().write(self._cluster, self._partitions, self._after)

    def restore(self, snapshot: bytes) -> None:
        """Replace the whole state by one that ``snapshot`` returned; share nothing with it.

        Predicates, watches and whether choices are verified stay as they are. The invariants are
        not checked; ``check`` does that. Rules: EXT-40.
        Raises: SnapshotError, with the state unchanged.
        """
        self._cluster, self._partitions, self._after = read(snapshot)

    def check(self) -> None:
        """Recompute every counter and index; raise InvariantViolation on a difference."""
        check(self._cluster)

    def _next_partition(self, turn: Turn) -> Partition | None:
        """Return the next partition that has work, None if no partition has. Implements: CYC-3."""
        partitions = self._partitions
        count = len(partitions)
        if count == 1:
            turn.rm_id = partitions[0].rm_id
            return partitions[0] if has_work(partitions[0]) else None
        for number in range(self._after, self._after + count):
            partition = partitions[number % count]
            turn.rm_id = partition.rm_id
            if has_work(partition):
                return partition
        return None

    def _run_timers(self, turn: Turn) -> None:
        """Run the timers that are due, and timers that these set for now.

        Rules: APP-16, RM-18, EXT-15.

        No due timer may wait for the next step: the effects must not depend on how a run is split.
        """
        for _ in range(_TIMER_ROUNDS):
            turn.rm_id = ""
            earliest = self._cluster.next_deadline()
            if earliest is None or earliest > turn.now_ns:
                return
            stop_overdue(turn)
            expire_due(turn)
            self._settle(turn)

    def _settle(self, turn: Turn) -> None:
        """Renew the list of partitions, review their reservations and sort their queues.

        Reservations are reviewed when a request was handled whole. Rules: SI-2.
        """
        turn.rm_id = ""
        self._partitions = self._cluster.partitions()
        managers = self._cluster.managers
        for partition in self._partitions:
            turn.rm_id = partition.rm_id
            end_runs(turn, partition)
            if not managers[partition.rm_id].continued:
                review(turn, partition)
            _plan(turn, partition)
            settle(partition)
            if partition.waiting.gained_room.any:
                partition.waiting.gained_room.unblocked = {}
        turn.rm_id = ""

    def _contain(self, turn: Turn, fault: Exception, blamed: dict[str, None]) -> None:
        """Drop the RM for which a fault happened, and finish the turn for the others.

        ``blamed``: the RMs that were dropped in this call.
        Raises: the fault itself, if ``contain_faults`` was not called, if the core was working for
        no RM, or if this RM was dropped in this call already.
        Implements: SI-15.
        """
        while True:
            rm_id = turn.rm_id
            if self._fault_watch is None or not rm_id or rm_id in blamed:
                raise fault
            blamed[rm_id] = None
            self._fault_watch(rm_id, fault)
            abandon(turn, rm_id, fault)
            # The frames of the fault refer to what was dropped, and to the fault.
            fault.__traceback__ = None
            try:
                self._settle(turn)
            except Exception as another:  # noqa: BLE001 - as above
                fault = another
            else:
                return

    def _change(
        self,
        turn: Turn,
        command: UnregisterResourceManager | PauseResourceManager | ResumeResourceManager,
    ) -> None:
        """Unregister, pause or resume an RM."""
        if isinstance(command, UnregisterResourceManager):
            stop_manager(turn, command.rm_id)
        elif isinstance(command, PauseResourceManager):
            pause(turn, command)
        else:
            resume(turn, command)

    def _update(
        self, turn: Turn, command: UpdateApplications | UpdateAllocations | UpdateNodes
    ) -> None:
        rm_id = command.rm_id
        refuse_unreadable(turn, command)
        if isinstance(command, UpdateApplications):
            update_applications(turn, command)
        elif isinstance(command, UpdateNodes):
            update_nodes(turn, command)
        else:
            recover_allocations(turn, rm_id, command.allocations)
            add_asks(turn, rm_id, command.asks)
            release_asks(turn, rm_id, command.ask_releases)
            release_allocations(turn, rm_id, command.releases)
        note_request(turn, rm_id, command)
        note_continued(turn, rm_id, continued=command.continued)


def _plan(turn: Turn, partition: Partition) -> None:
    """Set the timers for reports of waiting asks and for retries. Rules: CYC-30, EXT-15."""
    plan_look(turn, partition)
    if partition.waiting.retries.stale:
        plan_retries(turn, partition)
