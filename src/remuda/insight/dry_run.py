"""What would happen if a submission came now.

The submission is carried out, as requests of a resource manager, and what follows is read from the
effects and from the views. Rules: EXT-48.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from remuda.base.duration import SECOND
from remuda.base.message import message
from remuda.base.texts import shown
from remuda.core.messages.application_queries import ApplicationQuery
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.commands import Command
from remuda.core.messages.effects import (
    AllocationNew,
    ApplicationsAnswered,
    AsksRejected,
    ConfigurationAnswered,
    Effect,
    NodesAnswered,
    Rejection,
)
from remuda.core.messages.preemption_queries import PreemptionsQuery, PreemptionView
from remuda.core.messages.queries import View
from remuda.core.messages.rows import Rows
from remuda.core.scheduler import Scheduler
from remuda.insight.explanation import waiting_asks
from remuda.insight.html import lines_html
from remuda.insight.throwaway import Throwaway

PLACED: Final = "placed"
WAITS: Final = "waits"
REFUSED: Final = "refused"


@message
class Submission:
    """What would come: requests about one application, perhaps a configuration and nodes first.

    ``within_ns``: how long to look ahead. ``rm_id``: whose partition it is; "": that of the first
    RM by ID.
    """

    commands: tuple[Command, ...]
    application_id: str
    partition: str
    within_ns: int = 0
    rm_id: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What would be refused: its ID or key, why, and by which rule."""

    subject: str
    reason: str
    rule: str


@dataclass(frozen=True, slots=True)
class Placement:
    """An allocation that would be made, and after how many seconds."""

    application_id: str
    allocation_key: str
    node_id: str
    after_seconds: float
    placeholder: bool = False


