"""What a configuration would change, as a result that people and programs can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remuda.base.resources import Resource
from remuda.base.texts import shown
from remuda.insight.html import sections_html


@dataclass(frozen=True, slots=True)
class QueueGone:
    """A queue that would be drained or removed, with what is in it and below it now."""

    partition: str
    queue: str
    applications: int
    allocated: Resource


@dataclass(frozen=True, slots=True)
class QueueAmount:
    """An amount of one resource type that would change for a queue, in base units.

    ``before``, ``after``: the amount in force and the new one; None: there is none. ``against``:
    the amount that it is compared with.
    """

    partition: str
    queue: str
    resource_type: str
    before: int | None
    after: int | None
    against: int


@dataclass(frozen=True, slots=True)
class MovedApplication:
    """An application that would be placed elsewhere if it was submitted again.

    ``before``, ``after``: its queue under the configuration in force and under the new one; "" if
    it would be refused. ``reason``: why the new one refuses it.
    """

    partition: str
    application_id: str
    before: str
    after: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChangedAsk:
    """An ask with another outcome: the nodes on which its allocations would be made, sorted."""

    partition: str
    application_id: str
    allocation_key: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigImpact:
    """What would differ if a configuration came into force now; nothing has changed.

    ``quotas_below_usage``: maxima, against what the queue uses. ``guarantees_unmet``: guarantees
    with those below the queue, against what the queue can have. ``preemptible``: how much of a
    leaf's usage is not protected by its guarantee, against its usage. ``asks``: both outcomes were
    tried over ``within_seconds`` from ``at_ns`` on. ``ended``, ``kept``: allocations that run now,
    as APPLICATION/ALLOCATION_ID, which the scheduler would end only under the new configuration,
    or only under that in force.
    """

    at_ns: int
    within_seconds: float
    queues_gone: tuple[QueueGone, ...] = ()
    quotas_below_usage: tuple[QueueAmount, ...] = ()
    guarantees_unmet: tuple[QueueAmount, ...] = ()
    preemptible: tuple[QueueAmount, ...] = ()
    moved: tuple[MovedApplication, ...] = ()
    asks: tuple[ChangedAsk, ...] = ()
    ended: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it for a person: one line for each difference, below a title for each kind.

        Rules: EXT-76.
        """
        lines: list[str] = []
        for title, entries in sections(self):
            if entries:
                lines += [f"{title}: {len(entries)}", *[f"  {each}" for each in entries]]
        return "\n".join(map(shown, lines)) or "no differences"

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        return sections_html(sections(self), "no differences")


def sections(impact: ConfigImpact) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of difference with a sentence for each, empty kinds included."""
    yield "queues that go", [_gone(each) for each in impact.queues_gone]
    yield (
        "quotas below usage",
        [
            f"{_queue(each)}: it uses {each.against} of {each.resource_type}, and may use"
            f" {_amount(each.after)} instead of {_amount(each.before)}"
            for each in impact.quotas_below_usage
        ],
    )
    yield (
        "guarantees that cannot be met",
        [
            f"{_queue(each)}: {_amount(each.after)} of {each.resource_type} guaranteed, of which"
            f" it can have {each.against}"
            for each in impact.guarantees_unmet
        ],
    )
    yield (
        "work that becomes preemptible",
        [
            f"{_queue(each)}: {_amount(each.after)} instead of {_amount(each.before)} of the"
            f" {each.against} of {each.resource_type} that it uses"
            for each in impact.preemptible
        ],
    )
    yield "applications placed elsewhere", [_moved(each) for each in impact.moved]
    yield (
        "asks with another outcome",
        [
            f"{each.application_id}/{each.allocation_key}: {_nodes(each.after)} instead of"
            f" {_nodes(each.before)}"
            for each in impact.asks
        ],
    )
    yield "allocations that would be ended", list(impact.ended)
    yield "allocations that would no longer be ended", list(impact.kept)


def _queue(entry: QueueAmount | QueueGone) -> str:
    known = entry.partition == "default"
    return entry.queue if known else f"{entry.queue} of partition {entry.partition}"


def _gone(entry: QueueGone) -> str:
    amounts = ", ".join(f"{name} {entry.allocated[name]}" for name in sorted(entry.allocated))
    count = entry.applications
    applications = "1 application" if count == 1 else f"{count} applications"
    return f"{_queue(entry)}: {applications}, it uses {amounts or 'nothing'}"


def _amount(amount: int | None) -> str:
    return "no limit" if amount is None else str(amount)


def _moved(entry: MovedApplication) -> str:
    if entry.after:
        return f"{entry.application_id}: {entry.after} instead of {entry.before or 'a refusal'}"
    return f"{entry.application_id}: refused instead of {entry.before}: {entry.reason}"


def _nodes(nodes: tuple[str, ...]) -> str:
    return f"on {', '.join(nodes)}" if nodes else "not placed"
