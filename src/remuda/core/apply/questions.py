"""Questions to resource managers whose answer comes later (rules: EXT-5, EXT-12 to EXT-17).

A lane whose question is open is aside, and nothing is placed before it is known what becomes of it;
the lanes behind it get as far as their own questions, so that several are open at once. Each answer
brings all of them back, in their order. A lane that got no answer is left alone for a while.
Applications whose placeholders are to be replaced wait likewise.
"""

from __future__ import annotations

from typing import Final

from remuda.core.accounting.asides import set_aside
from remuda.core.accounting.lanes import restage
from remuda.core.accounting.swaps import retry_swaps, set_stuck, set_swaps_aside
from remuda.core.accounting.waiting import wake
from remuda.core.apply.attempts import end_hearings, take_preemption_verdicts
from remuda.core.apply.looking import CLASSES_LIMIT
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import (
    BindPredicates,
    PredicateVerdict,
    PredicateVerdicts,
    PreemptionVerdicts,
)
from remuda.core.model import deadlines
from remuda.core.model.application import Application
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.decision import Await, Postpone
from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane
from remuda.core.model.verdicts import ASKED, PASSED, UNUSABLE, Asked, key_of, refusal

# Lanes and applications aside at once for answers. More would cost with every answer, fewer would
# wait longer.
LOOK_AHEAD: Final = 64


def await_answer(partition: Partition, decision: Await) -> None:
    """Set a lane, or an application's placeholders, aside until the next answer. Rules: EXT-14."""
    lane, application = decision.lane, decision.application
    if decision.ticket and lane is not None:
        _note_question(partition, decision, lane)
    if application is not None:
        partition.questions.swaps[application.number] = application
        set_swaps_aside(partition, application, aside=True)
    elif lane is not None:
        set_aside(partition, lane, partition.questions.awaiting)
    partition.resting = partition.resting or _looked_far(partition)


def postpone(turn: Turn, partition: Partition, decision: Postpone) -> None:
    """Leave something alone for a while; nothing is known about its nodes. Rules: EXT-17.

    It is neither looked at nor refused, so nothing is told or logged.
    """
    if decision.application is not None:
        _postpone_swaps(turn, partition, decision.application)
    elif decision.lane is not None:
        _postpone_lane(turn, partition, decision.lane)


def end_postponements(turn: Turn, partition: Partition) -> None:
    """Let those be tried again that were left alone for long enough. Rules: EXT-17."""
    for lane in list(partition.questions.postponed.values()):
        if lane.until_ns > turn.now_ns:
            break
        wake(partition, lane)
    retry_swaps(partition)


def hear(turn: Turn, command: PredicateVerdicts | BindPredicates | PreemptionVerdicts) -> None:
    """Do what an RM says about its predicates. Rules: EXT-5, EXT-12, EXT-17."""
    if isinstance(command, BindPredicates):
        bind_predicates(turn, command)
    elif isinstance(command, PredicateVerdicts):
        take_verdicts(turn, command)
    else:
        for partition in turn.cluster.managers[command.rm_id].own():
            if take_preemption_verdicts(partition, command):
                break


def take_verdicts(turn: Turn, command: PredicateVerdicts) -> None:
    """Keep what an RM answered and let its lanes go on. Rules: EXT-5, EXT-14, EXT-17.

    Answers to questions that are over are of no use.
    """
    manager = turn.cluster.managers[command.rm_id]
    for partition in manager.own():
        found = False
        for verdict in command.verdicts:
            asked = partition.questions.asked.pop(verdict.ticket, None)
            if asked is not None:
                found = True
                _take(turn, partition, asked, verdict)
        if found:
            _go_on(partition, manager)


def bind_predicates(turn: Turn, command: BindPredicates) -> None:
    """Ask an RM about nodes from now on, or no more; every ask gets where it belongs then.

    Rules: EXT-12, SI-106, NOD-13.
    """
    manager = turn.cluster.managers[command.rm_id]
    manager.predicates = command.predicates
    manager.preemption_predicates = command.preemption
    for partition in manager.own():
        partition.preemption_predicates = command.preemption
        end_hearings(partition)
        if partition.predicates == command.predicates:
            continue
        partition.predicates = command.predicates
        partition.questions.asked = {}
        for node in partition.nodes.values():
            node.verdicts.clear()
            if node.reservations:
                partition.shaken[node.node_id] = node
        for reservation in partition.reservations.values():
            reservation.refusal = ""
        for application in partition.applications.values():
            for request in application.requests.values():
                restage(partition, request)
        retry_swaps(partition)
        _go_on(partition, manager)


