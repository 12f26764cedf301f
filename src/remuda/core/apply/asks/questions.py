"""Questions to resource managers whose answer comes later (rules: EXT-5, chapter 70 section 11).

A class queue with an open question is blocked, and no class queue behind it is placed before the
answer comes. The class queues behind it may ask their own questions, so several are open at once.
Each answer unblocks all of them, in their order. A class queue that got no answer is postponed.
Applications whose placeholders are to be replaced wait in the same way.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.asks.attempts import end_victim_questions, take_preemption_verdicts
from remuda.core.apply.asks.retries import take_probe_answer
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import (
    BindPredicates,
    PredicateVerdict,
    PredicateVerdicts,
    PreemptionVerdicts,
)
from remuda.core.messages.gates import AWAITING_PREDICATES, POSTPONED
from remuda.core.model import deadlines
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.blocked import Blocked
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.retries import Retries
from remuda.core.model.asks.verdicts import ASKED, PASSED, UNUSABLE, Asked, refusal
from remuda.core.model.cluster import ResourceManager
from remuda.core.model.decision import AwaitPredicates, PostponePredicates
from remuda.core.model.partition import Partition
from remuda.core.pending.asks import reclassify
from remuda.core.pending.blocking import block
from remuda.core.pending.changes import answered, pause_over
from remuda.core.pending.marks import keep_verdict, node_changed
from remuda.core.pending.swaps import note_failed_swap, retry_swaps, set_swaps_await

# How many nodes are collected for class queues that await answers. With more, each answer costs
# more; with fewer, the class queues wait longer.
LOOK_AHEAD: Final = 64

# After an answer that refused only some nodes, this many questions name the same nodes as the
# questions before them, because each predicate class is refused other nodes. Fewer class queues
# wait at once then (EXT-14).
TOGETHER: Final = 256
LOOK_TOGETHER: Final = 16


def await_predicates(partition: Partition, decision: AwaitPredicates) -> None:
    """Block a class queue, or an application's replacements, until the next answer.

    Rules: EXT-14.
    """
    class_queue, application, questions = (
        decision.class_queue,
        decision.application,
        partition.waiting.questions,
    )
    questions.wanted += decision.wanted
    if decision.ticket and class_queue is not None:
        _note_question(partition, decision, class_queue)
    if application is not None:
        questions.swaps[application.number] = application
        set_swaps_await(partition, application, awaits_answer=True)
    elif class_queue is not None:
        block(partition, class_queue, Blocked(AWAITING_PREDICATES))
    partition.resting = partition.resting or _enough_asked(partition)


def postpone_predicates(turn: Turn, partition: Partition, decision: PostponePredicates) -> None:
    """Postpone a class queue, or an application's replacements, whose nodes are unknown.

    No ask of it was examined or refused, so there is no event and no log entry.

    Rules: EXT-17.
    """
    if decision.application is not None:
        _postpone_swaps(turn, partition, decision.application)
    elif decision.class_queue is not None:
        _postpone_class_queue(turn, partition, decision.class_queue)


def end_postponements(turn: Turn, partition: Partition) -> None:
    """Unblock the class queues and replacements that were postponed long enough. Rules: EXT-17."""
    for class_queue in list(partition.waiting.questions.postponed.values()):
        blocked = class_queue.blocked
        if blocked is not None and blocked.until_ns > turn.now_ns:
            break
        pause_over(partition, class_queue)
    retry_swaps(partition)


def take_answer(
    turn: Turn, command: PredicateVerdicts | BindPredicates | PreemptionVerdicts
) -> None:
    """Carry out a command about an RM's predicates. Rules: EXT-5, EXT-12, EXT-17."""
    if isinstance(command, BindPredicates):
        bind_predicates(turn, command)
    elif isinstance(command, PredicateVerdicts):
        take_verdicts(turn, command)
    else:
        for partition in turn.cluster.managers[command.rm_id].own():
            if take_preemption_verdicts(partition, command):
                break


def take_verdicts(turn: Turn, command: PredicateVerdicts) -> None:
    """Keep the answers of an RM and unblock its class queues. Rules: EXT-5, EXT-14, EXT-17.

    Answers to questions that are no longer open are ignored.
    """
    manager = turn.cluster.managers[command.rm_id]
    for partition in manager.own():
        found = False
        for verdict in command.verdicts:
            if verdict.ticket and verdict.ticket == partition.waiting.retries.ticket:
                take_probe_answer(turn, partition, verdict)
                continue
            asked = partition.waiting.questions.asked.pop(verdict.ticket, None)
            if asked is not None:
                found = True
                _take(turn, partition, asked, verdict)
        if found:
            _go_on(partition, manager)


def bind_predicates(turn: Turn, command: BindPredicates) -> None:
    """Begin or stop to ask an RM about nodes.

    Every ask moves to the class queue it belongs to then.

    Rules: EXT-12, SI-106, NOD-13.
    """
    manager = turn.cluster.managers[command.rm_id]
    manager.predicates = command.predicates
    manager.preemption_predicates = command.preemption
    for partition in manager.own():
        partition.settings.preemption_predicates = command.preemption
        end_victim_questions(partition)
        if partition.settings.predicates == command.predicates:
            continue
        partition.settings.predicates = command.predicates
        partition.waiting.questions.asked = {}
        partition.waiting.questions.later = False
        partition.waiting.retries = Retries()
        partition.pool.changes.forget()
        for node in partition.nodes.values():
            node.verdicts.clear()
            node_changed(partition, node)
        for reservation in partition.reserving.reservations.values():
            reservation.refusal = ""
        for application in partition.applications.values():
            for request in application.requests.values():
                reclassify(partition, request)
        retry_swaps(partition)
        _go_on(partition, manager)


