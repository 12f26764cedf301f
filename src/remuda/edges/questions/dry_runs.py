"""The JSON shape of what would happen to a submission, and what of it a caller may see (EXT-64)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from remuda.edges.questions.answers import Answer, Sees
from remuda.edges.questions.shapes import Shape
from remuda.insight.dry_run import DryRun, Placement, Refusal, Victim, WaitingAsk

# Elements of a list that are shown; a count tells how many there are.
SHOWN: Final = 1_000

# What a caller is told instead of a reason that may name a queue beyond its scope.
BEYOND: Final = "the placement rules give the application no queue in the scope of the caller"


class RefusedPart(Shape, kw_only=True):
    """What the scheduler would not take."""

    subject: str
    reason: str
    rule: str


class Placed(Shape, kw_only=True):
    """An allocation that would be made."""

    application_id: str
    allocation_key: str
    node_id: str
    after: float
    placeholder: bool = False


class Waiting(Shape, kw_only=True):
    """An ask that would wait, and the gate that stops it."""

    allocation_key: str
    pending: int
    gate: str = ""
    subject: str = ""
    reservations: list[str] = msgspec.field(default_factory=list)


class DryRunVictim(Shape, kw_only=True):
    """An allocation that would be preempted, for whom, and why."""

    application_id: str
    allocation_key: str
    allocation_id: str
    node_id: str
    queue_name: str
    preemptor: str = ""
    reasons: list[str] = msgspec.field(default_factory=list)


class DryRunAnswer(Answer, kw_only=True):
    """What would happen to a submission and to others."""

    outcome: str
    application_id: str
    queue_name: str = ""
    application_state: str = ""
    within: float
    refusals: list[RefusedPart] = msgspec.field(default_factory=list)
    placed: list[Placed] = msgspec.field(default_factory=list)
    placed_count: int = 0
    waiting: list[Waiting] = msgspec.field(default_factory=list)
    waiting_count: int = 0
    victims: list[DryRunVictim] = msgspec.field(default_factory=list)
    victims_count: int = 0
    others: list[Placed] = msgspec.field(default_factory=list)
    others_count: int = 0
    hidden: int = 0


def dry_run(
    found: DryRun, queues: Mapping[str, str], sees: Sees, *, version: int, wall_ns: int
) -> DryRunAnswer:
    """Return what would happen; ``queues``: those of applications. Rules: EXT-64, EXT-65."""
    shown, hidden = _seen(found, queues, sees)
    return DryRunAnswer(
        state_version=version,
        timestamp=wall_ns,
        text=[*str(shown).split("\n"), *([f"  not shown: {hidden} of others"] if hidden else [])],
        outcome=shown.verdict,
        application_id=shown.application_id,
        queue_name=shown.queue,
        application_state=shown.state,
        within=shown.within_seconds,
        refusals=[
            RefusedPart(subject=each.subject, reason=each.reason, rule=each.rule)
            for each in shown.refusals[:SHOWN]
        ],
        placed=_placements(shown.placed),
        placed_count=len(shown.placed),
        waiting=[_waiting(each) for each in shown.waiting[:SHOWN]],
        waiting_count=len(shown.waiting),
        victims=[_victim(each) for each in shown.victims[:SHOWN]],
        victims_count=len(shown.victims),
        others=_placements(shown.others),
        others_count=len(shown.others),
        hidden=hidden,
    )


def _seen(found: DryRun, queues: Mapping[str, str], sees: Sees) -> tuple[DryRun, int]:
    """Return what the caller may see of a dry run, and how much is left out.

    Implements: EXT-65.
    """
    if sees(""):
        return found, 0

    def known(application_id: str) -> bool:
        queue = queues.get(application_id, "")
        return queue != "" and sees(queue)

    victims = [_reasonable(each, known) for each in found.victims if sees(each.queue)]
    others = [each for each in found.others if known(each.application_id)]
    hidden = len(found.victims) - len(victims) + len(found.others) - len(others)
    shown = replace(
        found,
        refusals=tuple([_refusal(each) for each in found.refusals]),
        victims=tuple(victims),
        others=tuple(others),
    )
    if found.queue and not sees(found.queue):  # the ID is taken by an application elsewhere
        shown = replace(shown, queue="", state="", placed=(), waiting=())
    return shown, hidden


def _reasonable(victim: Victim, known: Callable[[str], bool]) -> Victim:
    """Return a victim without the reason and the name of a preemptor that is not known."""
    return victim if known(victim.preemptor) else replace(victim, preemptor="", reasons=())


def _refusal(refusal: Refusal) -> Refusal:
    """Return a refusal that names no queue which placement found beyond the scope."""
    if refusal.rule.startswith("PLC") or refusal.rule == "EXT-33":
        return replace(refusal, reason=BEYOND)
    return refusal


def _placements(found: Iterable[Placement]) -> list[Placed]:
    return [
        Placed(
            application_id=each.application_id,
            allocation_key=each.allocation_key,
            node_id=each.node_id,
            after=each.after_seconds,
            placeholder=each.placeholder,
        )
        for each in list(found)[:SHOWN]
    ]


def _waiting(ask: WaitingAsk) -> Waiting:
    return Waiting(
        allocation_key=ask.allocation_key,
        pending=ask.pending,
        gate=ask.gate,
        subject=ask.subject,
        reservations=list(ask.reservations),
    )


def _victim(victim: Victim) -> DryRunVictim:
    return DryRunVictim(
        application_id=victim.application_id,
        allocation_key=victim.allocation_key,
        allocation_id=victim.allocation_id,
        node_id=victim.node_id,
        queue_name=victim.queue,
        preemptor=victim.preemptor,
        reasons=list(victim.reasons),
    )