def rest(partition: Partition, manager: ResourceManager) -> None:
    """Decide nothing in a partition while its RM is paused, or enough is asked, else go on.

    Rules: RM-15, EXT-6, EXT-14.
    """
    partition.resting = manager.resting() or _looked_far(partition)


def forget(lane: Lane) -> None:
    """Drop what is known from questions about a lane, and what is still to come. Rules: EXT-5."""
    lane.ticket = 0
    if lane.judged:
        for allocate in (True, False):
            key = key_of(lane, allocate=allocate)
            for node in lane.judged:
                node.verdicts.pop(key, None)
        lane.judged = ()


def _note_question(partition: Partition, decision: Await, lane: Lane) -> None:
    """Note at the nodes that they are asked about, so that a change voids the answer. EXT-5."""
    nodes = decision.nodes
    lane.ticket = decision.ticket
    lane.judged = [*lane.judged, *nodes]
    asked = Asked(lane, nodes, decision.allocate, decision.application)
    partition.questions.asked[decision.ticket] = asked
    key = key_of(lane, allocate=decision.allocate)
    for node in nodes:
        if len(node.verdicts) >= CLASSES_LIMIT:
            node.verdicts.clear()
        node.verdicts[key] = ASKED


def _take(turn: Turn, partition: Partition, asked: Asked, verdict: PredicateVerdict) -> None:
    """Take one answer, unless nobody waits for it any more. Rules: EXT-5, EXT-17."""
    lane, application = asked.lane, asked.application
    if lane.ticket != verdict.ticket:
        return
    lane.ticket = 0
    if application is None:
        waits = lane.listed is partition.questions.awaiting
    else:
        waits = partition.questions.swaps.get(application.number) is application
    if not waits:
        forget(lane)
    elif not verdict.unknown:
        _keep(asked, verdict)
    elif application is not None:
        forget(lane)
        _end_swaps_aside(partition, application)
        _postpone_swaps(turn, partition, application)
    else:
        wake(partition, lane)
        _postpone_lane(turn, partition, lane)


def _keep(asked: Asked, verdict: PredicateVerdict) -> None:
    """Keep the verdicts on nodes that did not change since they were asked about. Rules: EXT-5.

    What is missing before the first node that passes is not usable this time; what comes after it
    need not be known (EXT-13, EXT-17).
    """
    key = key_of(asked.lane, allocate=asked.allocate)
    said: dict[str, str] = dict.fromkeys(verdict.passed, PASSED)
    said.update({node_id: refusal(reason) for node_id, reason in verdict.refused})
    rest_of_them = UNUSABLE
    for node in asked.nodes:
        told = said.get(node.node_id, rest_of_them)
        if told == PASSED:
            rest_of_them = ""
        if node.verdicts.get(key) != ASKED:
            continue
        if told and node.node_id not in verdict.void:
            node.verdicts[key] = told
        else:
            del node.verdicts[key]


def _postpone_lane(turn: Turn, partition: Partition, lane: Lane) -> None:
    forget(lane)
    lane.until_ns = turn.now_ns + deadlines.POSTPONED_NS
    set_aside(partition, lane, partition.questions.postponed)
    turn.set_timer(partition, deadlines.POSTPONED, deadlines.POSTPONED_NS)


def _postpone_swaps(turn: Turn, partition: Partition, application: Application) -> None:
    """Leave an application alone as if nothing could be replaced, but not for ever."""
    for group in application.request_groups.values():
        forget(group.strand.lane)
    set_stuck(partition, application)
    turn.set_timer(partition, deadlines.POSTPONED, deadlines.POSTPONED_NS)


def _looked_far(partition: Partition) -> bool:
    return partition.questions.waiting() >= LOOK_AHEAD


def _go_on(partition: Partition, manager: ResourceManager) -> None:
    """Bring back all that awaits an answer; what has none goes aside again. Rules: EXT-14."""
    for lane in list(partition.questions.awaiting.values()):
        wake(partition, lane)
    for application in list(partition.questions.swaps.values()):
        _end_swaps_aside(partition, application)
    rest(partition, manager)


def _end_swaps_aside(partition: Partition, application: Application) -> None:
    partition.questions.swaps.pop(application.number, None)
    set_swaps_aside(partition, application, aside=False)