def rest(partition: Partition, manager: ResourceManager) -> None:
    """Stop deciding in a partition while its RM is paused or enough questions are open, else go on.

    Implements: RM-15. Rules: EXT-6, EXT-14.
    """
    partition.resting = manager.resting() or _enough_asked(partition)


def _note_question(
    partition: Partition, decision: AwaitPredicates, class_queue: ClassQueue
) -> None:
    """Note at each node that a question names it: a change of the node voids the answer (EXT-5)."""
    nodes, predicate_class = decision.nodes, class_queue.ask_class.predicate_class
    predicate_class.note_question(decision.ticket, nodes)
    predicate_class.wanted = decision.wanted
    partition.waiting.questions.later = True
    if partition.waiting.questions.together:
        partition.waiting.questions.together -= 1
    asked = Asked(class_queue, nodes, decision.allocate, decision.application)
    partition.waiting.questions.asked[decision.ticket] = asked
    key = predicate_class.key_of(allocate=decision.allocate)
    for node in nodes:
        keep_verdict(partition, node, key, ASKED)


def _take(turn: Turn, partition: Partition, asked: Asked, verdict: PredicateVerdict) -> None:
    """Take one answer, unless its question is not open any more. Rules: EXT-5, EXT-17."""
    class_queue, application, predicate_class = (
        asked.class_queue,
        asked.application,
        asked.predicate_class,
    )
    if predicate_class.ticket != verdict.ticket:
        return
    predicate_class.ticket = 0
    if application is None:
        waits = partition.waiting.questions.awaiting.get(class_queue.number) is class_queue
    else:
        waits = partition.waiting.questions.swaps.get(application.number) is application
    if not waits and not (predicate_class.lasting and _awaited(partition, predicate_class)):
        predicate_class.forget()
    elif not verdict.unknown:
        _keep(partition, asked, verdict)
    elif not waits:
        predicate_class.forget()
    elif application is not None:
        predicate_class.forget()
        _end_swaps_await(partition, application)
        _postpone_swaps(turn, partition, application)
    else:
        answered(partition, class_queue)
        _postpone_class_queue(turn, partition, class_queue)


def _keep(partition: Partition, asked: Asked, verdict: PredicateVerdict) -> None:
    """Keep the verdicts on nodes that did not change since they were asked about. Rules: EXT-5.

    A node without a verdict that comes before the first passing node is not used this time. Nodes
    after that one need no verdict (EXT-13, EXT-17).
    """
    if verdict.passed and verdict.refused:
        partition.waiting.questions.together = TOGETHER
    if asked.allocate:
        asked.predicate_class.note_answer(len(verdict.passed), len(verdict.refused))
    key = asked.predicate_class.key_of(allocate=asked.allocate)
    said: dict[str, str] = dict.fromkeys(verdict.passed, PASSED)
    texts: dict[str, str] = {}
    for node_id, reason in verdict.refused:
        answer = texts.get(reason)
        if answer is None:
            answer = texts[reason] = refusal(reason)
        said[node_id] = answer
    rest_of_them = UNUSABLE
    for node in asked.nodes:
        answer = said.get(node.node_id, rest_of_them)
        if answer == PASSED:
            rest_of_them = ""
        if node.verdicts.get(key) != ASKED:
            continue
        if answer and node.node_id not in verdict.void:
            node.verdicts[key] = answer
        else:
            del node.verdicts[key]


def _awaited(partition: Partition, predicate_class: PredicateClass) -> bool:
    """Whether another class queue of a predicate class awaits an answer. Rules: EXT-14, EXT-15."""
    return any(
        class_queue.ask_class.predicate_class is predicate_class
        for class_queue in partition.waiting.questions.awaiting.values()
    )


def _postpone_class_queue(turn: Turn, partition: Partition, class_queue: ClassQueue) -> None:
    class_queue.ask_class.predicate_class.forget()
    until_ns = turn.now_ns + deadlines.POSTPONED_NS
    block(partition, class_queue, Blocked(POSTPONED, None, until_ns))
    turn.set_timer(partition, deadlines.POSTPONED, deadlines.POSTPONED_NS)


def _postpone_swaps(turn: Turn, partition: Partition, application: Application) -> None:
    """Treat an application for a while as if none of its placeholders could be replaced."""
    for group in application.request_groups.values():
        group.limit_group.class_queue.ask_class.predicate_class.forget()
    note_failed_swap(partition, application)
    turn.set_timer(partition, deadlines.POSTPONED, deadlines.POSTPONED_NS)


def _enough_asked(partition: Partition) -> bool:
    limit = LOOK_TOGETHER if partition.waiting.questions.together else LOOK_AHEAD
    return partition.waiting.questions.wanted >= limit


def _go_on(partition: Partition, manager: ResourceManager) -> None:
    """Unblock all that awaits an answer; what still has none is blocked again when it is tried.

    Rules: EXT-14.
    """
    for class_queue in list(partition.waiting.questions.awaiting.values()):
        answered(partition, class_queue)
    for application in list(partition.waiting.questions.swaps.values()):
        _end_swaps_await(partition, application)
    partition.waiting.questions.wanted = 0
    rest(partition, manager)


def _end_swaps_await(partition: Partition, application: Application) -> None:
    partition.waiting.questions.swaps.pop(application.number, None)
    set_swaps_await(partition, application, awaits_answer=False)
