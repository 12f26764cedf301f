"""Registers resource managers and removes them (rules: chapter 70 section 2, RM-17, RM-19)."""

from __future__ import annotations

from contextlib import suppress

from remuda.base.names import name_fault
from remuda.core.apply.process_limits import manager_limit
from remuda.core.apply.requests.partitions import (
    PARTITION_REMOVED,
    build_partition,
    keep_counts,
    keep_counts_after_fault,
    set_tracking,
)
from remuda.core.apply.requests.teardown import take_apart
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.messages.effects import RegistrationAnswered, ResourceManagerFailed
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.partition import Partition


def register(turn: Turn, command: RegisterResourceManager) -> None:
    """Register an RM; an RM with the same ID is removed first, without effects.

    Emits: RegistrationAnswered, EventRecord.
    Implements: RM-10, RLD-1, RM-12, REC-13, REC-14. Rules: RM-1, RM-9, SI-14.
    """
    reason = rm_id_fault(command.rm_id)
    rule = "RM-1"
    if not reason:
        reason, rule = manager_limit(turn.cluster, command.rm_id)
    if reason:
        turn.emit(RegistrationAnswered(command.rm_id, reason, rule))
        return
    _forget(turn, command.rm_id)
    manager = ResourceManager(command)
    set_tracking(turn, command.extra_config)
    turn.cluster.managers[command.rm_id] = manager
    for config in command.config.partitions:
        manager.partitions[config.name] = build_partition(turn, manager, config)
    turn.emit(RegistrationAnswered(command.rm_id, ""))


def stop_manager(turn: Turn, rm_id: str) -> None:
    """Remove an RM with everything it has, and report its applications as failed.

    No effect of this is sent to the RM. Implements: RM-17. Rules: RM-19, EVT-16, EVT-26. Emits:
    EventRecord.
    """
    for partition in turn.cluster.managers[rm_id].own():
        for application in partition.applications.values():
            _count_failed(partition, application)
            _report_failed(turn, partition, application)
    _forget(turn, rm_id)


def abandon(turn: Turn, rm_id: str, fault: Exception) -> None:
    """Drop an RM with everything it has after a fault in work for it; it may register again.

    Its state may be wrong in any way, so nothing of it is reported, and errors when its objects
    are counted and taken apart are ignored. Resource managers share no objects, so the others do
    not notice.
    Emits: ResourceManagerFailed. Rules: SI-15.
    """
    for partition in _taken_out(turn, rm_id):
        # Counts that are wrong are no reason to keep memory, nor the other way round.
        with suppress(Exception):
            keep_counts_after_fault(turn, partition)
        with suppress(Exception):
            take_apart(partition)
    turn.effects = [effect for effect in turn.effects if effect.rm_id != rm_id]
    turn.effects.append(ResourceManagerFailed(rm_id, type(fault).__name__))


def _count_failed(partition: Partition, application: Application) -> None:
    """Count an application that ends with its RM. Rules: MET-19, MET-27."""
    partition.totals.failed += 1
    application.queue.counts.failed += 1


def _report_failed(turn: Turn, partition: Partition, application: Application) -> None:
    """Emit the events of the states an application goes through when its partition is removed."""
    allocated = partition.types.resource(application.allocated)
    state = application.state
    while (entered := states.APPLICATION.get((state, states.FAIL))) is not None:
        state = entered
        turn.application_event(
            partition,
            application,
            events.SET,
            states.STATE_DETAIL[state],
            resource=allocated if state == states.FAILING else None,
            message=PARTITION_REMOVED,
        )


def _forget(turn: Turn, rm_id: str) -> None:
    """Remove an RM with everything it has, without effects. Implements: RM-9."""
    for partition in _taken_out(turn, rm_id):
        keep_counts(turn, partition)
        take_apart(partition)


def _taken_out(turn: Turn, rm_id: str) -> list[Partition]:
    """Take an RM and its timers out of the cluster, and return the partitions that it had."""
    cluster = turn.cluster
    manager = cluster.managers.pop(rm_id, None)
    cluster.deadlines.thaw(rm_id, turn.now_ns)
    cluster.deadlines.release(rm_id)
    partitions = [] if manager is None else manager.own()
    if partitions:
        cluster.deadlines.forget(partitions)
    return partitions


def rm_id_fault(rm_id: str) -> str:
    """Return what is wrong with an RM ID, "" if nothing. Implements: RM-1."""
    if not rm_id:
        return "rmID is empty"
    if "[" in rm_id or "]" in rm_id:
        return "rmID must not contain [ or ]"
    return name_fault("rmID", rm_id)
