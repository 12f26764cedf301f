"""Asks the RM again about nodes that its predicates refused (rules: EXT-15, SI-10, NOD-13).

The pauses between two tries are one second, then twice as long each time, at most 15 seconds. After
a change they begin anew a second later. A try follows at once where the RM requests it.
"""

from __future__ import annotations

from typing import Final

from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import PredicateVerdict, UpdateAllocations, UpdateNodes
from remuda.core.model import deadlines
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.request import Request
from remuda.core.model.asks.retries import FIRST_NS, LONGEST_NS, PER_SECOND, SLICE, Retries
from remuda.core.model.decision import NoRoom, Probe
from remuda.core.model.nodes.node import Node
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import fits
from remuda.core.pending.changes import predicates_changed, reserve_again
from remuda.core.pending.marks import node_changed, preemption_changed
from remuda.core.pending.swaps import renew_swaps, retry_swaps

# Time that a question about one node takes the RM.
_QUESTION_NS: Final = deadlines.SECOND_NS // PER_SECOND


def note_refused(turn: Turn, partition: Partition, decision: NoRoom) -> None:
    """List the predicate class of a class queue for which predicates refused nodes.

    Rules: EXT-15, SI-10.
    """
    predicate_class, refusals = decision.class_queue.ask_class.predicate_class, decision.refusals
    if refusals.now or refusals.known or refusals.best is not None:
        partition.waiting.retries.stale = True
        if not predicate_class.due_ns:
            predicate_class.delay_ns = FIRST_NS
            partition.waiting.retries.put(predicate_class, turn.now_ns + FIRST_NS)


def note_change(turn: Turn, partition: Partition) -> None:
    """Begin all pauses anew in a second, because something changed. Rules: EXT-15."""
    retries = partition.waiting.retries
    if (retries.count or retries.others_due_ns) and not retries.restart_ns:
        retries.restart_ns = turn.now_ns + FIRST_NS
        retries.stale = True


def note_request(turn: Turn, rm_id: str, command: object) -> None:
    """Plan new tries as a request of the RM requires.

    A node request without nodes has all refused nodes asked about again. An allocation request that
    only has asks changes nothing.
    Rules: SI-10, EXT-15, NOD-13 (decision 135 of docs/spec).
    """
    again = isinstance(command, UpdateNodes) and not command.nodes
    if isinstance(command, UpdateAllocations) and not (
        command.allocations or command.releases or command.ask_releases
    ):
        return
    for partition in turn.cluster.managers[rm_id].partitions.values():
        if partition.settings.predicates and again:
            look_again(partition)
        elif partition.settings.predicates:
            note_change(turn, partition)


def look_again(partition: Partition) -> None:
    """Allow all asks that predicates refused to be tried again.

    Cost: O(what waits). Rules: SI-10, SI-80.
    """
    _forget_refusals(partition)
    for predicate_class in list(partition.waiting.predicate_classes.values()):
        if predicate_class.due_ns:
            look_again_at(partition, predicate_class)
    retry_swaps(partition)


def look_again_at(partition: Partition, predicate_class: PredicateClass) -> None:
    """Allow all asks of a predicate class to be tried again. Rules: SI-10, EXT-15."""
    if any(
        ask_class.waiting and ask_class.urgent for ask_class in predicate_class.ask_classes.values()
    ):
        _forget_refusals(partition, predicate_class)
    if predicate_class.lasting:
        predicate_class.renew(partition.next_number())
    for ask_class in predicate_class.ask_classes.values():
        if ask_class.waiting:
            predicates_changed(partition, ask_class)


def look_again_at_ask(partition: Partition, request: Request) -> None:
    """Allow an ask that was sent again, and the others of its predicate class, to be tried again.

    Rules: SI-10, SI-33.
    """
    group = request.group
    if partition.settings.predicates and group is not None:
        predicate_class = group.limit_group.class_queue.ask_class.predicate_class
        if predicate_class.due_ns or request.reservations:
            look_again_at(partition, predicate_class)


