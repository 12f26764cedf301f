"""When asks may preempt others, and when a fruitless attempt is repeated.

Rules: PRE-4, PRE-5, PRE-6, PRE-90.
"""

from __future__ import annotations

from remuda.core.accounting.usage import await_preempt_age
from remuda.core.accounting.victims import withdraw_promise
from remuda.core.apply.asks.ages import plan, reclassify_old_enough
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import PreemptionVerdicts
from remuda.core.model import deadlines
from remuda.core.model.asks.ages import FOREVER_NS
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.asks.request import Request
from remuda.core.model.decision import Attempt
from remuda.core.model.partition import Partition
from remuda.core.model.preemption.attempts import DOUBLINGS, PAUSE_NS, Tried, VictimAnswers
from remuda.core.model.preemption.live import LOST, PLACED, Preemption
from remuda.core.pending.asks import reclassify
from remuda.core.pending.changes import preemption_due
from remuda.core.pending.marks import preemption_changed


def allow_preemptions(turn: Turn, partition: Partition) -> None:
    """Allow asks that have waited long enough to preempt. Rules: PRE-5."""
    preempt_due: list[Request] = []
    for request in partition.preempting.ages.take_old_enough(turn.now_ns):
        request.preempt_timed = False
        if request.group is None or not request.may_preempt():
            continue
        if request.preempt_due_ns() > turn.now_ns:
            await_preempt_age(partition, request)
        else:
            request.preempt_due = True
            preempt_due.append(request)
    reclassify_old_enough(turn, partition, partition.preempting.ages, preempt_due)


def end_preemption(
    turn: Turn, partition: Partition, request: Request, outcome: str, cause: str = ""
) -> None:
    """End the preemption in effect for an ask: the ask was placed, or its room is lost.

    The ask may preempt again: at once for its other pending allocations, after a pause if the room
    was lost, which doubles with each loss. In parity mode an ask that was placed may not preempt
    again. Implements: PRE-6 (Ours), PRE-49 (Ours), PRE-48. Rules: PRE-84, PRE-89, PRE-90.
    """
    preemption = request.preemption
    if preemption is None:
        return
    withdraw_promise(partition, request)
    request.preemption = None
    preemption.end(outcome, turn.now_ns, cause)
    if outcome == LOST:
        request.preempt_due = False
        request.tried_ns = preemption.created_ns + _more_pause_ns(partition, preemption)
        await_preempt_age(partition, request)
    elif partition.settings.parity:
        request.preempt_due = False
    reclassify(partition, request)


def _more_pause_ns(partition: Partition, lost: Preemption) -> int:
    """Return how much longer than usual an ask waits that lost its room: 0 after the first loss.

    What took the room once may do so again and again, for example predicates that refuse the ask
    wherever it goes. Each time others are evicted for nothing. Cost: O(remembered preemptions).
    Rules: PRE-90.
    """
    losses = 0
    for each in reversed(partition.preempting.made.values()):
        if (each.application_number, each.allocation_key) == (
            lost.application_number,
            lost.allocation_key,
        ):
            if each.outcome == PLACED:
                break
            losses += each.outcome == LOST
    return (PAUSE_NS << min(max(0, losses - 1), DOUBLINGS)) - PAUSE_NS


def lose_preemption(turn: Turn, partition: Partition, request: Request, cause: str) -> None:
    """End the preemption in effect for an ask that lost the room it made. Rules: PRE-6 (Ours)."""
    end_preemption(turn, partition, request, LOST, cause)


def complete_preemption(turn: Turn, partition: Partition, request: Request) -> None:
    """End the preemption in effect for an ask that was placed. Rules: PRE-35, PRE-89."""
    end_preemption(turn, partition, request, PLACED)


def note_attempt(
    turn: Turn, partition: Partition, class_queue: ClassQueue, attempt: Attempt
) -> None:
    """Note an attempt that found no victims, or one that awaits an answer of the RM.

    Implements: PRE-39. Rules: PRE-5, PRE-90.
    """
    attempts = partition.preempting.attempts
    request = class_queue.first().first()
    if attempt.ticket:
        victim_answers = class_queue.victim_answers = class_queue.victim_answers or VictimAnswers()
        victim_answers.ticket, victim_answers.asked = attempt.ticket, attempt.asked
        attempts.awaiting_victims[attempt.ticket] = class_queue
        class_queue.tried = Tried(FOREVER_NS, None)
        return
    if attempt.opens_ns:
        turn.set_timer(partition, deadlines.OPENS, attempt.opens_ns - turn.now_ns)
    class_queue.victim_answers = None
    class_queue.passed = attempt.passed
    attempts.unlist(class_queue)
    if attempt.blocked:
        attempts.blocked[class_queue.number] = class_queue
    elif attempt.cost:
        request.tried_ns = turn.now_ns
    if attempt.cost:
        attempts.count(class_queue.leaf.path, attempt.cost, turn.now_ns, fruitful=False)
    if not attempt.cost or attempt.passed:
        class_queue.tried = Tried(attempts.window_end_ns(), None)
        attempts.exhausted[class_queue.number] = class_queue
        return
    if class_queue.ask_class.required_node:
        class_queue.tried = Tried(FOREVER_NS, partition.preempting.revision)
        return
    class_queue.tried = Tried(turn.now_ns + PAUSE_NS, partition.preempting.revision)
    attempts.fruitless[class_queue.number] = class_queue
    partition.waiting.retries.stale = (
        partition.waiting.retries.stale or partition.settings.preemption_predicates
    )


