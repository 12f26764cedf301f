"""When asks may preempt others, and when a fruitless attempt is repeated.

Rules: PRE-4 to PRE-6, PRE-90.
"""

from __future__ import annotations

from remuda.core.accounting.lanes import restage
from remuda.core.accounting.usage import await_ripeness
from remuda.core.accounting.victims import withdraw_promise
from remuda.core.accounting.waiting import wake
from remuda.core.apply.ages import let_in, plan
from remuda.core.apply.turn import Turn
from remuda.core.messages.commands import PreemptionVerdicts
from remuda.core.model import deadlines
from remuda.core.model.ages import FOREVER_NS
from remuda.core.model.attempts import PAUSE_NS, Hearing, Tried
from remuda.core.model.decision import Attempt
from remuda.core.model.partition import Partition
from remuda.core.model.preemption import LOST, PLACED
from remuda.core.model.request import Lane, Request


def ripen(turn: Turn, partition: Partition) -> None:
    """Let asks preempt that have waited for long enough. Rules: PRE-5."""
    ripe: list[Request] = []
    for request in partition.ripening.grown(turn.now_ns):
        request.ripens = False
        if request.group is None or not request.may_preempt():
            continue
        if request.ripe_ns() > turn.now_ns:
            await_ripeness(partition, request)
        else:
            request.ripe = True
            ripe.append(request)
    let_in(turn, partition, partition.ripening, ripe)


def end_standing(
    turn: Turn, partition: Partition, request: Request, outcome: str, cause: str = ""
) -> None:
    """End the preemption that stands for an ask: it was placed, or the room is lost.

    Then it may preempt again: at once for what it still wants, after a pause if it was lost. In
    parity one that was placed never may. Rules: PRE-6 (Ours), PRE-49 (Ours), PRE-84, PRE-89.
    """
    preemption = request.preemption
    if preemption is None:
        return
    withdraw_promise(partition, request)
    request.preemption = None
    preemption.end(outcome, turn.now_ns, cause)
    if outcome == LOST:
        request.ripe = False
        await_ripeness(partition, request)
    elif partition.parity:
        request.ripe = False
    restage(partition, request)


def lose_standing(turn: Turn, partition: Partition, request: Request, cause: str) -> None:
    """Note that the room of a preemption is lost to its ask. Rules: PRE-6 (Ours)."""
    end_standing(turn, partition, request, LOST, cause)


def place_standing(turn: Turn, partition: Partition, request: Request) -> None:
    """Note that an ask got its allocation. Rules: PRE-35, PRE-89."""
    end_standing(turn, partition, request, PLACED)


def note_attempt(turn: Turn, partition: Partition, lane: Lane, attempt: Attempt) -> None:
    """Note a fruitless attempt, or one whose answer is still to come. Rules: PRE-5, PRE-90."""
    attempts = partition.attempts
    request = lane.first().first()
    if attempt.ticket:
        hearing = lane.hearing = lane.hearing or Hearing()
        hearing.ticket, hearing.asked = attempt.ticket, attempt.asked
        attempts.hearings[attempt.ticket] = lane
        lane.tried = Tried(FOREVER_NS, None)
        return
    if attempt.opens_ns:
        turn.set_timer(partition, deadlines.OPENS, attempt.opens_ns - turn.now_ns)
    lane.hearing = None
    lane.passed = attempt.passed
    attempts.unlist(lane)
    if attempt.blocked:
        attempts.blocked[lane.number] = lane
    elif attempt.cost:
        request.tried_ns = turn.now_ns
    if attempt.cost:
        attempts.count(lane.leaf.path, attempt.cost, turn.now_ns, fruitful=False)
    if not attempt.cost or attempt.passed:
        lane.tried = Tried(attempts.window_end_ns(), None)
        attempts.exhausted[lane.number] = lane
        return
    if lane.shape.required_node:
        lane.tried = Tried(FOREVER_NS, partition.revision)
        return
    lane.tried = Tried(turn.now_ns + PAUSE_NS, partition.revision)
    attempts.fruitless[lane.number] = lane


def plan_attempts(turn: Turn, partition: Partition) -> None:
    """See that a timer runs out when there is something to try. Rules: PRE-5, PRE-90."""
    plan(turn, partition, partition.ripening, deadlines.RIPE)
    attempts = partition.attempts
    due_ns = FOREVER_NS
    if attempts.exhausted:
        due_ns = attempts.window_end_ns()
    if attempts.planned != partition.revision:
        attempts.planned = partition.revision
        for lane in attempts.fruitless.values():
            if lane.tried is not None and lane.tried.revision != partition.revision:
                due_ns = min(due_ns, lane.tried.due_ns)
                break
    if due_ns != FOREVER_NS and (attempts.timer_ns == 0 or due_ns < attempts.timer_ns):
        attempts.timer_ns = due_ns
        turn.set_timer(partition, deadlines.ATTEMPTS, max(0, due_ns - turn.now_ns))


def replan_attempts(partition: Partition) -> None:
    """Set timers anew: they stood still while the RM was away, asks grew older. Rules: PRE-5."""
    partition.ripening.timer_ns = 0
    partition.attempts.timer_ns = 0
    partition.attempts.planned = -1


def open_old(turn: Turn, partition: Partition) -> None:
    """Let lanes try again, for reservations may be old enough now. Rules: RSV-10, PRE-90."""
    partition.revision += 1
    repeat_attempts(turn, partition)


def retry_blocked(partition: Partition) -> None:
    """Let lanes try again that only reservations of others stopped. Rules: PRE-5 (Ours)."""
    blocked, partition.attempts.blocked = partition.attempts.blocked, {}
    for lane in blocked.values():
        if lane.leaf.lanes.get(lane.shape.number) is lane:
            try_again(partition, lane)


def repeat_attempts(turn: Turn, partition: Partition) -> None:
    """Let lanes try again that may, and for which something changed. Rules: PRE-5, PRE-90."""
    attempts = partition.attempts
    attempts.timer_ns = 0
    for listed in (attempts.exhausted, attempts.fruitless):
        for lane in list(listed.values()):
            tried = lane.tried
            live = lane.leaf.lanes.get(lane.shape.number) is lane
            if live and tried is not None and tried.due_ns > turn.now_ns:
                break
            if live and tried is not None and tried.revision == partition.revision:
                continue
            del listed[lane.number]
            if live:
                try_again(partition, lane)
    attempts.planned = -1


def try_again(partition: Partition, lane: Lane) -> None:
    """Let a lane make another attempt. Rules: PRE-90."""
    lane.tried = None
    if lane.parked and lane.listed is None:
        wake(partition, lane)


def end_hearings(partition: Partition) -> None:
    """Forget the questions that are open: nobody will answer them. Rules: EXT-12, EXT-18."""
    lanes = list(partition.attempts.hearings.values())
    partition.attempts.hearings = {}
    for lane in lanes:
        lane.hearing = None
        if lane.leaf.lanes.get(lane.shape.number) is lane:
            try_again(partition, lane)


def take_preemption_verdicts(partition: Partition, command: PreemptionVerdicts) -> bool:
    """Take what an RM said of victims, and go on; False: it was not asked here. Rules: EXT-18."""
    lane = partition.attempts.hearings.pop(command.ticket, None)
    if lane is None:
        return False
    hearing = lane.hearing
    if hearing is not None and hearing.ticket == command.ticket:
        hearing.take(command.verdicts)
        if lane.leaf.lanes.get(lane.shape.number) is lane:
            try_again(partition, lane)
    return True
