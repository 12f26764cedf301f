"""The shadow of a scheduler: a core that gets its inputs under another configuration.

It decides and never acts. It makes a step whenever the primary makes one. It makes more only where
it has work and the primary has none, so under the same configuration both decide the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn, final

from remuda.base.errors import ConfigError, Problem, RemudaError, UsageError
from remuda.base.message import message
from remuda.config.process_limits import Limits
from remuda.config.schema import Configuration
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.commands import (
    STOPPED_BY_RM,
    AllocationRelease,
    Ask,
    Command,
    PredicateVerdicts,
    RegisterResourceManager,
    UnregisterResourceManager,
    UpdateAllocations,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ConfigurationAnswered,
    Effect,
    RegistrationAnswered,
    ResourceManagerFailed,
    ResourceManagerStopped,
)
from remuda.core.messages.queries import (
    ConfigurationsQuery,
    ConfigurationView,
    PartitionsQuery,
    PartitionView,
)
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.scheduler import Scheduler
from remuda.insight.explanation import waiting_asks
from remuda.insight.shadow.differences import Comparison, Difference, ShadowResult
from remuda.insight.shadow.pairs import ENDED, AppName, Made, Pairs, app_name
from remuda.insight.shadow.translation import Translation, fewer
from remuda.insight.shadow.verdicts import Answered, Verdicts

# How many decisions a step makes that the primary does not make, and how many such steps follow
# one input: more than any real one takes.
_DECISIONS: Final = 1_000
_ROUNDS: Final = 20_000


@message
class Told:
    """An input of the primary: a command, or a step of up to ``limit`` decisions.

    ``timers`` False: due timers are held. ``answered``: the questions of the primary during it.
    """

    number: int
    now_ns: int
    command: Command | None = None
    limit: int = 0
    timers: bool = True
    answered: Sequence[Answered] = ()


@message
class Trial:
    """What the shadow tries.

    ``rm_id``: whose configuration it is, "": of the only RM. ``source``: its name in errors.
    ``tolerance_ns``: times that differ by no more count as the same.
    """

    configuration: Configuration
    rm_id: str = ""
    source: str = "the new configuration"
    tolerance_ns: int = 0


def _nobody(difference: Difference) -> None:
    """Ignore differences as they are found."""


@final
class Twin:
    """A shadow with all that is known of both sides.

    For each input: ``before``, then the primary gets it, then ``after``. ``tell`` is called with
    each difference as it is found, changed or withdrawn. Implements: EXT-128.
    """

    def __init__(self, trial: Trial, tell: Callable[[Difference], None] = _nobody) -> None:
        self._trial: Final = trial
        self._tell: Final = tell
        self._rm_id = trial.rm_id
        self._verdicts = Verdicts()
        self._pairs = Pairs()
        self._translation = Translation(self._pairs)
        self._comparison = Comparison(self._pairs, trial.tolerance_ns, tell)
        self._queues: dict[AppName, str] = {}
        self._primary = self.scheduler = Scheduler()
        self._timers = True
        self._inputs = self._number = self._now_ns = self._decisions = 0
        self._starts = self._reloads = 0
        self.applied = False

    # ------------------------------------------------------------------------------ start

    def start(
        self, primary: Scheduler, reservation_delay_ns: int | None, limits: Limits, now_ns: int
    ) -> None:
        """Begin with the state of the primary, and put the new configuration in force.

        What was found before stays counted; from here on the sides are equal again.
        Raises: UsageError if there is no such RM; ConfigError if the configuration is refused.
        """
        self._primary = primary
        self._verdicts = Verdicts()
        self.scheduler = Scheduler(
            self._verdicts,
            preemption=self._verdicts.about_victims,
            reservation_delay_ns=reservation_delay_ns,
            limits=limits,
        )
        self.scheduler.contain_faults(_raise)
        self.scheduler.restore(primary.snapshot())
        self._queues.clear()
        for name in [*self._pairs.asks, *self._pairs.primary.refused, *self._pairs.shadow.refused]:
            self._forget(name)
        self._starts += 1
        self._timers = True
        for view in _partitions(primary):
            self._take(view)
        self._pairs.touched.clear()
        known = [view.rm_id for view in _managers(primary)]
        if known:
            self._rm_id = _chosen(known, self._trial.rm_id)
            self._reload(now_ns)

    def _take(self, partition: PartitionView) -> None:
        """Note what both sides begin with."""
        pairs, look = self._pairs, self._primary.view
        found = look(ApplicationRowsQuery(partition.name, rm_id=partition.rm_id))
        assert isinstance(found, Rows)
        for view in found:
            assert isinstance(view, ApplicationView)
            name = (partition.rm_id, partition.name, view.application_id)
            for each in view.allocations:
                for side in (pairs.primary, pairs.shadow):
                    made = Made(each.allocation_id, each.node_id, 0)
                    pairs.hold(side, name, each.allocation_key, made)
                    if each.release_type:
                        orders = side.orders.setdefault(name, {})
                        orders[each.allocation_id] = each.release_type
                pair = pairs.pair(name, each.allocation_key)
                pair.total, pair.placeholder = len(pair.primary.made), each.placeholder
            for request in waiting_asks(look, view):
                pair = pairs.pair(name, request.allocation_key, 0)
                pair.total += request.pending_count
                pair.placeholder = request.placeholder

    def _reload(self, now_ns: int) -> None:
        """Put the new configuration in force. Raises: ConfigError."""
        command = UpdateConfiguration(self._rm_id, self._trial.configuration)
        effects = self.scheduler.handle(command, now_ns)
        for effect in effects:
            if isinstance(effect, ConfigurationAnswered) and effect.reason:
                texts = effect.problems or (effect.reason,)
                problems = [Problem("", effect.rule, text) for text in texts]
                raise ConfigError(problems, self._trial.source)
        self._pairs.happened(self._pairs.shadow, command, effects, now_ns)
        self.applied = True

    # ------------------------------------------------------------------------- each input

    def before(self, now_ns: int) -> None:
        """Let timers of the shadow run that come before the next input and before the primary's."""
        primary_ns = self._primary.next_deadline()
        for _ in range(_ROUNDS):
            due_ns = self.scheduler.next_deadline()
            if due_ns is None or due_ns >= now_ns or not self._timers:
                return
            if primary_ns is not None and primary_ns <= due_ns:
                return
            self._did(None, self.scheduler.step(due_ns, _DECISIONS), due_ns)
            self._settle(due_ns)
            if self.scheduler.next_deadline() == due_ns:
                return

    def after(self, told: Told, effects: Sequence[Effect]) -> None:
        """Give the shadow an input that the primary got, and compare. ``effects``: the primary's.

        Raises: ConfigError if the new configuration is refused; UsageError if it is not clear whose
        it is; RemudaError if the shadow does not come to rest.
        """
        pairs, command = self._pairs, told.command
        self._number, self._now_ns = told.number, told.now_ns
        self._inputs += 1
        self._decisions += sum(map(_decided, effects))
        self._verdicts.give(told.answered)
        gone = _removed(command, effects, pairs)
        translated = None if command is None else self._translated(command)
        if command is not None:
            if isinstance(command, RegisterResourceManager | UnregisterResourceManager):
                self._look(told.now_ns)
                for name in gone:
                    self._forget(name)
            pairs.sent(command)
            pairs.confirmed(pairs.primary, command)
        pairs.happened(pairs.primary, command, effects, told.now_ns)
        if command is None:
            self._timers = told.timers
            found = self.scheduler.step(told.now_ns, told.limit, timers=told.timers)
            self._did(None, found, told.now_ns)
        elif translated is not None:
            self._send(translated, told.now_ns)
        if not isinstance(command, UpdateAllocations | UpdateApplications):
            self._follow_gone(told.now_ns)
        pairs.gone.clear()
        self._settle(told.now_ns)
        self._look(told.now_ns)
        for name in gone:
            self._forget(name)

    def result(self) -> ShadowResult:
        """Return what was found so far."""
        found = self._comparison
        return ShadowResult(
            self._inputs,
            self._number,
            self._now_ns,
            self._decisions,
            self._starts,
            self._reloads,
            found.total,
            found.counts(),
            found.named(),
        )

    def _translated(self, command: Command) -> Command | None:
        """Return what the shadow gets; None: nothing."""
        if isinstance(command, PredicateVerdicts):
            self._verdicts.hear(command)
        elif isinstance(command, UpdateConfiguration):
            if command.rm_id == self._rm_id and not command.dry_run:
                self._reloads += 1
                return None
        elif isinstance(command, RegisterResourceManager):
            return self._registration(command)
        return self._translation.of(command)

    def _registration(self, command: RegisterResourceManager) -> RegisterResourceManager:
        """Register an RM with the new configuration, if it is the one."""
        if not self._rm_id:
            self._rm_id = command.rm_id
        elif not self._trial.rm_id and command.rm_id != self._rm_id:
            _chosen([self._rm_id, command.rm_id], "")
        if command.rm_id != self._rm_id:
            return command
        return replace(command, config=self._trial.configuration)

    def _send(self, command: Command, now_ns: int) -> None:
        """Let the shadow handle a command."""
        self._pairs.confirmed(self._pairs.shadow, command)
        effects = self.scheduler.handle(command, now_ns)
        self._did(command, effects, now_ns)
        if isinstance(command, RegisterResourceManager) and command.rm_id == self._rm_id:
            for effect in effects:
                if isinstance(effect, RegistrationAnswered) and effect.reason:
                    problem = Problem("", effect.rule, effect.reason)
                    raise ConfigError([problem], self._trial.source)
            self.applied = True

    def _did(self, command: Command | None, effects: Sequence[Effect], now_ns: int) -> None:
        self._pairs.happened(self._pairs.shadow, command, effects, now_ns)

    def _settle(self, now_ns: int) -> None:
        """Confirm what only the shadow orders, and decide what only the shadow has to decide."""
        rests = not self._primary.has_work()
        for _ in range(_ROUNDS):
            orders, self._pairs.orders = self._pairs.orders, []
            for name, key, allocation_id in orders:
                self._confirm((name, key, allocation_id), now_ns)
            if rests and self.scheduler.has_work():
                self._did(None, self.scheduler.step(now_ns, _DECISIONS, timers=False), now_ns)
            elif not self._pairs.orders:
                return
        raise RemudaError(f"the shadow does not come to rest after input {self._number}")

    def _confirm(self, order: tuple[AppName, str, str], now_ns: int) -> None:
        """Confirm an order, unless the primary has given the same: then its RM confirms it.

        Implements: EXT-133.
        """
        pairs = self._pairs
        name, key, allocation_id = order
        kind = pairs.shadow.orders.get(name, {}).get(allocation_id)
        pair = pairs.known(name, key)
        if kind is None or pair is None:
            return
        place = pair.shadow.live.get(allocation_id, 0)
        waiting = pairs.primary.orders.get(name, {})
        if place < len(pair.primary.made):
            same = pair.primary.made[place].allocation_id
            if same in waiting and same in pair.primary.live:
                return
        rm_id, partition, application_id = name
        release = AllocationRelease(application_id, allocation_id, key, partition, kind)
        self._send(UpdateAllocations(rm_id, releases=(release,)), now_ns)

    def _follow_gone(self, now_ns: int) -> None:
        """End what ended in the primary with its node."""
        for name, key, place in self._pairs.gone:
            pair = self._pairs.known(name, key)
            if pair is None:
                continue
            rm_id, partition, application_id = name
            own, waits = pair.counterpart(place)
            if waits:
                pair.withdrawn += 1
                less = fewer(pair, name, key, partition)
                if isinstance(less, Ask):
                    self._send(UpdateAllocations(rm_id, asks=(less,)), now_ns)
                else:
                    self._send(UpdateAllocations(rm_id, ask_releases=(less,)), now_ns)
            elif own:
                end = AllocationRelease(application_id, own, key, partition, STOPPED_BY_RM)
                self._send(UpdateAllocations(rm_id, releases=(end,)), now_ns)

    # ------------------------------------------------------------------------- comparison

    def _look(self, now_ns: int) -> None:
        self._comparison.look(self._number, now_ns, self._queue_of)

    def _queue_of(self, name: AppName) -> str:
        """Return the queue of an application, "" if none is known."""
        found = self._queues.get(name)
        if found is None:
            rm_id, partition, application_id = name
            query = ApplicationQuery(
                partition, application_id, completed=True, rejected=True, rm_id=rm_id
            )
            views = [*_views(self._primary, query), *_views(self.scheduler, query)]
            found = next((view.queue for view in views if view.queue), "")
            self._queues[name] = found
        return found

    def _forget(self, name: AppName) -> None:
        self._pairs.forget(name)
        self._comparison.forget(name)
        self._queues.pop(name, None)