def plan_attempts(turn: Turn, partition: Partition) -> None:
    """Set the timer for the next attempt to preempt. Rules: PRE-5, PRE-90."""
    plan(turn, partition, partition.preempting.ages, deadlines.PREEMPT_AGE)
    attempts = partition.preempting.attempts
    due_ns = FOREVER_NS
    if attempts.exhausted:
        due_ns = attempts.window_end_ns()
    if attempts.planned != partition.preempting.revision:
        attempts.planned = partition.preempting.revision
        for class_queue in attempts.fruitless.values():
            if (
                class_queue.tried is not None
                and class_queue.tried.revision != partition.preempting.revision
            ):
                due_ns = min(due_ns, class_queue.tried.due_ns)
                break
    if due_ns != FOREVER_NS and (attempts.timer_ns == 0 or due_ns < attempts.timer_ns):
        attempts.timer_ns = due_ns
        turn.set_timer(partition, deadlines.ATTEMPTS, max(0, due_ns - turn.now_ns))


def replan_attempts(partition: Partition) -> None:
    """Set the timers anew: they stood still while the RM was away, but the asks grew older.

    Rules: PRE-5.
    """
    partition.preempting.ages.timer_ns = 0
    partition.preempting.attempts.timer_ns = 0
    partition.preempting.attempts.planned = -1


def open_old(turn: Turn, partition: Partition) -> None:
    """Allow class queues another attempt, because reservations may be old enough now.

    Rules: RSV-10, PRE-90.
    """
    preemption_changed(partition)
    repeat_attempts(turn, partition)


def retry_blocked(partition: Partition) -> None:
    """Allow another attempt to class queues that only the reservations of others stopped.

    Rules: PRE-5 (Ours).
    """
    blocked, partition.preempting.attempts.blocked = partition.preempting.attempts.blocked, {}
    for class_queue in blocked.values():
        if class_queue.leaf.class_queues.get(class_queue.ask_class.number) is class_queue:
            try_again(partition, class_queue)


def repeat_attempts(turn: Turn, partition: Partition) -> None:
    """Allow another attempt to class queues whose pause is over and for which something changed.

    Rules: PRE-5, PRE-90.
    """
    attempts = partition.preempting.attempts
    attempts.timer_ns = 0
    for listed in (attempts.exhausted, attempts.fruitless):
        for class_queue in list(listed.values()):
            tried = class_queue.tried
            live = class_queue.leaf.class_queues.get(class_queue.ask_class.number) is class_queue
            if live and tried is not None and tried.due_ns > turn.now_ns:
                break
            if live and tried is not None and tried.revision == partition.preempting.revision:
                continue
            del listed[class_queue.number]
            if live:
                try_again(partition, class_queue)
    attempts.planned = -1


def try_again(partition: Partition, class_queue: ClassQueue) -> None:
    """Allow a class queue another attempt to preempt. Implements: PRE-90."""
    class_queue.tried = None
    preemption_due(partition, class_queue)


def end_victim_questions(partition: Partition) -> None:
    """Forget the open questions about victims, which will not be answered.

    Rules: EXT-12, EXT-18.
    """
    class_queues = list(partition.preempting.attempts.awaiting_victims.values())
    partition.preempting.attempts.awaiting_victims = {}
    for class_queue in class_queues:
        class_queue.victim_answers = None
        if class_queue.leaf.class_queues.get(class_queue.ask_class.number) is class_queue:
            try_again(partition, class_queue)


def take_preemption_verdicts(partition: Partition, command: PreemptionVerdicts) -> bool:
    """Take the RM's verdicts on victims, and go on; False: this partition did not ask.

    Rules: EXT-18.
    """
    class_queue = partition.preempting.attempts.awaiting_victims.pop(command.ticket, None)
    if class_queue is None:
        return False
    victim_answers = class_queue.victim_answers
    if victim_answers is not None and victim_answers.ticket == command.ticket:
        victim_answers.take(command.verdicts)
        if class_queue.leaf.class_queues.get(class_queue.ask_class.number) is class_queue:
            try_again(partition, class_queue)
    return True
