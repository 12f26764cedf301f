"""Says which ask class an ask belongs to; creates classes and deletes them when they are empty.

Asks of one class are interchangeable for a node, so a decision about the first holds for all.
"""

from __future__ import annotations

from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.asks.ask_class import (
    AGED,
    KEY_GANG_QUOTA,
    KEY_PREDICATE_CLASS,
    NODE_READY,
    PARTLY,
    RESERVED,
    YOUNG,
    AskClass,
    AskClassKey,
)
from remuda.core.model.asks.predicate_class import PredicateClass
from remuda.core.model.asks.request import Request
from remuda.core.model.partition import Partition


def ask_class_of(partition: Partition, request: Request) -> AskClass:
    """Return the class of an ask; create it if the ask is its first. Rules: CYC-15, CYC-25."""
    key = ask_class_key(partition, request)
    ask_class = partition.waiting.ask_classes.get(key)
    if ask_class is None:
        gang = request.application.gang
        total = gang.total if gang is not None and key[KEY_GANG_QUOTA] else None
        predicate_class = _predicate_class(
            partition, key[KEY_PREDICATE_CLASS], lasting=request.ask.equivalence != ""
        )
        ask_class = AskClass(partition.next_number(), key, request.amounts, total, predicate_class)
        partition.waiting.ask_classes[key] = ask_class
        predicate_class.ask_classes[ask_class.number] = ask_class
    return ask_class


def _predicate_class(partition: Partition, name: str, *, lasting: bool) -> PredicateClass:
    """Return the predicate class of a name; create it if it is missing.

    Implements: EXT-15. Rules: NOD-13.
    """
    predicate_class = partition.waiting.predicate_classes.get(name)
    if predicate_class is None:
        predicate_class = PredicateClass(partition.next_number(), name, lasting=lasting)
        partition.waiting.predicate_classes[name] = predicate_class
    return predicate_class


def ask_class_key(partition: Partition, request: Request) -> AskClassKey:
    """Return the key of an ask: asks of a partition with equal keys are interchangeable.

    An ask in a leaf with back-off has a class of its own. So has an ask whose preemption is in
    effect, since the room is kept for that ask alone.
    Rules: CYC-15, NOD-13, NOD-23, CYC-33, GANG-4, GANG-11, PRE-5, PRE-89.
    """
    ask = request.ask
    application = request.application
    constraint = ""
    if partition.settings.predicates:
        constraint = f"class {ask.equivalence}" if ask.equivalence else f"ask {request.number}"
    required = ask.tags.get(REQUIRED_NODE, "") if ask.tags else ""
    stage = AGED if request.aged or required else YOUNG
    if request.reservations:
        stage = _stage(request)
    leaf = application.queue
    promised = request.preemption is not None
    alone = stage == NODE_READY or promised or leaf.settings.backoff > 0
    own = request.number if alone else 0
    needs_gang_quota = 0
    gang = application.gang
    if ask.placeholder and gang is not None and gang.needs_gang_quota and gang.total is not None:
        needs_gang_quota = gang.total.number
    group = "" if ask.placeholder else ask.task_group
    number, policy = request.amounts.number, application.node_policy
    placeholder = ask.placeholder
    preempts = None
    if (
        request.preempt_due
        and not promised
        and stage != NODE_READY
        and partition.settings.config.preemption
    ):
        preempts = ask.priority
    return (
        number,
        required,
        constraint,
        policy,
        stage,
        own,
        group,
        placeholder,
        needs_gang_quota,
        preempts,
        promised,
    )


def _stage(request: Request) -> int:
    """Return the stage of an ask that has a reservation. Rules: RSV-3, CYC-19, CYC-20, CYC-21."""
    for reservation in request.reservations.values():
        if reservation.node_ready:
            return NODE_READY
    return PARTLY if request.wants_reservation() else RESERVED


def drop_group(partition: Partition, ask_class: AskClass) -> None:
    """Note that a class has one group less; delete it, and its predicate class, if empty.

    Rules: EXT-15, NOD-13.
    """
    ask_class.groups -= 1
    if ask_class.groups:
        return
    predicate_class = ask_class.predicate_class
    del partition.waiting.ask_classes[ask_class.key]
    del predicate_class.ask_classes[ask_class.number]
    if not predicate_class.ask_classes:
        predicate_class.forget()
        partition.waiting.retries.drop(predicate_class)
        del partition.waiting.predicate_classes[predicate_class.name]
