"""What a configuration would change, found out by putting it in force on a copy.

Queues are compared before and after the reload. Every application is submitted again under both
configurations, and both are followed for the same time. Rules: EXT-67, EXT-68, EXT-69.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeAlias

import msgspec

from remuda.base.duration import SECOND
from remuda.base.errors import ConfigError, Problem, RemudaError, UsageError
from remuda.base.message import message
from remuda.config.schema import Configuration
from remuda.core.messages.application_queries import (
    ApplicationQuery,
    Submissions,
    SubmissionsQuery,
)
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.commands import (
    ApplicationRemoval,
    NewApplication,
    UpdateApplications,
    UpdateConfiguration,
)
from remuda.core.messages.effects import (
    AllocationNew,
    AllocationsReleased,
    ApplicationsAnswered,
    ConfigurationAnswered,
)
from remuda.core.messages.queries import ConfigurationsQuery, PartitionsQuery, PartitionView
from remuda.core.messages.rows import ApplicationRowsQuery, rows
from remuda.core.scheduler import Scheduler
from remuda.insight.impact_queues import (
    QueueNow,
    now_preemptible,
    queues_gone,
    queues_now,
    quotas_below_usage,
    unmet,
)
from remuda.insight.impact_result import ChangedAsk, ConfigImpact, MovedApplication
from remuda.insight.throwaway import Throwaway

# Does each piece of work on a core of its own, which is a copy of this one.
OnCopies: TypeAlias = Callable[[Sequence[Callable[[], bytes]]], Sequence[bytes | None]]


# Partition, application ID, and allocation key or ID.
_Key: TypeAlias = tuple[str, str, str]

# The ID under which applications are submitted again, one after the other.
_NAME: Final = "config-impact"


@message
class ImpactQuestion:
    """A new configuration of an RM. ``within_ns``: how long to follow what happens."""

    rm_id: str
    configuration: Configuration
    within_ns: int = 0


class ImpactAnswer(msgspec.Struct, frozen=True):
    """The impact, or why the scheduler would refuse the configuration: (reason, rule) pairs."""

    impact: ConfigImpact | None = None
    refusals: tuple[tuple[str, str], ...] = ()

    def unless_refused(self, source: str) -> ConfigImpact:
        """Return the impact. Raises: ConfigError with all reasons; ``source``: the text's name."""
        if self.impact is None:
            problems = [Problem("", rule, reason) for reason, rule in self.refusals]
            raise ConfigError(problems, source)
        return self.impact


class _Course(msgspec.Struct, frozen=True):
    """What happened in a trial: where each ask got allocations, and what was ended."""

    made: tuple[tuple[_Key, tuple[str, ...]], ...]
    ended: tuple[_Key, ...]


class _Placed(msgspec.Struct, frozen=True):
    """Where an application is placed when it is submitted again: its queue, or why nowhere."""

    partition: str
    application_id: str
    queue: str
    reason: str


def config_impact(
    scheduler: Scheduler, now_ns: int, question: ImpactQuestion, on_copies: OnCopies
) -> ImpactAnswer:
    """Return what a configuration would change, and use up the scheduler, which is a copy.

    Raises: UsageError if there is no such RM; RemudaError if a copy gave no answer.
    Implements: EXT-67. Rules: EXT-68, EXT-69.
    """
    command = UpdateConfiguration(question.rm_id, question.configuration)
    refusals = _refusals(scheduler, now_ns, command)
    if refusals:
        return ImpactAnswer(refusals=refusals)
    within_ns = question.within_ns
    old, old_placed, new_placed = _answered(
        on_copies(
            [
                partial(_course, scheduler, now_ns, within_ns),
                partial(_placements, scheduler, now_ns, question.rm_id, None),
                partial(_placements, scheduler, now_ns, question.rm_id, command),
            ]
        )
    )
    running = _running(scheduler, question.rm_id)
    before = _all_queues(scheduler, question.rm_id)
    trial = Throwaway(scheduler, now_ns)
    trial.send(command)
    after = _all_queues(scheduler, question.rm_id)
    trial.run(within_ns)
    course = _happened(trial)
    earlier = msgspec.json.decode(old, type=_Course)
    return ImpactAnswer(
        ConfigImpact(
            now_ns,
            within_ns / SECOND,
            tuple(queues_gone(before, after)),
            tuple(quotas_below_usage(before, after)),
            tuple(unmet(before, after)),
            tuple(now_preemptible(before, after)),
            tuple(_moved(old_placed, new_placed)),
            tuple(_changed(earlier, course)),
            _names(course.ended, earlier.ended, running),
            _names(earlier.ended, course.ended, running),
        )
    )


def _refusals(
    scheduler: Scheduler, now_ns: int, command: UpdateConfiguration
) -> tuple[tuple[str, str], ...]:
    """Return why the core would refuse a configuration. Raises: UsageError."""
    known = scheduler.view(ConfigurationsQuery())
    assert isinstance(known, tuple)
    if command.rm_id not in [getattr(each, "rm_id", "") for each in known]:
        raise UsageError(f"no resource manager {command.rm_id!r:.80} is registered")
    for effect in scheduler.handle(replace(command, dry_run=True), now_ns):
        if isinstance(effect, ConfigurationAnswered) and effect.reason:
            texts = effect.problems or (effect.reason,)
            return tuple([(text, effect.rule) for text in texts])
    return ()


