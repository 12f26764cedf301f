"""Finds the victims that would make room on a node (rules: chapter 60 section A.5, PRE-87)."""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.candidates import OPTED_OUT, ORIGINATOR
from remuda.core.model.vectors import amount_at
from remuda.core.preempt.trial import Option, Room, Trial

# A candidate and the option of its kind.
Found: TypeAlias = tuple[Allocation, Option]


@final
class Check:
    """The question to the RM about one node (PRE-24).

    ``victims``: all candidates that may be removed, in the order of removal. ``start``: the index
    of the victim with which the ask fits, -1 if it fits without victims.
    """

    __slots__ = ("node", "start", "victims")

    def __init__(self, node: Node, victims: list[Found], start: int) -> None:
        self.node = node
        self.victims = victims
        self.start = start

    def score(self, index: int) -> int:
        """Return the score of removing the victims up to an index; lower is better.

        Implements: PRE-29.
        """
        bits = 0
        for allocation, option in self.victims[: index + 1]:
            assert allocation.release_type == 0
            bits |= option.kind.bits
        return bits | (index + 1)


@final
class NodeSide:
    """Finds the victims of one attempt on each node. ``parity``: as in 1.5 (PRE-84).

    ``looked_at``: how many candidates were looked at; ``blocked``: reservations of other asks close
    nodes; ``opens_ns``: when one of them is old enough to be cancelled, 0: never.
    """

    __slots__ = (
        "_now_ns",
        "_parity",
        "_partition",
        "_request",
        "_trial",
        "blocked",
        "looked_at",
        "opens_ns",
    )

    def __init__(
        self, partition: Partition, request: Request, trial: Trial, now_ns: int, *, parity: bool
    ) -> None:
        self._partition = partition
        self._request = request
        self._trial = trial
        self._now_ns = now_ns
        self._parity = parity
        self.looked_at: int = 0
        self.opens_ns: int = 0
        self.blocked: bool = False

    def usable(self, node: Node) -> bool:
        """Whether the ask may look for victims on a node.

        Implements: PRE-18, PRE-50. Rules: PRE-22 (Ours).
        """
        return node.holds(self._request.amounts) and self.free_for(node)

    def free_for(self, node: Node) -> bool:
        """Whether the ask may use a node, apart from its capacity. Rules: PRE-18, PRE-87."""
        if not node.schedulable:
            return False
        for reservation in node.reservations.values():
            other = reservation.request
            if other is self._request:
                continue
            if self._parity or not self._may_cancel(other, reservation.created_ns):
                self.blocked = True
                return False
        return True

    def check(self, node: Node) -> Check | None:
        """Return the check of a node without room, None if no victims make enough room.

        Implements: PRE-23, PRE-87. Rules: PRE-19, PRE-21, PRE-22.
        """
        candidates = self._candidates(node)
        self.looked_at += len(candidates)
        head, tail = self._first_pass(node, candidates)
        victims, start = self._second_pass(node, head + tail)
        if start < 0:
            return None
        if not self._parity:
            victims, start = self._shorten(node, victims, start)
        return Check(node, victims, start)

    def _may_cancel(self, other: Request, since_ns: int) -> bool:
        """Whether the ask may cancel a reservation. Rules: RSV-10, PRE-87."""
        limit_ns = self._partition.settings.reservation_limit_ns
        if other.required_node() or other.preemption is not None or not limit_ns:
            return False
        if other.ask.priority >= self._request.ask.priority:
            return False
        opens_ns = since_ns + limit_ns + 1
        if opens_ns > self._now_ns:
            self.opens_ns = min(opens_ns, self.opens_ns or opens_ns)
        return opens_ns <= self._now_ns

    def _candidates(self, node: Node) -> list[Found]:
        """Return the candidates of a node, the best victim first.

        Implements: PRE-19 (Ours). Rules: PRE-87.
        """
        found: list[Found] = []
        for allocation in node.allocations:
            option = self._trial.option_of(allocation)
            if option is not None:
                found.append((allocation, option))
        found.sort(key=self._sort_key)
        return found

    def _sort_key(self, found: Found) -> tuple[bool, bool, int, int, str, int, str]:
        allocation, option = found
        bits = option.kind.bits
        return (
            bits & OPTED_OUT > 0,
            bits & ORIGINATOR > 0,
            0 if self._parity else option.rank,
            -allocation.requested_ns,
            allocation.ask.allocation_key,
            allocation.application.number,
            allocation.allocation_id,
        )

    def _first_pass(self, node: Node, candidates: list[Found]) -> tuple[list[Found], list[Found]]:
        """Split permitted candidates into those that help and the others.

        Implements: PRE-21.
        """
        trial = self._trial
        short = self._short(node)
        head: list[Found] = []
        tail: list[Found] = []
        for found in candidates:
            option = found[1]
            if not trial.permits(option, charged=True):
                continue
            helps = False
            for index, amount in option.need:
                if short.get(index, 0) > 0:
                    short[index] -= amount
                    helps = True
            if helps:
                trial.take(option, charged=True)
                head.append(found)
            else:
                tail.append(found)
        for _, option in head:
            trial.take(option, charged=True, sign=-1)
        return head, tail

    def _second_pass(self, node: Node, ordered: list[Found]) -> tuple[list[Found], int]:
        """Return the candidates permitted one after another, and the index where the ask fits.

        Implements: PRE-22.
        """
        trial = self._trial
        short = self._short(node)
        missing = len(short)
        victims: list[Found] = []
        start = -1
        for found in ordered:
            option = found[1]
            if not trial.permits(option, charged=False):
                continue
            trial.take(option)
            victims.append(found)
            if start >= 0:
                continue
            for index, amount in option.need:
                if short.get(index, 0) > 0:
                    short[index] -= amount
                    missing -= short[index] <= 0
            if not missing:
                start = len(victims) - 1
        for _, option in victims:
            trial.take(option, sign=-1)
        return victims, start

    def _shorten(self, node: Node, victims: list[Found], start: int) -> tuple[list[Found], int]:
        """Move victims that the ask does not need to fit behind the others. Rules: PRE-87 (4)."""
        spare = spare_room(node, self._request, victims[: start + 1])
        kept: list[Found] = []
        moved: list[Found] = []
        for found in reversed(victims[: start + 1]):
            (moved if spares(spare, found[1]) else kept).append(found)
        return kept[::-1] + moved[::-1] + victims[start + 1 :], len(kept) - 1

    def _short(self, node: Node) -> dict[int, int]:
        """Return per type what the ask lacks on a node; empty if it fits."""
        available = node.available
        return {
            index: amount - amount_at(available, index)
            for index, amount in self._request.amounts.need
            if amount > amount_at(available, index)
        }


def spare_room(node: Node, request: Request, victims: list[Found]) -> Room:
    """Return the room left on a node after the victims end and the ask is placed."""
    spare = {
        index: amount_at(node.available, index) - amount for index, amount in request.amounts.need
    }
    for _, option in victims:
        for index, amount in option.need:
            if index in spare:
                spare[index] += amount
    return spare


def spares(spare: Room, option: Option) -> bool:
    """Whether the spare room suffices to keep a victim; if so, subtract the victim from it.

    Rules: PRE-87.
    """
    need = [(index, amount) for index, amount in option.need if index in spare]
    if any(spare[index] < amount for index, amount in need):
        return False
    for index, amount in need:
        spare[index] -= amount
    return True