@dataclass(frozen=True, slots=True)
class Victim:
    """An allocation that would be preempted, for which application, and why."""

    application_id: str
    allocation_key: str
    allocation_id: str
    node_id: str
    queue: str
    preemptor: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitingAsk:
    """An ask that would still wait: the gate that stops it, and the object in the way.

    ``pending``: how many of its allocations. ``reservations``: the nodes that it would reserve.
    """

    allocation_key: str
    pending: int
    gate: str
    subject: str
    reservations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would happen to an application and to others if a submission came now.

    ``verdict``: ``placed`` if nothing of the application waits in the end, ``waits``, or
    ``refused``. ``queue``: where the placement rules put it. ``placed``: its allocations in the
    order in which they are made; ``others``: those of other applications. ``victims``: what would
    be preempted, for anybody. ``at_ns``: the time of the state it was worked out on;
    ``within_seconds``: how long it was followed. Predicates were not asked.
    """

    verdict: str
    application_id: str
    queue: str
    state: str
    at_ns: int
    within_seconds: float
    refusals: tuple[Refusal, ...] = ()
    placed: tuple[Placement, ...] = ()
    waiting: tuple[WaitingAsk, ...] = ()
    victims: tuple[Victim, ...] = ()
    others: tuple[Placement, ...] = ()

    def __str__(self) -> str:
        """Return it for a person, one fact a line. Rules: EXT-76."""
        where = f" in {self.queue}" if self.queue else ""
        lines = [f"{self.application_id}{where}: {self.verdict}"]
        lines += [f"  refused: {each.subject}: {each.reason}" for each in self.refusals]
        lines += [f"  {_placement_text(each)}" for each in self.placed]
        lines += [f"  {_waiting_text(each)}" for each in self.waiting]
        lines += [
            f"  {each.allocation_id} of {each.application_id} on {each.node_id} would be preempted"
            f" for {each.preemptor or 'another application'}"
            for each in self.victims
        ]
        if self.others:
            lines.append(f"  {len(self.others)} allocations of others would be made, too")
        return "\n".join(map(shown, lines))

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        return lines_html(str(self))


def _placement_text(placement: Placement) -> str:
    later = f" after {placement.after_seconds:g} s" if placement.after_seconds else ""
    what = "placeholder " if placement.placeholder else ""
    return f"{what}{placement.allocation_key} runs on {placement.node_id}{later}"


def _waiting_text(ask: WaitingAsk) -> str:
    subject = f" ({ask.subject})" if ask.subject else ""
    reserved = f"; it reserves {', '.join(ask.reservations)}" if ask.reservations else ""
    return f"{ask.allocation_key} waits, {ask.pending} pending: {ask.gate}{subject}{reserved}"


def dry_run(scheduler: Scheduler, now_ns: int, submission: Submission) -> DryRun:
    """Carry out a submission on a core that is used up, and return what happens.

    Implements: EXT-48.
    """
    application_id = submission.application_id
    trial = Throwaway(scheduler, now_ns)
    known = {view.number for view in _preemptions(scheduler, submission)}
    refusals: tuple[Refusal, ...] = ()
    for command in submission.commands:
        if not refusals:
            trial.send(command)
            refusals = tuple(refused(effect for _, effect in trial.effects))
    trial.run(submission.within_ns)
    view = _application(scheduler, submission)
    waiting = () if view is None else tuple(_waiting(scheduler, view))
    placed: list[Placement] = []
    others: list[Placement] = []
    for each in placements(trial):
        (placed if each.application_id == application_id else others).append(each)
    verdict = WAITS if waiting else PLACED
    if refusals:
        verdict = REFUSED
    return DryRun(
        verdict,
        application_id,
        "" if view is None else view.queue,
        "" if view is None else view.state,
        now_ns,
        submission.within_ns / SECOND,
        refusals,
        tuple(placed),
        waiting,
        tuple(
            victim
            for preemption in _preemptions(scheduler, submission)
            if preemption.number not in known
            for victim in _victims(preemption)
        ),
        tuple(others),
    )


def refused(effects: Iterable[Effect]) -> list[Refusal]:
    """Return all refusals among some effects."""
    found: list[Refusal] = []
    for effect in effects:
        if isinstance(effect, NodesAnswered | ApplicationsAnswered | AsksRejected):
            found += [_refusal(each) for each in effect.rejected]
        elif isinstance(effect, ConfigurationAnswered) and effect.reason:
            found.append(Refusal("configuration", effect.reason, effect.rule))
    return found


def _refusal(rejection: Rejection) -> Refusal:
    return Refusal(rejection.subject, rejection.reason, rejection.rule)


def placements(trial: Throwaway) -> list[Placement]:
    """Return the allocations that a trial made, in their order."""
    return [
        Placement(
            effect.ask.application_id,
            effect.ask.allocation_key,
            effect.node_id,
            (at_ns - trial.began_ns) / SECOND,
            effect.ask.placeholder,
        )
        for at_ns, effect in trial.effects
        if isinstance(effect, AllocationNew)
    ]


def _victims(preemption: PreemptionView) -> list[Victim]:
    return [
        Victim(
            victim.application_id,
            victim.allocation_key,
            victim.allocation_id,
            victim.node_id,
            victim.queue,
            preemption.application_id or preemption.queue,
            preemption.reasons,
        )
        for victim in preemption.victims
    ]


def _preemptions(scheduler: Scheduler, submission: Submission) -> list[PreemptionView]:
    query = PreemptionsQuery(submission.partition, rm_id=submission.rm_id)
    found = scheduler.view(query)
    return [view for view in _rows(found) if isinstance(view, PreemptionView)]


def _rows(found: View) -> Iterable[object]:
    assert isinstance(found, tuple | Rows)
    return found


def _application(scheduler: Scheduler, submission: Submission) -> ApplicationView | None:
    query = ApplicationQuery(
        submission.partition,
        submission.application_id,
        completed=True,
        rejected=True,
        rm_id=submission.rm_id,
    )
    for view in _rows(scheduler.view(query)):
        if isinstance(view, ApplicationView):
            return view
    return None


def _waiting(scheduler: Scheduler, view: ApplicationView) -> list[WaitingAsk]:
    return [
        WaitingAsk(
            each.allocation_key,
            each.pending_count,
            "" if each.finding is None else each.finding.gate,
            "" if each.finding is None else each.finding.subject,
            each.reservations,
        )
        for each in waiting_asks(scheduler.view, view)
    ]
