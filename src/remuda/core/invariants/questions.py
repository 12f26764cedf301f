"""Each class queue that awaits an answer has asked, or is behind one that has.

Rules: EXT-14, EXT-17.
"""

from __future__ import annotations

from remuda.core.invariants.require import Name, require
from remuda.core.messages.gates import AWAITING_PREDICATES, POSTPONED
from remuda.core.model.asks.class_queue import ClassQueue
from remuda.core.model.partition import Partition


def check_questions(partition: Partition) -> None:
    """Each question belongs to a class queue; while class queues await answers, one is open."""
    for ticket, asked in partition.waiting.questions.asked.items():
        key = asked.class_queue.ask_class.key
        require(
            partition.settings.predicates,
            partition,
            "question {} of {} is open without predicates",
            ticket,
            key,
        )
        awaited = asked.predicate_class.ticket
        known = awaited in (0, ticket) or awaited in partition.waiting.questions.asked
        require(known, partition, "class queue {} waits for question {}", key, awaited)
    to_come = (
        partition.waiting.questions.waiting() == 0 or len(partition.waiting.questions.asked) > 0
    )
    require(to_come, partition, "class queues await an answer, and nothing is asked")
    for number, application in partition.waiting.questions.swaps.items():
        gang = application.gang
        live = partition.applications.get(application.application_id) is application
        right = live and application.number == number and gang is not None and gang.awaits_answer
        require(
            right,
            partition,
            "{} awaits no answer",
            application.application_id,
        )
    for application in partition.applications.values():
        aside = application.gang is not None and application.gang.awaits_answer
        right = aside == (application.number in partition.waiting.questions.swaps)
        require(right, partition, "{} awaits an answer, unlisted", application.application_id)
    for ask_class in partition.waiting.ask_classes.values():
        over = ask_class.passed_over
        missed = [] if over is None else over.missed(ask_class, partition.pool.changes)
        require(not missed, partition, "{} passes over {}", ask_class.key, missed)
    for reason, listed in (
        (AWAITING_PREDICATES, partition.waiting.questions.awaiting),
        (POSTPONED, partition.waiting.questions.postponed),
    ):
        for number, class_queue in listed.items():
            blocked = class_queue.blocked
            right = class_queue.number == number and blocked is not None
            require(
                right and blocked is not None and blocked.reason == reason,
                partition,
                "class queue {} is listed as {}, and is not",
                class_queue.ask_class.key,
                reason,
            )


def check_listed(partition: Partition, class_queue: ClassQueue, name: Name) -> None:
    """A class queue that waits for its RM is in the list of its reason, and in no other.

    Rules: EXT-14, EXT-17.
    """
    blocked, questions = class_queue.blocked, partition.waiting.questions
    assert blocked is not None
    awaits = blocked.reason == AWAITING_PREDICATES
    listed = questions.awaiting if awaits else questions.postponed
    require(listed.get(class_queue.number) is class_queue, partition, "{} is listed nowhere", name)
    once = blocked.at is None and class_queue.number not in class_queue.ask_class.waiting
    require(once, partition, "{} is in two places", name)