def _removed(command: Command | None, effects: Sequence[Effect], pairs: Pairs) -> list[AppName]:
    """Return the applications of which nothing is left after an input."""
    found: list[AppName] = []
    if isinstance(command, UpdateApplications):
        found += [
            app_name(command.rm_id, each.partition, each.application_id) for each in command.remove
        ]
    elif isinstance(command, RegisterResourceManager | UnregisterResourceManager):
        found += pairs.applications_of(command.rm_id)
    for effect in effects:
        if isinstance(effect, ResourceManagerStopped | ResourceManagerFailed):
            found += pairs.applications_of(effect.rm_id)
    return found


def _decided(effect: Effect) -> int:
    """Return how many decisions an effect tells."""
    if isinstance(effect, AllocationNew):
        return 1
    if isinstance(effect, AllocationsReleased):
        return sum(each.termination_type not in ENDED for each in effect.released)
    return 0


def _partitions(scheduler: Scheduler) -> list[PartitionView]:
    found = scheduler.view(PartitionsQuery())
    assert isinstance(found, tuple | Rows)
    return [view for view in found if isinstance(view, PartitionView)]


def _managers(scheduler: Scheduler) -> list[ConfigurationView]:
    found = scheduler.view(ConfigurationsQuery())
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, ConfigurationView)]


def _views(scheduler: Scheduler, query: ApplicationQuery) -> list[ApplicationView]:
    found = scheduler.view(query)
    assert found is None or isinstance(found, Rows | tuple)
    return [view for view in found or () if isinstance(view, ApplicationView)]


def _chosen(known: Sequence[str], rm_id: str) -> str:
    """Return the RM that is meant. Raises: UsageError."""
    if rm_id in known:
        return rm_id
    names = ", ".join(known[:10])
    if rm_id:
        raise UsageError(f"no resource manager {rm_id!r:.80} is registered; there is: {names}")
    if len(known) != 1:
        raise UsageError(f"choose the resource manager with --rm; there is: {names}")
    return known[0]


def _raise(rm_id: str, fault: Exception) -> NoReturn:
    raise fault