def plan_retries(turn: Turn, partition: Partition) -> None:
    """Set the timer for the next try. Rules: EXT-15."""
    retries = partition.waiting.retries
    retries.stale = False
    now_ns = turn.now_ns
    if not retries.others_due_ns and _others(partition):
        retries.others_due_ns = now_ns + retries.others_delay_ns
    times = [each for each in (retries.restart_ns, retries.others_due_ns) if each]
    if retries.current is None:
        earliest = retries.earliest()
        times += [earliest] if earliest else []
    elif not retries.ready and not retries.ticket:
        times.append(now_ns)
    if times:
        free_ns = turn.cluster.managers[partition.rm_id].asked_until_ns
        due_ns = max(min(times), free_ns)
        if not retries.timer_ns or due_ns < retries.timer_ns:
            retries.timer_ns = due_ns
            turn.set_timer(partition, deadlines.RETRY, max(0, due_ns - now_ns))


def retry(turn: Turn, partition: Partition) -> None:
    """Begin the tries that are due, or go on with them. Rules: EXT-15."""
    retries, now_ns = partition.waiting.retries, turn.now_ns
    retries.timer_ns = 0
    retries.stale = True
    if 0 < retries.restart_ns <= now_ns:
        retries.begin_anew(now_ns)
    if turn.cluster.managers[partition.rm_id].asked_until_ns > now_ns:
        return
    if 0 < retries.others_due_ns <= now_ns:
        _retry_others(turn, partition)
    elif not retries.ready and not retries.ticket:
        if retries.current is None:
            retries.begin_round(now_ns)
        retries.ready = retries.current is not None


def replan_retries(partition: Partition) -> None:
    """Set the timer anew: it stood still while the RM was away. Rules: RM-15."""
    partition.waiting.retries.timer_ns = 0
    partition.waiting.retries.stale = True


def take_probe(turn: Turn, partition: Partition, probe: Probe) -> None:
    """Take the RM's answer about a slice of nodes, or note that it is still to come.

    Rules: EXT-14, EXT-15.
    """
    retries, answer = partition.waiting.retries, probe.answer
    retries.ready = False
    retries.stale = True
    del retries.left[: probe.skipped]
    retries.after = probe.last
    retries.reserving = probe.reserving
    if answer is None:
        _charge(turn, partition, SLICE if probe.last is not None else 0)
        _go_on(turn, partition, probe.predicate_class, more=len(retries.left) > 0)
    elif answer.ticket:
        retries.ticket = answer.ticket
        retries.asked = probe.nodes[: answer.asked]
        if answer.asked < len(probe.nodes):
            retries.after = retries.asked[-1]
    else:
        passed = 0 <= answer.passed < len(probe.nodes)
        asked = answer.passed + 1 if passed else len(probe.nodes)
        _charge(turn, partition, asked)
        _note_asked(retries, probe.nodes)
        if passed:
            _pass(turn, partition, probe.predicate_class, [probe.nodes[answer.passed]])
        else:
            _end_slice(turn, partition, probe.predicate_class)


def take_probe_answer(turn: Turn, partition: Partition, verdict: PredicateVerdict) -> None:
    """Take the later answer about a slice; without verdicts its class is tried later.

    Rules: EXT-15, EXT-17.
    """
    retries = partition.waiting.retries
    predicate_class, nodes = retries.current, retries.asked
    retries.ticket = 0
    retries.asked = []
    retries.stale = True
    assert predicate_class is not None
    _charge(turn, partition, len(verdict.passed) + len(verdict.refused))
    good = [
        node
        for node in nodes
        if node.node_id in verdict.passed
        and node.node_id not in verdict.void
        and partition.nodes.get(node.node_id) is node
    ]
    _note_asked(retries, nodes)
    if good:
        _pass(turn, partition, predicate_class, good)
    elif verdict.passed or verdict.refused:
        _end_slice(turn, partition, predicate_class)
    else:
        _go_on(turn, partition, predicate_class, more=False)


def _note_asked(retries: Retries, nodes: list[Node]) -> None:
    """Note which nodes were asked about in this round, apart from reserving (EXT-15)."""
    if not retries.reserving:
        for node in nodes:
            retries.done[node.node_id] = node


def _end_slice(turn: Turn, partition: Partition, predicate_class: PredicateClass) -> None:
    """Go on with the nodes behind a slice in which no node passed. Rules: EXT-15."""
    retries = partition.waiting.retries
    if retries.reserving or (retries.after is None and not retries.left[0].may_reserve):
        del retries.left[0]
        retries.reserving = False
    elif retries.after is None:
        retries.reserving = True
    _go_on(turn, partition, predicate_class, more=len(retries.left) > 0)


