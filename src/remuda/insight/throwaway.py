"""A core that is used up: it gets requests, decides, and hears that all it ordered was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn, final

from remuda.base.errors import RemudaError
from remuda.core.messages.commands import (
    STOPPED_BY_RM,
    UNKNOWN_TERMINATION_TYPE,
    AllocationRelease,
    BindPredicates,
    Command,
    UpdateAllocations,
)
from remuda.core.messages.effects import AllocationsReleased, Effect, ReleasedAllocation
from remuda.core.messages.queries import ConfigurationsQuery, ConfigurationView
from remuda.core.scheduler import Scheduler

# How many decisions one step makes, and how many rounds of steps and confirmations a trial may
# take: more than any real one does.
_DECISIONS: Final = 1_000
_ROUNDS: Final = 20_000

# Why allocations end that have ended already; all others end when their RM says so.
_ENDED: Final = (UNKNOWN_TERMINATION_TYPE, STOPPED_BY_RM)


@final
class Throwaway:
    """A core for one trial, at a time that goes on only here.

    RMs cannot be asked in a trial, so each node counts as accepted by predicates. RMs confirm at
    once what the core orders to end. A fault of the core is raised. ``effects``: all so far, with
    the times at which they happened.
    """

    def __init__(self, scheduler: Scheduler, now_ns: int) -> None:
        self.scheduler = scheduler
        self.began_ns: Final = now_ns
        self.now_ns = now_ns
        self.effects: list[tuple[int, Effect]] = []
        self._orders: list[tuple[str, ReleasedAllocation]] = []
        scheduler.contain_faults(_raise)
        for view in _managers(scheduler):
            scheduler.handle(BindPredicates(view.rm_id, predicates=False), now_ns)

    def send(self, command: Command) -> None:
        """Handle a command now."""
        self._note(self.scheduler.handle(command, self.now_ns))

    def run(self, within_ns: int) -> None:
        """Decide all there is to decide until a time after the begin of the trial.

        Time stops at each instant at which the core has something to do.
        """
        until_ns = self.began_ns + within_ns
        for _ in range(_ROUNDS):
            self.settle()
            due_ns = self.scheduler.next_deadline()
            if due_ns is None or due_ns > until_ns:
                return
            self.now_ns = max(self.now_ns, due_ns)
        raise RemudaError("the trial does not come to rest; let it look at less time")

    def settle(self) -> None:
        """Decide and confirm until nothing is left to do at this instant."""
        for _ in range(_ROUNDS):
            self._decide()
            if not self._orders:
                return
            orders, self._orders = self._orders, []
            for rm_id, order in orders:
                self.send(_confirmation(rm_id, order))

    def _decide(self) -> None:
        scheduler = self.scheduler
        while True:
            due_ns = scheduler.next_deadline()
            if not scheduler.has_work() and (due_ns is None or due_ns > self.now_ns):
                return
            self._note(scheduler.step(self.now_ns, _DECISIONS))

    def _note(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self.effects.append((self.now_ns, effect))
            if isinstance(effect, AllocationsReleased):
                self._orders += [(effect.rm_id, each) for each in effect.released if _ordered(each)]


def _managers(scheduler: Scheduler) -> list[ConfigurationView]:
    found = scheduler.view(ConfigurationsQuery())
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, ConfigurationView)]


def _ordered(released: ReleasedAllocation) -> bool:
    """Whether an allocation ends only when its RM says so. Rules: SI-77."""
    return released.termination_type not in _ENDED


def _confirmation(rm_id: str, order: ReleasedAllocation) -> UpdateAllocations:
    release = AllocationRelease(
        order.application_id,
        order.allocation_id,
        order.allocation_key,
        order.partition,
        order.termination_type,
    )
    return UpdateAllocations(rm_id, releases=(release,))


def _raise(rm_id: str, fault: Exception) -> NoReturn:
    raise fault
