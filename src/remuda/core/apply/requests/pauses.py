"""Pauses resource managers, and stops those that stay away (chapter 70 section 2).

An RM is paused for three independent reasons: its connection is lost, it takes no messages at the
moment, or only a part of its request was handled. For all of them, nothing is decided for it. Its
timers stand still for the first, and those that run out wait for the end of the last.
"""

from __future__ import annotations

from remuda.config.settings import read_settings
from remuda.core.apply.asks.attempts import replan_attempts
from remuda.core.apply.asks.questions import rest
from remuda.core.apply.asks.retries import replan_retries
from remuda.core.apply.queues.quota_changes import put_off
from remuda.core.apply.requests.registration import stop_manager
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import PauseResourceManager, ResumeResourceManager
from remuda.core.messages.effects import ResourceManagerStopped
from remuda.core.model.cluster import ResourceManager


def pause(turn: Turn, command: PauseResourceManager) -> None:
    """Pause an RM; if its timeout is zero, stop it at once.

    Rules: RM-15, RM-18, EXT-6. Emits: what stop_overdue does.
    """
    manager = turn.cluster.managers[command.rm_id]
    if not command.timers:
        manager.held = True
    elif manager.away_since_ns is None:
        manager.away_since_ns = turn.now_ns
        turn.cluster.deadlines.freeze(command.rm_id, turn.now_ns)
        plan_stop(manager)
    _rest(manager)
    stop_overdue(turn)


def resume(turn: Turn, command: ResumeResourceManager) -> None:
    """End one of the two pauses of an RM. Rules: RM-15, EXT-6."""
    manager = turn.cluster.managers[command.rm_id]
    if not command.timers:
        manager.held = False
    elif manager.away_since_ns is not None:
        away_ns = turn.now_ns - manager.away_since_ns
        manager.away_since_ns = None
        turn.cluster.deadlines.thaw(command.rm_id, turn.now_ns)
        plan_stop(manager)
        put_off(turn, manager, away_ns)
        for partition in manager.own():
            replan_attempts(partition)
            replan_retries(partition)
    _rest(manager)


def note_continued(turn: Turn, rm_id: str, *, continued: bool) -> None:
    """Decide nothing for an RM until the last part of its request was handled.

    Its timers have no effect meanwhile, as all parts count as handled at one moment. Rules: SI-2.
    """
    manager = turn.cluster.managers[rm_id]
    if manager.continued != continued:
        manager.continued = continued
        _rest(manager)
        if continued:
            turn.cluster.deadlines.hold(rm_id)
        else:
            turn.cluster.deadlines.release(rm_id)


def plan_stop(manager: ResourceManager) -> None:
    """Work out when an RM that is away is stopped, by the setting in force now.

    Implements: RM-18. Rules: KV-1.
    """
    manager.stop_ns = None
    if manager.away_since_ns is not None:
        settings, _ = read_settings(manager.extra_config)
        if settings.rm_pause_timeout_ns >= 0:
            manager.stop_ns = manager.away_since_ns + settings.rm_pause_timeout_ns


def stop_overdue(turn: Turn) -> None:
    """Stop the RMs that stayed away too long, the longest overdue first.

    Rules: RM-17, RM-18. Emits: EventRecord, ResourceManagerStopped.
    """
    while (stop := turn.cluster.next_stop()) is not None and stop[0] <= turn.now_ns:
        turn.rm_id = stop[1]
        stop_manager(turn, stop[1])
        turn.emit(ResourceManagerStopped(stop[1]))


def _rest(manager: ResourceManager) -> None:
    for partition in manager.own():
        rest(partition, manager)
