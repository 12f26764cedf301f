"""Which victims would make room on a node (rules: PRE-18 to PRE-23, PRE-87)."""

from __future__ import annotations

from typing import TypeAlias, final

from remuda.core.model.allocation import Allocation
from remuda.core.model.candidates import OPTED_OUT, ORIGINATOR
from remuda.core.model.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.request import Request
from remuda.core.model.vectors import amount_at
from remuda.core.preempt.trial import Prey, Room, Trial

# A candidate with what is known of its kind.
Found: TypeAlias = tuple[Allocation, Prey]


@final
class Check:
    """What the RM would be asked about one node (PRE-24).

    ``victims``: all candidates that may go, in the order of removal. ``start``: index of the last
    of them that makes the ask fit, -1 if it fits without.
    """

    __slots__ = ("node", "start", "victims")

    def __init__(self, node: Node, victims: list[Found], start: int) -> None:
        self.node = node
        self.victims = victims
        self.start = start

    def score(self, index: int) -> int:
        """Return how bad it is if all up to an index go: the less the better. Rules: PRE-29."""
        bits = 0
        for allocation, prey in self.victims[: index + 1]:
            assert allocation.ordered == 0
            bits |= prey.kind.bits
        return bits | (index + 1)


@final
class NodeSide:
    """Finds the victims of one attempt on each node. ``parity``: as 1.5 did (PRE-84).

    ``looked_at``: how many candidates it went through; ``blocked``: reservations of others are in
    the way; ``opens_ns``: when one of them is old enough, 0: none will be.
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
        """Whether an ask may look for room on a node. Rules: PRE-18, PRE-22 (Ours), PRE-50."""
        return node.holds(self._request.amounts) and self.free_for(node)

    def free_for(self, node: Node) -> bool:
        """Whether nothing but its size may keep an ask from a node. Rules: PRE-18, PRE-87."""
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
        """Return what to ask about a node that has no room, None if it is of no use.

        Rules: PRE-19, PRE-21 to PRE-23, PRE-87.
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
        """Whether a reservation may give way to the ask. Rules: RSV-10, PRE-87."""
        limit_ns = self._partition.reservation_limit_ns
        if other.required_node() or other.preemption is not None or not limit_ns:
            return False
        if other.ask.priority >= self._request.ask.priority:
            return False
        opens_ns = since_ns + limit_ns + 1
        if opens_ns > self._now_ns:
            self.opens_ns = min(opens_ns, self.opens_ns or opens_ns)
        return opens_ns <= self._now_ns

    def _candidates(self, node: Node) -> list[Found]:
        """Return the candidates of a node, the best victim first. Rules: PRE-19 (Ours), PRE-87."""
        found: list[Found] = []
        for allocation in node.allocations:
            prey = self._trial.prey_of(allocation)
            if prey is not None:
                found.append((allocation, prey))
        found.sort(key=self._place)
        return found

    def _place(self, found: Found) -> tuple[bool, bool, int, int, str, int, str]:
        allocation, prey = found
        bits = prey.kind.bits
        return (
            bits & OPTED_OUT > 0,
            bits & ORIGINATOR > 0,
            0 if self._parity else prey.rank,
            -allocation.requested_ns,
            allocation.ask.allocation_key,
            allocation.application.number,
            allocation.allocation_id,
        )

    def _first_pass(self, node: Node, candidates: list[Found]) -> tuple[list[Found], list[Found]]:
        """Part candidates that may go into those that help and those that do not. Rules: PRE-21."""
        trial = self._trial
        short = self._short(node)
        head: list[Found] = []
        tail: list[Found] = []
        for found in candidates:
            prey = found[1]
            if not trial.permits(prey, charged=True):
                continue
            helps = False
            for index, amount in prey.need:
                if short.get(index, 0) > 0:
                    short[index] -= amount
                    helps = True
            if helps:
                trial.take(prey, charged=True)
                head.append(found)
            else:
                tail.append(found)
        for _, prey in head:
            trial.take(prey, charged=True, sign=-1)
        return head, tail

    def _second_pass(self, node: Node, ordered: list[Found]) -> tuple[list[Found], int]:
        """Return those that may go one after another, and at which the ask fits. Rules: PRE-22."""
        trial = self._trial
        short = self._short(node)
        missing = len(short)
        victims: list[Found] = []
        start = -1
        for found in ordered:
            prey = found[1]
            if not trial.permits(prey, charged=False):
                continue
            trial.take(prey)
            victims.append(found)
            if start >= 0:
                continue
            for index, amount in prey.need:
                if short.get(index, 0) > 0:
                    short[index] -= amount
                    missing -= short[index] <= 0
            if not missing:
                start = len(victims) - 1
        for _, prey in victims:
            trial.take(prey, sign=-1)
        return victims, start

    def _shorten(self, node: Node, victims: list[Found], start: int) -> tuple[list[Found], int]:
        """Put those behind the others that need not go for the ask to fit. Rules: PRE-87 (4)."""
        spare = spare_room(node, self._request, victims[: start + 1])
        kept: list[Found] = []
        moved: list[Found] = []
        for found in reversed(victims[: start + 1]):
            (moved if spares(spare, found[1]) else kept).append(found)
        return kept[::-1] + moved[::-1] + victims[start + 1 :], len(kept) - 1

    def _short(self, node: Node) -> dict[int, int]:
        """Return what the ask lacks on a node, by type; not empty where it does not fit."""
        available = node.available
        return {
            index: amount - amount_at(available, index)
            for index, amount in self._request.amounts.need
            if amount > amount_at(available, index)
        }


def spare_room(node: Node, request: Request, victims: list[Found]) -> Room:
    """Return what is left on a node, of what an ask wants, when victims went and it came."""
    spare = {
        index: amount_at(node.available, index) - amount for index, amount in request.amounts.need
    }
    for _, prey in victims:
        for index, amount in prey.need:
            if index in spare:
                spare[index] += amount
    return spare


def spares(spare: Room, prey: Prey) -> bool:
    """Whether a victim may stay, since there is room to spare; then that is less. Rules: PRE-87."""
    need = [(index, amount) for index, amount in prey.need if index in spare]
    if any(spare[index] < amount for index, amount in need):
        return False
    for index, amount in need:
        spare[index] -= amount
    return True
