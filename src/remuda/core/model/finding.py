"""Why asks are not placed, as the core keeps it: one record for all that wait together.

It is written when a decision sets asks aside, and stays true until they are looked at again,
because that is when what stopped them changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, final

# One line of the allocation log of an ask: message, count, time of the last (CYC-24).
LogEntry: TypeAlias = tuple[str, int, int]

# Different messages kept per ask: predicates may say something else about every node.
LOG_LIMIT: Final = 32


@final
class NodeTally:
    """How many nodes did not take an ask, and why; see messages.queries.NodeTallyView."""

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
    """Why a lane or strand waits: the gate, what is in the way, and the numbers.

    ``available``: what is left there, None where that is no question of amounts. ``looks``: how
    often in a row this gate was found to be the reason. ``preemption``: why no room was taken from
    others for the first that waits, "" if that was not tried. Rules: CYC-24, PRE-58, REST-120.
    """

    __slots__ = ("available", "gate", "last_ns", "looks", "nodes", "preemption", "subject")

    def __init__(
        self,
        gate: str,
        subject: str,
        available: Mapping[str, int] | None,
        nodes: NodeTally | None,
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
        """Return this finding, counted on from an earlier one of the same gate."""
        if earlier is not None and earlier.gate == self.gate and earlier.subject == self.subject:
            self.looks = earlier.looks + 1
        if earlier is not None and not self.preemption:
            self.preemption = earlier.preemption
        return self


def noted(log: tuple[LogEntry, ...], message: str, times: int, now_ns: int) -> tuple[LogEntry, ...]:
    """Return a log with one message counted some times more. Rules: CYC-24."""
    if not log:
        return ((message, times, now_ns),)
    entries = [entry for entry in log if entry[0] != message]
    if len(entries) == len(log):
        return (*log, (message, times, now_ns)) if len(log) < LOG_LIMIT else log
    count = sum([entry[1] for entry in log if entry[0] == message])
    entries.append((message, count + times, now_ns))
    return tuple(sorted(entries))
