"""What is wrong with a queue file, as the scheduler would find it: with the scheduler's own reader.

The controller does not ask a running scheduler: so it finds all faults at once, and finds them
while no scheduler runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remuda.base.errors import ERROR
from remuda.runtime.configuration.text import judge
from remuda_kubernetes.link.partitions import missing_partition
from remuda_kubernetes.translation.findings import Finding

_SHOWN: Final = 50
_ADVICE: Final = "correct the file"


def faults_of(queues: str) -> tuple[Finding, ...]:
    """Return all faults of a queue file, at most 50, errors first; no text is the built-in file.

    Rules: EXT-177.
    """
    missing = missing_partition(queues)
    if missing is not None:
        return (missing,)
    problems = sorted(
        judge(queues.encode(), "queues.yaml").problems, key=lambda each: each.severity != ERROR
    )
    return tuple(
        Finding(
            f"queues.yaml:{each.line}:{each.column}" if each.line else "queues.yaml",
            f"{each.path}: {each.message} [{each.rule}]" if each.path else each.message,
            each.hint or _ADVICE,
            error=each.severity == ERROR,
        )
        for each in problems[:_SHOWN]
    )


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues that a file has, by their full names in small letters.

    ``provided``: whether a placement rule reads the queue that a pod names; ``creates``: whether
    such a rule makes one that is missing; ``nested``: whether such a rule has a parent rule.
    """

    leaves: frozenset[str]
    parents: frozenset[str]
    provided: bool
    creates: bool
    nested: bool


def queues_of(text: str) -> Queues | None:
    """Return the queues of the partition ``default``; None if the file has faults."""
    found = judge(text.encode(), "queues.yaml").configuration
    partitions = [each for each in found.partitions if each.name == "default"] if found else []
    if not partitions:
        return None
    leaves: set[str] = set()
    parents: set[str] = set()
    waiting = [("", partitions[0].root)]
    while waiting:
        above, queue = waiting.pop()
        name = f"{above}.{queue.name}".strip(".").lower()
        (parents if queue.queues or queue.parent else leaves).add(name)
        waiting += [(name, each) for each in queue.queues]
    rules = [each for each in partitions[0].placement_rules if each.name == "provided"]
    return Queues(
        leaves=frozenset(leaves),
        parents=frozenset(parents),
        provided=bool(rules),
        creates=any(each.create for each in rules),
        nested=any(each.parent is not None for each in rules),
    )
