"""A core and its RMs in a world where everything goes wrong; in the end both sides must agree.

Each seed is a run of some minutes of virtual time: messages are lost, doubled and delayed, RMs and
the core restart, connections break, nodes come and go, configurations change. Then the faults stop,
and what the core has must be what the RMs run, to the last allocation. How: see ``faults``.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Final

import pytest

from tests.long_runs import ALL_ARE_PLAYED, rotated, usual
from tests.simulation.faults.world import run

BLOCK: Final = 40
SLICE: Final = usual(range(0, 480, BLOCK))
THOUSAND: Final = range(0, 1000, BLOCK)

# What can happen to a message.
FATES: Final = ("lost", "doubled", "echoed")

# The messages to which all of that must have happened.
MESSAGES: Final = (
    "application",
    "applications answered",
    "ask",
    "ask release",
    "confirmation",
    "create",
    "existing",
    "new",
    "node change",
    "nodes answered",
    "order",
    "release",
    "released",
    "removal",
    "updated",
)

MISHAPS: Final = (
    "slow message",
    "answer from an old life",
    "request from an old life",
    "request refused",
    "noticed a gap",
    "RM restarted",
    "RM restarted during its replay",
    "RM left",
    "RM given up",
    "RM too slow",
    "connection lost",
    "connection back in time",
    "connection back too late",
    "registered again",
    "core restarted",
    "dropped after a fault of the core",
    "fault of the core on its own",
    "node added again",
    "node lost",
    "node drained",
    "node undrained",
    "node resized",
    "queue stopped",
    "partition stopped",
    "reload refused",
    "reload during a replay",
    "reload: queue removed",
    "reload: queue added again",
    "reload: partition removed",
    "reload: partition added",
    "reload: limits added",
    "reload: limits removed",
    "reload: maximum changed",
    "reload: number of applications changed",
    "reload: guarantees added",
    "reload: guarantees removed",
    "reload: node order changed",
    "wall clock set",
    "machine stood still",
    "flood of asks",
    "ask beyond a limit",
    "flood of nodes",
    "storm of registrations",
    "absurd request",
    "ordered KeyError",
    "ordered MemoryError",
    "ordered RecursionError",
    "ordered TypeError",
    "ordered ZeroDivisionError",
)

# What the protocol had to do about it, and everyday life beside it.
DEEDS: Final = (
    "placed",
    "application submitted again",
    "ask changed",
    "ask sent again",
    "gave an allocation back",
    "replayed in bulk",
    "replayed per node",
    "recovered alone",
    "recovered with its node",
    "recovered a placeholder",
    "reported again",
    "resized in place",
    "application was there already",
    "node was there already",
    "existing allocation refused",
    "release of something unknown",
    "told everything again",
    "ask looked at for room",
    "node reserved, or not any more",
    "placement judged",
    "placement on a required node",
    "placement under a limit of its user",
    "placement under a limit of its group",
    "start within a number of applications",
    "start after a reservation",
    "start within a number of a user's applications",
    "real ask of a gang placed",
    "placeholder counted",
    "task group looked at",
    "leftovers counted",
)

GANGS: Final = (
    "gang Hard",
    "gang Soft",
    "Failing: ResourceReservationTimeout",
    "Resuming: ResourceReservationTimeout",
    "Failing -> Failed",
    "Resuming -> Accepted",
    "ask dropped at a timeout",
    "timed out, placeholder",
    "timed out, real one",
    "Failing: ExecutionTimeout",
    "release requested again",
    "order heard again",
    "order for something that ended",
    "replacement begun, placeholder",
    "replaced on the same node",
    "replaced on the other node",
    "order 2 met by 1",
    "order 4 met by 1",
    "waiting task deleted during a replacement",
    "node lost under both sides of a replacement",
)

PREEMPTIONS: Final = (
    "preempted, placeholder",
    "preempted, real one",
    "preempted for queue",
    "preempted for required node",
    "preemption placed",
    "preemption lost the ask is gone",
    "preemption lost the node does not take it any more",
    "asked again after a preemption",
)

# Too rare for the slice.
RARE: Final = (
    "reservation within a number of applications",
    "node lost under the placeholder of a replacement",
    "node lost under the real side of a replacement",
    "replacement outlived the node",
    "order 2 met by 4",
    "order 4 met by 2",
    "confirmed, not ordered",
    "node was lost in the core",
    "preemption lost the node is gone",
    "preemption lost the ask changed",
    "preemption lost an ask for just this node came first",
)


@functools.cache
def block(first: int) -> Counter[str]:
    """What was seen in some runs; a failure names its seed and shows the end of its history."""
    seen: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        seen.update(run(seed, gangs=True))
    return seen


def unseen(blocks: range, wanted: tuple[str, ...]) -> list[str]:
    """What never happened."""
    seen: Counter[str] = Counter()
    for first in blocks:
        seen.update(block(first))
    fates = [f"{fate} {message}" for fate in FATES for message in MESSAGES]
    return [
        what for what in (*fates, *MISHAPS, *DEEDS, *GANGS, *PREEMPTIONS, *wanted) if not seen[what]
    ]


@pytest.mark.remuda_rule("RM-9", "RM-10", "RM-12", "RM-15", "RM-17", "RM-18", "EXT-6")
@pytest.mark.remuda_rule("SI-34", "SI-35", "SI-43", "SI-44", "SI-62", "SI-63", "SI-66", "SI-69")
@pytest.mark.remuda_rule("NODE-6", "NODE-13", "OBJ-9", "APP-12", "GANG-17", "GANG-24", "GANG-43")
@pytest.mark.remuda_rule("PRE-35", "PRE-89")
@pytest.mark.remuda_rule("REC-1", "REC-2", "REC-3", "REC-8", "REC-11", "REC-12", "REC-13")
@pytest.mark.parametrize("first", SLICE)
def test_both_sides_agree_when_the_faults_are_over(first: int) -> None:
    assert block(first)["check"] > 0


@ALL_ARE_PLAYED
def test_every_kind_of_fault_was_seen() -> None:
    assert unseen(SLICE, ()) == []


@pytest.mark.long
@pytest.mark.parametrize("first", rotated(THOUSAND))
def test_both_sides_agree_in_a_thousand_runs(first: int) -> None:
    assert block(first)["check"] > 0


@pytest.mark.long
def test_every_kind_of_fault_was_seen_in_a_thousand_runs() -> None:
    assert unseen(THOUSAND, RARE) == []