def _pass(
    turn: Turn, partition: Partition, predicate_class: PredicateClass, nodes: list[Node]
) -> None:
    """Allow the asks of a class to be tried again on nodes that passed. Rules: EXT-15, NOD-13."""
    retries = partition.waiting.retries
    for node in nodes:
        if node.verdicts.pop(predicate_class.refused(), None) is None:
            continue
        partition.pool.changes.note(node)
        if node.reservations:
            node_changed(partition, node)
    for ask_class in list(predicate_class.ask_classes.values()):
        if retries.reserving:
            reserve_again(partition, ask_class)
        elif any(
            ask_class.reaches(node) and fits(node.available, ask_class.amounts) for node in nodes
        ):
            predicates_changed(partition, ask_class)
    predicate_class.delay_ns = FIRST_NS
    predicate_class.rounds += 1
    retries.end_round()
    retries.put(predicate_class, turn.now_ns + FIRST_NS)


def _go_on(
    turn: Turn, partition: Partition, predicate_class: PredicateClass, *, more: bool
) -> None:
    """Go on with the next slice of a class, or begin its pause after the last slice.

    Rules: EXT-15.
    """
    if more:
        return
    retries = partition.waiting.retries
    retries.end_round()
    if not predicate_class.waits():
        retries.drop(predicate_class)
        return
    predicate_class.rounds += 1
    predicate_class.delay_ns = min(2 * predicate_class.delay_ns, LONGEST_NS)
    retries.put(predicate_class, turn.now_ns + predicate_class.delay_ns)


def _charge(turn: Turn, partition: Partition, questions: int) -> None:
    """Note until when an RM gets no further questions, because these take it that long.

    Rules: EXT-15.
    """
    manager = turn.cluster.managers[partition.rm_id]
    manager.asked_until_ns = max(manager.asked_until_ns, turn.now_ns) + questions * _QUESTION_NS


def _others(partition: Partition) -> bool:
    """Whether predicates refused a reservation, a swap or an attempt to preempt."""
    judged = (
        partition.settings.preemption_predicates
        and len(partition.preempting.attempts.fruitless) > 0
    )
    return judged or (
        partition.settings.predicates
        and bool(partition.waiting.failed_swaps or partition.reserving.reservations)
    )


def _retry_others(turn: Turn, partition: Partition) -> None:
    """Allow reservations, swaps and attempts to preempt to be tried again.

    Swaps are retried one application at a time. Attempts cost most, so they are retried only after
    the longest pause.

    Rules: EXT-15, GANG-16.
    """
    retries = partition.waiting.retries
    if not retries.swaps_left:
        retries.swaps_left = len(partition.waiting.failed_swaps)
        _charge(turn, partition, _forget_refusals(partition))
        if retries.others_delay_ns == LONGEST_NS and partition.settings.preemption_predicates:
            preemption_changed(partition)
    if partition.waiting.failed_swaps:
        number, application = next(iter(partition.waiting.failed_swaps.items()))
        del partition.waiting.failed_swaps[number]
        if application.gang is not None:
            application.gang.swap_failed = False
            renew_swaps(partition, application)
            _charge(turn, partition, len(application.gang.placeholders))
        retries.swaps_left -= 1
    else:
        retries.swaps_left = 0
    if retries.swaps_left:
        return
    retries.others_delay_ns = min(2 * retries.others_delay_ns, LONGEST_NS)
    retries.others_due_ns = 0
    if _others(partition):
        retries.others_due_ns = turn.now_ns + retries.others_delay_ns
    else:
        retries.others_delay_ns = FIRST_NS


def _forget_refusals(partition: Partition, predicate_class: PredicateClass | None = None) -> int:
    """Forget what nodes were refused for their own reservations; return how many were.

    ``predicate_class``: only for asks of this class.
    """
    count = 0
    for reservation in partition.reserving.reservations.values():
        group, node = reservation.request.group, reservation.node
        own = group.limit_group.class_queue.ask_class.predicate_class if group is not None else None
        if reservation.node_ready or own is None or predicate_class not in (None, own):
            continue
        known = node.verdicts.pop(own.refused(), "")
        if known:
            partition.pool.changes.note(node)
        count += known != "" or reservation.refusal != ""
        reservation.refusal = ""
        node_changed(partition, node)
    return count
