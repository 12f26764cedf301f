"""Makes asks, and forgets those that ended (rules: SI-34, SI-35).

An ask has ended when it has nothing pending, no allocation, and none in flight. A few numbers of it
are kept then (``model.past_asks``); from them it is made again if its RM sends its key.
"""

from __future__ import annotations

from remuda.core.accounting.tags import characters, count_tags
from remuda.core.apply.applications.lifecycle import admit, drop_ages
from remuda.core.messages.commands import Ask
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.past_asks import PastAsk
from remuda.core.model.asks.request import Request
from remuda.core.model.deadlines import created_ns
from remuda.core.model.partition import Partition
from remuda.core.model.vectors import Amounts


def make_request(
    partition: Partition, application: Application, ask: Ask, amounts: Amounts, now_ns: int
) -> Request:
    """Make the ask of a key that has none, and add it to its application.

    An ask that had ended goes on with its age and its counts.
    Rules: SI-32, SI-33, SI-34, SI-35, QUE-42, QUE-44.
    """
    past = None
    if application.past_last:
        past = _take(partition, application, ask.allocation_key)
    if past is None:
        created = created_ns(ask.tags, now_ns, partition.calendar) if ask.tags else now_ns
        request = Request(partition.next_number(), ask, amounts, application, created)
        if partition.waiting.past.floor:
            request.next_identity = partition.waiting.past.first_identity(application.number)
    else:
        request = Request(past.number, ask, amounts, application, past.created_ns)
        request.made = past.made
        request.next_identity = past.next_identity
        request.attempted = past.attempted
        request.reported = past.reported
        delay_ns = partition.settings.reservation_delay_ns
        if delay_ns is not None and past.created_ns + delay_ns < now_ns:
            request.ages = request.aged = True
    admit(partition, request)
    return request


def end_request(partition: Partition, application: Application, key: str) -> None:
    """Forget the ask of a key if it has ended; keep a few numbers of it. Rules: SI-34, SI-35."""
    request = application.requests.get(key)
    if request is None or not request.over():
        return
    del application.requests[key]
    drop_ages(partition, request)
    if request.ask.tags:
        count_tags(partition, application, -characters(request.ask.tags))
    past = PastAsk(
        request.number,
        request.created_ns,
        request.made,
        max(request.next_identity, request.made),
        attempted=request.attempted,
        reported=request.reported,
    )
    newest = partition.numbers
    application.past_last = partition.waiting.past.put(application.number, key, past, newest)


def forget_past(partition: Partition, application: Application, key: str) -> None:
    """Forget the ended ask of a key, because its RM dropped it. Rules: SI-50, SI-53."""
    _take(partition, application, key)


def _take(partition: Partition, application: Application, key: str) -> PastAsk | None:
    past = partition.waiting.past
    if not past.knows(application.past_last):
        return None
    return past.take(application.number, key, application.past_from)