def _answered(answers: Sequence[bytes | None]) -> list[bytes]:
    """Return the answers of all copies. Raises: RemudaError."""
    found = [each for each in answers if each is not None]
    if len(found) < len(answers):
        raise RemudaError(
            "a trial of the configuration took too much time or memory;"
            " follow a shorter time, or try again when the machine has less to do"
        )
    return found


def _partitions(scheduler: Scheduler, rm_id: str) -> list[PartitionView]:
    found = rows(PartitionView, scheduler.view(PartitionsQuery()))
    return [each for each in found if each.rm_id == rm_id]


def _running(scheduler: Scheduler, rm_id: str) -> set[_Key]:
    """Return the allocations that run now."""
    return {
        (partition.name, each.application_id, allocation.allocation_id)
        for partition in _partitions(scheduler, rm_id)
        for each in rows(
            ApplicationView, scheduler.view(ApplicationRowsQuery(partition.name, rm_id=rm_id))
        )
        for allocation in each.allocations
    }


def _all_queues(scheduler: Scheduler, rm_id: str) -> dict[tuple[str, str], QueueNow]:
    found: dict[tuple[str, str], QueueNow] = {}
    for each in _partitions(scheduler, rm_id):
        for queue in queues_now(scheduler, each):
            found[each.name, queue.view.path] = queue
    return found


# ------------------------------------------------------------------------------- what happens


def _course(scheduler: Scheduler, now_ns: int, within_ns: int) -> bytes:
    """Follow the configuration in force."""
    trial = Throwaway(scheduler, now_ns)
    trial.run(within_ns)
    return msgspec.json.encode(_happened(trial))


def _happened(trial: Throwaway) -> _Course:
    """Return what the effects of a trial tell. Implements: EXT-69."""
    made: dict[_Key, list[str]] = {}
    ended: dict[_Key, None] = {}
    for _, effect in trial.effects:
        if isinstance(effect, AllocationNew):
            ask = effect.ask
            key = (effect.partition, ask.application_id, ask.allocation_key)
            made.setdefault(key, []).append(effect.node_id)
        elif isinstance(effect, AllocationsReleased):
            for each in effect.released:
                ended[each.partition, each.application_id, each.allocation_id] = None
    return _Course(
        tuple([(key, tuple(sorted(nodes))) for key, nodes in sorted(made.items())]), tuple(ended)
    )


def _changed(old: _Course, new: _Course) -> list[ChangedAsk]:
    before, after = dict(old.made), dict(new.made)
    return [
        ChangedAsk(*key, before.get(key, ()), after.get(key, ()))
        for key in sorted({**before, **after})
        if before.get(key, ()) != after.get(key, ())
    ]


def _names(these: Sequence[_Key], those: Sequence[_Key], running: set[_Key]) -> tuple[str, ...]:
    """Return the running allocations that are ended here and not there."""
    others = set(those)
    found = [f"{key[1]}/{key[2]}" for key in these if key in running and key not in others]
    return tuple(sorted(found))


# ---------------------------------------------------------------------- where applications go


def _placements(
    scheduler: Scheduler, now_ns: int, rm_id: str, command: UpdateConfiguration | None
) -> bytes:
    """Submit all live applications again, one after the other. Implements: EXT-68."""
    records: list[tuple[str, NewApplication]] = []
    for each in _partitions(scheduler, rm_id):
        found = scheduler.view(SubmissionsQuery(each.name, rm_id))
        assert isinstance(found, Submissions)
        records += [(each.name, record) for record in found.records]
    if command is not None:
        scheduler.handle(command, now_ns)
    taken = {record.application_id for _, record in records}
    name = _NAME
    while name in taken:
        name += "-"
    placed = [_placed(scheduler, now_ns, rm_id, (where, record), name) for where, record in records]
    return msgspec.json.encode(placed)


def _placed(
    scheduler: Scheduler, now_ns: int, rm_id: str, submitted: tuple[str, NewApplication], name: str
) -> _Placed:
    """Submit an application under another name, see where it is, and remove it."""
    partition, record = submitted
    again = replace(record, application_id=name)
    queue = reason = ""
    for effect in scheduler.handle(UpdateApplications(rm_id, (again,)), now_ns):
        if isinstance(effect, ApplicationsAnswered) and effect.rejected:
            reason = effect.rejected[0].reason.replace(name, record.application_id)
    if not reason:
        query = ApplicationQuery(partition, name, rm_id=rm_id)
        queue = rows(ApplicationView, scheduler.view(query))[0].queue
        removal = ApplicationRemoval(name, record.partition)
        scheduler.handle(UpdateApplications(rm_id, remove=(removal,)), now_ns)
    return _Placed(partition, record.application_id, queue, reason)


def _moved(old: bytes, new: bytes) -> list[MovedApplication]:
    before = msgspec.json.decode(old, type=list[_Placed])
    after = msgspec.json.decode(new, type=list[_Placed])
    return [
        MovedApplication(was.partition, was.application_id, was.queue, will.queue, will.reason)
        for was, will in zip(before, after, strict=True)
        if was.queue != will.queue
    ]
