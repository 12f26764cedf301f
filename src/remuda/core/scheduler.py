"""The one door of the core: commands in, effects out.

Exactly one thread may touch a Scheduler. It reads no clock, does no I/O and draws no random
number: the same sequence of (time, command or step) and predicate answers gives the same
effects, byte for byte.
"""

from __future__ import annotations

from typing import final

from remuda.config.settings import RESERVATION_DELAY_NS
from remuda.core.accounting.standing import settle
from remuda.core.accounting.waiting import wake_volatile
from remuda.core.apply.allocations import recover_allocations
from remuda.core.apply.applications import update_applications
from remuda.core.apply.asks import add_asks, release_asks
from remuda.core.apply.commit import allocate
from remuda.core.apply.decisions import carry_out
from remuda.core.apply.expiry import expire_due
from remuda.core.apply.nodes import update_nodes
from remuda.core.apply.object_states import change_object_state
from remuda.core.apply.outstanding import plan_look
from remuda.core.apply.pauses import pause, resume, stop_overdue
from remuda.core.apply.questions import hear
from remuda.core.apply.quota_changes import end_runs
from remuda.core.apply.registration import register, stop_manager
from remuda.core.apply.releases import release_allocations
from remuda.core.apply.reload import update_configuration
from remuda.core.apply.reservations import review
from remuda.core.apply.turn import Turn
from remuda.core.cycle.decide import decide, has_work
from remuda.core.cycle.preempt import decide_preemption, may_preempt
from remuda.core.invariants.partition import check
from remuda.core.invariants.victims import check_choice
from remuda.core.messages.commands import (
    BindPredicates,
    ChangeObjectState,
    Command,
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
from remuda.core.model.decision import Allocate, Park, Preempt
from remuda.core.model.partition import Partition
from remuda.core.ports import Predicates, PreemptionPredicates, always_true, first_will_do
from remuda.core.preempt.attempt import Ports
from remuda.core.views.answers import answer


@final
class Scheduler:
    """Partitions of all RMs, and what happens to them.

    ``predicates`` and ``preemption`` are asked for RMs that registered with such predicates.
    ``verified``: every choice of victims is checked before it is carried out, which tests want.
    ``reservation_delay_ns``: how old an ask must be to reserve a node, None: never (RSV-3).
    """

    __slots__ = ("_after", "_cluster", "_partitions", "_ports", "_predicates", "_verified")

    def __init__(
        self,
        predicates: Predicates = always_true,
        *,
        preemption: PreemptionPredicates = first_will_do,
        reservation_delay_ns: int | None = RESERVATION_DELAY_NS,
        verified: bool = False,
    ) -> None:
        self._cluster = Cluster(reservation_delay_ns)
        self._predicates = predicates
        self._ports = Ports(predicates, preemption)
        self._verified = verified
        self._partitions: list[Partition] = []
        self._after: int = 0

    def handle(self, command: Command, now_ns: int) -> list[Effect]:
        """Apply one command and return what it caused.

        Each element of a request is applied wholly or changes nothing; refusals are effects.
        Rules: SI-1 to SI-4.
        """
        turn = Turn(self._cluster, now_ns)
        for partition in self._partitions:
            partition.types.begin()
        if isinstance(command, RegisterResourceManager):
            register(turn, command)
        elif command.rm_id not in self._cluster.managers:
            reason = f"resource manager '{command.rm_id}' is not registered"
            turn.emit(RequestRefused(command.rm_id, reason, "SI-1"))
        elif isinstance(command, UnregisterResourceManager):
            stop_manager(turn, command.rm_id)
        elif isinstance(command, PauseResourceManager):
            pause(turn, command)
        elif isinstance(command, ResumeResourceManager):
            resume(turn, command)
        elif isinstance(command, ChangeObjectState):
            change_object_state(turn, command)
        elif isinstance(command, UpdateConfiguration):
            update_configuration(turn, command)
        elif isinstance(command, PredicateVerdicts | BindPredicates | PreemptionVerdicts):
            hear(turn, command)
        else:
            self._update(turn, command)
        self._settle(turn)
        return turn.effects

    def step(self, now_ns: int, limit: int) -> list[Effect]:
        """Run due timers and make at most ``limit`` decisions.

        A decision places one allocation or sets aside asks of which none can be placed.
        Partitions take turns: after an allocation in one, the next is asked first. Timers that are
        due run before the next decision. However a run is split into steps, the effects are the
        same. Call again while ``has_work`` says so. Rules: CYC-1, CYC-3, SI-11.
        """
        turn = Turn(self._cluster, now_ns)
        deadlines = self._cluster.deadlines
        self._run_timers(turn)
        for _ in range(limit):
            partition = self._next_partition()
            if partition is None:
                break
            decision = decide(partition, self._predicates)
            if isinstance(decision, Allocate):
                allocate(turn, partition, decision)
                alone = len(self._partitions) == 1
                self._after = 1 if alone else self._partitions.index(partition) + 1
            else:
                if isinstance(decision, Park) and may_preempt(partition, decision):
                    decision = decide_preemption(partition, decision, self._ports, now_ns)
                    if self._verified and isinstance(decision, Preempt):
                        check_choice(partition, decision, now_ns)
                carry_out(turn, partition, decision)
            if partition.claims or partition.shaken or partition.candidates is not None:
                review(turn, partition)
            if partition.outstanding.leaves:
                plan_look(turn, partition)
            settle(partition)
            if deadlines.due(now_ns):
                self._run_timers(turn)
        return turn.effects

    def next_deadline(self) -> int | None:
        """Return when step must be called even if nothing happens, None for never."""
        return self._cluster.next_deadline()

    def has_work(self) -> bool:
        """Whether step would find an ask worth trying. Rules: CYC-4, CYC-5."""
        return any(has_work(partition) for partition in self._partitions)

    def view(self, query: Query) -> View:
        """Answer a read-only question with frozen records. Rules: REST-21, REST-76."""
        return answer(self._cluster, query)

    def check(self) -> None:
        """Recompute every counter and index; raise InvariantViolation on a difference."""
        check(self._cluster)

    def _next_partition(self) -> Partition | None:
        """Return the partition whose turn it is among those with work."""
        partitions = self._partitions
        count = len(partitions)
        if count == 1:
            return partitions[0] if has_work(partitions[0]) else None
        for number in range(self._after, self._after + count):
            if has_work(partitions[number % count]):
                return partitions[number % count]
        return None

    def _run_timers(self, turn: Turn) -> None:
        """Do what is due by now. Rules: APP-16, RM-18."""
        earliest = self._cluster.next_deadline()
        if earliest is not None and earliest <= turn.now_ns:
            stop_overdue(turn)
            expire_due(turn)
            self._settle(turn)

    def _settle(self, turn: Turn) -> None:
        """Look which partitions there are now and put all they have in order."""
        self._partitions = self._cluster.partitions()
        for partition in self._partitions:
            end_runs(turn, partition)
            review(turn, partition)
            plan_look(turn, partition)
            settle(partition)

    def _update(
        self, turn: Turn, command: UpdateApplications | UpdateAllocations | UpdateNodes
    ) -> None:
        rm_id = command.rm_id
        if isinstance(command, UpdateApplications):
            update_applications(turn, command)
        elif isinstance(command, UpdateNodes):
            update_nodes(turn, command)
        else:
            recover_allocations(turn, rm_id, command.allocations)
            add_asks(turn, rm_id, command.asks)
            release_asks(turn, rm_id, command.ask_releases)
            release_allocations(turn, rm_id, command.releases)
        for partition in self._cluster.managers[rm_id].partitions.values():
            if partition.predicates:
                wake_volatile(partition)
