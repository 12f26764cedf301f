"""Findings: why asks are not placed, one record for all asks that wait together.

A finding is written when a decision blocks asks. It stays true until the asks are unblocked,
because they are unblocked when the limit or node that stopped them changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

# One entry of the allocation log of an ask: message, count, time of the last one (CYC-24).
LogEntry: TypeAlias = tuple[str, int, int]

# How many different messages are kept per ask; predicates may give another one for every node.
LOG_LIMIT: Final = 32


@final
class NodeSummary:
    """How many nodes did not take an ask, by reason; see messages.ask_views.NodeSummaryView."""

    __slots__ = ("draining", "no_room", "reasons", "refused", "reserved", "too_small", "total")

    def __init__(self, total: int, draining: int, reserved: int) -> None:
        self.total = total
        self.draining = draining
        self.reserved = reserved
        self.too_small: int = 0
        self.no_room: int = 0
        self.refused: int = 0
        self.reasons: tuple[tuple[str, int], ...] = ()


@final
class Finding:
    """Why a class queue or limit group waits: the gate, the limiting object and amounts.

    ``subject``: the queue, user, group or node that stops it. ``available``: the headroom there,
    None if the gate is not about amounts. ``looks``: how often in a row decisions found this gate.
    ``preemption``: why the attempt to preempt for the first ask was fruitless, "" if none was made.
    Rules: CYC-24, PRE-58, REST-120.
    """

    __slots__ = ("available", "gate", "last_ns", "looks", "nodes", "preemption", "subject")

    def __init__(
        self,
        gate: str,
        subject: str,
        available: Mapping[str, int] | None,
        nodes: NodeSummary | None,
        last_ns: int,
    ) -> None:
        self.gate = gate
        self.subject = subject
        self.available = available
        self.nodes = nodes
        self.last_ns = last_ns
        self.looks: int = 1
        self.preemption: str = ""

    def after(self, earlier: Finding | None) -> Finding:
        """Return this finding; continue the count of an earlier one of the same gate."""
        if earlier is not None and earlier.gate == self.gate and earlier.subject == self.subject:
            self.looks = earlier.looks + 1
        if earlier is not None and not self.preemption:
            self.preemption = earlier.preemption
        return self


def noted(log: tuple[LogEntry, ...], message: str, times: int, now_ns: int) -> tuple[LogEntry, ...]:
    """Return a log in which the count of a message is increased. Implements: CYC-24."""
    if not log:
        return ((message, times, now_ns),)
    entries = [entry for entry in log if entry[0] != message]
    if len(entries) == len(log):
        return (*log, (message, times, now_ns)) if len(log) < LOG_LIMIT else log
    count = sum([entry[1] for entry in log if entry[0] == message])
    entries.append((message, count + times, now_ns))
    return tuple(sorted(entries))
