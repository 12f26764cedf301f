"""Registers resource managers (rules: RM-1 to RM-13, RM-19)."""

from __future__ import annotations

from remuda.base.names import name_fault
from remuda.core.apply.partitions import build_partition
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.messages.effects import RegistrationAnswered
from remuda.core.model.cluster import ResourceManager


def register(turn: Turn, command: RegisterResourceManager) -> None:
    """Register an RM; one with the same ID is wiped first, silently. Rules: RM-1, RM-9, RM-10.

    Emits: RegistrationAnswered, EventRecord.
    """
    reason = rm_id_fault(command.rm_id)
    if reason:
        turn.emit(RegistrationAnswered(command.rm_id, reason, "RM-1"))
        return
    unregister(turn, command.rm_id)
    manager = ResourceManager(command)
    turn.cluster.managers[command.rm_id] = manager
    for config in command.config.partitions:
        manager.partitions[config.name] = build_partition(turn, manager, config)
    turn.emit(RegistrationAnswered(command.rm_id, ""))


def unregister(turn: Turn, rm_id: str) -> None:
    """Drop an RM with everything it has; nothing is sent. Rules: RM-9, RM-19."""
    manager = turn.cluster.managers.pop(rm_id, None)
    if manager is not None:
        turn.cluster.deadlines.forget([*manager.partitions.values(), *manager.leaving])


def rm_id_fault(rm_id: str) -> str:
    """Return what is wrong with an RM ID, "" if nothing. Rules: RM-1."""
    if not rm_id:
        return "rmID is empty"
    if "[" in rm_id or "]" in rm_id:
        return "rmID must not contain [ or ]"
    return name_fault("rmID", rm_id)
