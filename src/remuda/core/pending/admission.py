"""Says whether an application's asks are served, and which limits it must pass to start."""

from __future__ import annotations

from remuda.config.queue_properties import STATEAWARE
from remuda.core.model import states
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.class_queue import (
    CLOSED,
    FREE,
    QUOTA_LIMITED,
    START_LIMITED,
    ClassQueue,
)
from remuda.core.model.queues.queue import Queue
from remuda.core.model.queues.trackers import LimitSet


def admission_of(application: Application, limit_set: LimitSet, class_queue: ClassQueue) -> int:
    """Return the admission of an application's asks in a class queue: FREE, CLOSED or limited.

    Turns and back-off concern the regular pass only. Back-off does not close asks that already wait
    for a node.
    Rules: APP-12, CYC-11, CYC-19, CYC-33, QUE-24, QUE-25, QUE-41, GANG-6, GANG-11.
    """
    if application.state in (states.FAILING, states.RESUMING):
        return CLOSED
    gang, ask_class = application.gang, class_queue.ask_class
    if gang is not None and not ask_class.placeholder and gang.keeps_waiting(ask_class.task_group):
        return CLOSED
    leaf = class_queue.leaf
    accepted = application.state == states.ACCEPTED
    if not class_queue.ask_class.urgent:
        in_turn = leaf.settings.application_sort != STATEAWARE or leaf.turns.holder is application
        backs_off = application.backoff_until_ns > 0 and not class_queue.waits_for_node()
        if backs_off or (accepted and not in_turn):
            return CLOSED
    if not accepted:
        return FREE
    if application.counted_early:
        return QUOTA_LIMITED if limit_set.application_limits else FREE
    return START_LIMITED if _limits_applications(leaf, limit_set) else FREE


def _limits_applications(leaf: Queue, limit_set: LimitSet) -> bool:
    """Whether a maximum number of applications applies to a limit set in a leaf."""
    if limit_set.application_limits:
        return True
    for queue in leaf.path_up:
        if queue.max_applications:
            return True
    return False
