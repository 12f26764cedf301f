"""The changes that would place a waiting ask, each proven by trying it.

``edits`` proposes them. Each is made on a core of its own, and the outcome is compared with that of
no change, so that it shows whom the change costs something. Rules: EXT-47.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.base.texts import shown
from remuda.core.messages.effects import AllocationNew
from remuda.core.messages.preemption_queries import PreemptionsQuery, PreemptionView
from remuda.core.messages.rows import rows
from remuda.core.messages.trace_queries import AskTraceQuery, AskTraceView
from remuda.core.scheduler import Scheduler
from remuda.insight.changes import Edit
from remuda.insight.dry_run import refused
from remuda.insight.edits import edits, last_edits
from remuda.insight.surroundings import WaysOutQuestion, applications, surroundings, visible
from remuda.insight.throwaway import Throwaway

# Does each piece of work on a core of its own, which is a copy of this one.
OnCopies: TypeAlias = Callable[[Sequence[Callable[[], bytes]]], Sequence[bytes | None]]


@dataclass(frozen=True, slots=True)
class WayOut:
    """A change with which an ask would be placed; it was tried on a copy of the scheduler.

    ``kinds``: what is changed. ``cost``: the order of ways, smaller is better. ``node_id`` and
    ``after_seconds``: where and when the ask would be placed. ``preempted``: allocations that would
    be preempted and are not without the change. ``later``: asks, as APPLICATION/KEY, that would be
    placed without the change in the same time, and are not with it. ``number``: its place among
    the edits that were tried. ``hidden``: how many of both are not named, because the caller may
    not read about them.
    """

    kinds: tuple[str, ...]
    text: str
    cost: int
    node_id: str
    after_seconds: float
    preempted: tuple[str, ...]
    later: tuple[str, ...]
    number: int
    hidden: int = 0

    def __str__(self) -> str:
        """Return it for a person, in one line. Rules: EXT-76."""
        after = f" after {self.after_seconds:g} s" if self.after_seconds else ""
        line = f"{self.text}: placed on {self.node_id}{after}"
        if self.preempted:
            line += f"; preempted: {', '.join(self.preempted)}"
        if self.later:
            line += f"; later: {', '.join(self.later)}"
        if self.hidden:
            line += f"; it costs {self.hidden} others something"
        return shown(line)


@message
class Tried:
    """What a trial led to: the first allocation of the ask, all placed asks, all victims.

    Each of these two comes as its application and its key or ID.
    """

    node_id: str
    after_ns: int
    placed: tuple[tuple[str, str], ...]
    victims: tuple[tuple[str, str], ...]


_NOTHING: Final = Tried("", 0, (), ())


def ways_out(
    scheduler: Scheduler, now_ns: int, question: WaysOutQuestion, on_copies: OnCopies
) -> tuple[WayOut, ...]:
    """Return the changes of the declared set that place an ask, cheapest first.

    The core is not changed, but copies of it are. Raises: UsageError if the ask does not wait.
    Implements: EXT-47.
    """
    first, last = proposals(scheduler, question)
    queues = {view.application_id: view.queue for view in applications(scheduler, question)}

    def seen(application_id: str) -> bool:
        return question.sees(queues.get(application_id, ""))

    def tried(chosen: Sequence[Edit]) -> list[Tried]:
        works = [partial(_tried, scheduler, now_ns, question, edit) for edit in chosen]
        return [_NOTHING if each is None else _read(each) for each in on_copies(works)]

    nothing = Edit((), (), (), question.application_id)
    usual, *answers = tried((nothing, *first))
    found = tuple(_ways(first, answers, usual, seen))
    if found or not last:
        return found
    further = tuple(_ways(last, tried(last), usual, seen))
    return tuple([replace(way, number=len(first) + way.number) for way in further])


def _ways(
    chosen: Sequence[Edit],
    answers: Sequence[Tried],
    usual: Tried,
    seen: Callable[[str], bool],
) -> Iterator[WayOut]:
    """Yield what places the ask, but for changes that do more than another one that does.

    ``seen``: whether the caller may read about an application.
    """
    enough: list[set[str]] = []
    for number, (edit, tried) in enumerate(zip(chosen, answers, strict=True)):
        if any(parts <= set(edit.parts) for parts in enough):
            continue
        if tried.node_id:
            enough.append(set(edit.parts))
            preempted = set(tried.victims) - set(usual.victims)
            later = set(usual.placed) - set(tried.placed)
            yield WayOut(
                edit.kinds,
                edit.text,
                edit.cost,
                tried.node_id,
                tried.after_ns / 1e9,
                tuple(["/".join(each) for each in sorted(preempted) if seen(each[0])]),
                tuple(["/".join(each) for each in sorted(later) if seen(each[0])]),
                number,
                sum([not seen(each[0]) for each in (*preempted, *later)]),
            )


def proposals(scheduler: Scheduler, question: WaysOutQuestion) -> tuple[list[Edit], list[Edit]]:
    """Return the edits that are tried for an ask, and those that are tried if none of them does.

    Raises: UsageError.
    """
    query = AskTraceQuery(
        question.partition, question.application_id, question.allocation_key, question.rm_id
    )
    trace = scheduler.view(query)
    if not isinstance(trace, AskTraceView):
        raise UsageError(
            f"ask '{question.allocation_key}' of application '{question.application_id}' does not"
            " wait; check both IDs"
        )
    trace = visible(question, trace)
    around = surroundings(scheduler, question, trace)
    first = edits(trace, around)
    known = {edit.parts for edit in first}
    return first, [edit for edit in last_edits(trace, around) if edit.parts not in known]


def _tried(scheduler: Scheduler, now_ns: int, question: WaysOutQuestion, edit: Edit) -> bytes:
    """Make an edit on a core that is used up, and return what follows."""
    trial = Throwaway(scheduler, now_ns)
    for command in edit.commands:
        trial.send(command)
    found = _NOTHING
    if not refused(effect for _, effect in trial.effects):
        trial.run(question.within_ns)
        found = _outcome(trial, question, edit)
    return msgspec.json.encode(found)


def _read(answer: bytes) -> Tried:
    return msgspec.json.decode(answer, type=Tried)


def _outcome(trial: Throwaway, question: WaysOutQuestion, edit: Edit) -> Tried:
    wanted = (edit.application_id, question.allocation_key)
    node_id, after_ns = "", 0
    placed: list[tuple[str, str]] = []
    for at_ns, effect in trial.effects:
        if isinstance(effect, AllocationNew):
            key = (effect.ask.application_id, effect.ask.allocation_key)
            placed.append(key)
            if key == wanted and not node_id:
                node_id, after_ns = effect.node_id, at_ns - trial.began_ns
    victims = [
        (victim.application_id, victim.allocation_id)
        for view in rows(PreemptionView, trial.scheduler.view(_since(question)))
        if view.created_ns >= trial.began_ns
        for victim in view.victims
    ]
    return Tried(node_id, after_ns, tuple(placed), tuple(victims))


def _since(question: WaysOutQuestion) -> PreemptionsQuery:
    return PreemptionsQuery(question.partition, rm_id=question.rm_id)
