"""Makes the missing queues of a path on demand (chapter 20 section 8).

A queue made here is dynamic: it has no access lists of its own and is removed when it is empty.
"""

from __future__ import annotations

from remuda.config.schema import RECOVERY_QUEUE
from remuda.core.apply.queues.settings import configure_dynamic, counts_key
from remuda.core.apply.turn import Turn
from remuda.core.messages import events
from remuda.core.model import states
from remuda.core.model.partition import Partition
from remuda.core.model.queues.queue import Queue
from remuda.core.policy.placement import nearest


def creation_fault(partition: Partition, path: str) -> str:
    """Return why the missing queues of a path cannot be made, "" if they can.

    Placement has checked names, depth, access and whether a leaf is in the way. Nothing changes in
    between. Implements: PLC-63, PLC-67, QUE-3, OBJ-3.
    """
    queue, missing = nearest(partition, path)
    if missing and queue.state == states.DRAINING:
        return f"queue {queue.path} is draining and takes no queues"
    return ""


def make_queues(turn: Turn, partition: Partition, path: str) -> Queue:
    """Return the queue of a path; make its missing parents first, and the leaf last.

    Implements: PLC-64, PLC-72, TPL-9 (Ours), PRP-8, EVT-63, EVT-76. Rules: PLC-66, TPL-4, PRP-4
    (Ours), MET-27.
    Emits: EventRecord.
    """
    queue, missing = nearest(partition, path)
    for number, name in enumerate(missing):
        child = Queue(name, queue, leaf=number == len(missing) - 1, managed=False)
        if child.path != RECOVERY_QUEUE:
            configure_dynamic(partition.types, child, queue)
        queue.children[name] = child
        partition.queue_count += 1
        child.counts = turn.cluster.counts.enter(counts_key(partition, child))
        turn.event(partition, events.QUEUE, child.path, events.ADD, events.QUEUE_DYNAMIC)
        queue = child
        partition.renew_shares(child)
    return queue
