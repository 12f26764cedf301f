"""Pauses of resource managers, and the end of those that stay away (rules: RM-14 to RM-18, EXT-6).

An RM rests in two ways that do not know of each other: its connection is lost, or it takes nothing
at the moment. Either way nothing is decided for it; only in the first its timers stand still.
"""

from __future__ import annotations

from remuda.config.settings import read_settings
from remuda.core.apply.attempts import replan_attempts
from remuda.core.apply.questions import rest
from remuda.core.apply.quota_changes import put_off
from remuda.core.apply.registration import stop_manager
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import PauseResourceManager, ResumeResourceManager
from remuda.core.messages.effects import ResourceManagerStopped
from remuda.core.model.cluster import ResourceManager


def pause(turn: Turn, command: PauseResourceManager) -> None:
    """Decide nothing more for an RM; one that is to be given up at once ends here.

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
    _rest(manager)


def plan_stop(manager: ResourceManager) -> None:
    """Work out when an RM is given up, by the setting in force now. Rules: RM-18, KV-1."""
    manager.stop_ns = None
    if manager.away_since_ns is not None:
        settings, _ = read_settings(manager.extra_config)
        if settings.rm_pause_timeout_ns >= 0:
            manager.stop_ns = manager.away_since_ns + settings.rm_pause_timeout_ns


def stop_overdue(turn: Turn) -> None:
    """Give up the RMs that stayed away too long, the longest overdue first.

    Rules: RM-17, RM-18. Emits: EventRecord, ResourceManagerStopped.
    """
    while (stop := turn.cluster.next_stop()) is not None and stop[0] <= turn.now_ns:
        stop_manager(turn, stop[1])
        turn.emit(ResourceManagerStopped(stop[1]))


def _rest(manager: ResourceManager) -> None:
    for partition in manager.own():
        rest(partition, manager)
