"""The changes that would place a waiting ask, each proven by trying it.

``edits`` proposes them. Each is made on a core of its own, and the outcome is compared with that of
no change, so that it shows whom the change costs something. Rules: EXT-47.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, TypeVar

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.base.scopes import Scope
from remuda.base.texts import shown
from remuda.config.schema import Configuration
from remuda.core.messages.application_views import ApplicationView
from remuda.core.messages.effects import AllocationNew
from remuda.core.messages.preemption_queries import PreemptionsQuery, PreemptionView
from remuda.core.messages.queries import (
    AccessQuery,
    AccessView,
    NodesQuery,
    NodeView,
    PartitionsQuery,
    PartitionView,
    QueuesQuery,
    QueueView,
    View,
)
from remuda.core.messages.rows import ApplicationRowsQuery, Rows
from remuda.core.messages.trace_queries import (
    AskTraceQuery,
    AskTraceView,
    ConfigurationInForceQuery,
)
from remuda.core.scheduler import Scheduler
from remuda.insight.dry_run import refused
from remuda.insight.edits import Edit, Surroundings, edits
from remuda.insight.throwaway import Throwaway

# Does each piece of work on a core of its own, which is a copy of this one.
OnCopies: TypeAlias = Callable[[Sequence[Callable[[], bytes]]], Sequence[bytes | None]]

V = TypeVar("V")

_NAME: Final = "what-if"


@message
class WaysOutQuestion:
    """The ask that should be placed. ``within_ns``: how soon, in the scheduler's time.

    ``rm_id``: whose partition it is; "": that of the first RM by ID. ``scope``: what the caller may
    read; other queues, their applications and single nodes are not named. None: everything.
    """

    partition: str
    application_id: str
    allocation_key: str
    within_ns: int = 0
    rm_id: str = ""
    scope: Scope | None = None

    def sees(self, queue: str) -> bool:
        """Whether the caller may read about a queue; "": about the partition. Rules: EXT-32."""
        scope = self.scope
        return scope is None or scope.includes(self.rm_id, self.partition, queue)


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


def ways_out(
    scheduler: Scheduler, now_ns: int, question: WaysOutQuestion, on_copies: OnCopies
) -> tuple[WayOut, ...]:
    """Return the changes of the declared set that place an ask, cheapest first.

    The core is not changed, but copies of it are. Raises: UsageError if the ask does not wait.
    Implements: EXT-47.
    """
    chosen = proposals(scheduler, question)
    queues = {view.application_id: view.queue for view in _applications(scheduler, question)}
    nothing = Edit((), (), (), question.application_id)
    works = [partial(_tried, scheduler, now_ns, question, edit) for edit in (nothing, *chosen)]
    answers = on_copies(works)
    first = answers[0]
    usual = Tried("", 0, (), ()) if first is None else msgspec.json.decode(first, type=Tried)

    def seen(application_id: str) -> bool:
        return question.sees(queues.get(application_id, ""))

    return tuple(_ways(chosen, answers[1:], usual, seen))


def _ways(
    chosen: Sequence[Edit],
    answers: Sequence[bytes | None],
    usual: Tried,
    seen: Callable[[str], bool],
) -> Iterator[WayOut]:
    """Yield what places the ask, but for changes that do more than another one that does.

    ``seen``: whether the caller may read about an application.
    """
    enough: list[set[str]] = []
    for number, (edit, answer) in enumerate(zip(chosen, answers, strict=True)):
        if answer is None or any(parts <= set(edit.parts) for parts in enough):
            continue
        tried = msgspec.json.decode(answer, type=Tried)
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


def proposals(scheduler: Scheduler, question: WaysOutQuestion) -> list[Edit]:
    """Return the edits that are tried for an ask, in their order. Raises: UsageError."""
    query = AskTraceQuery(
        question.partition, question.application_id, question.allocation_key, question.rm_id
    )
    trace = scheduler.view(query)
    if not isinstance(trace, AskTraceView):
        raise UsageError(
            f"ask '{question.allocation_key}' of application '{question.application_id}' does not"
            " wait; check both IDs"
        )
    return edits(trace, _surroundings(scheduler, question, trace))


def _tried(scheduler: Scheduler, now_ns: int, question: WaysOutQuestion, edit: Edit) -> bytes:
    """Make an edit on a core that is used up, and return what follows."""
    trial = Throwaway(scheduler, now_ns)
    for command in edit.commands:
        trial.send(command)
    found = Tried("", 0, (), ())
    if not refused(effect for _, effect in trial.effects):
        trial.run(question.within_ns)
        found = _outcome(trial, question, edit)
    return msgspec.json.encode(found)


def _outcome(trial: Throwaway, question: WaysOutQuestion, edit: Edit) -> Tried:
    wanted = (edit.application_id or question.application_id, question.allocation_key)
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
        for view in _views(PreemptionView, trial.scheduler.view(_since(question)))
        if view.created_ns >= trial.began_ns
        for victim in view.victims
    ]
    return Tried(node_id, after_ns, tuple(placed), tuple(victims))


def _since(question: WaysOutQuestion) -> PreemptionsQuery:
    return PreemptionsQuery(question.partition, rm_id=question.rm_id)


# ----------------------------------------------------------------------------- surroundings


def _surroundings(
    scheduler: Scheduler, question: WaysOutQuestion, trace: AskTraceView
) -> Surroundings:
    partition = question.partition
    (home,) = [
        view
        for view in _views(PartitionView, scheduler.view(PartitionsQuery()))
        if view.name == partition and question.rm_id in ("", view.rm_id)
    ][:1]
    config = scheduler.view(ConfigurationInForceQuery(home.rm_id))
    assert isinstance(config, Configuration)
    nodes = _views(NodeView, scheduler.view(NodesQuery(partition, question.rm_id)))
    largest = max([node.capacity for node in nodes], key=_size, default={})
    applications = _applications(scheduler, question)
    running = [
        (view.application_id, view.used)
        for view in applications
        if view.application_id != question.application_id
        and any(view.used.values())
        and question.sees(view.queue)
    ]
    taken = {view.application_id for view in applications} | {node.node_id for node in nodes}
    return Surroundings(
        home.rm_id,
        partition,
        config,
        _leaves(scheduler, question, trace),
        sorted(running, key=lambda each: (_size(each[1]), each[0])),
        largest,
        next(name for name in _names() if name not in taken),
        may_name_nodes=question.sees(""),
    )


def _applications(scheduler: Scheduler, question: WaysOutQuestion) -> list[ApplicationView]:
    query = ApplicationRowsQuery(question.partition, rm_id=question.rm_id)
    return _views(ApplicationView, scheduler.view(query))


def _names() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{_NAME}-{number}"


def _size(resource: Resource) -> tuple[int, ...]:
    return tuple([resource[name] for name in sorted(resource, reverse=True)])


def _leaves(scheduler: Scheduler, question: WaysOutQuestion, trace: AskTraceView) -> list[str]:
    """Return other leaves that let the user in and have room for the ask, by path."""
    root = scheduler.view(QueuesQuery(question.partition, question.rm_id))
    assert isinstance(root, QueueView)
    found: list[str] = []
    ahead = [root]
    while ahead:
        queue = ahead.pop()
        ahead += queue.children
        if queue.leaf and queue.managed and queue.path != trace.queue and _has_room(queue, trace):
            access = AccessQuery(
                question.partition, queue.path, trace.user, trace.groups, rm_id=question.rm_id
            )
            answer = scheduler.view(access)
            if isinstance(answer, AccessView) and answer.allowed and question.sees(queue.path):
                found.append(queue.path)
    return sorted(found)


def _has_room(queue: QueueView, trace: AskTraceView) -> bool:
    room = queue.headroom or {}
    return all(room.get(name, amount) >= amount for name, amount in trace.ask.resource.items())


def _views(kind: type[V], found: View) -> list[V]:
    assert isinstance(found, tuple | Rows)
    return [view for view in found if isinstance(view, kind)]
