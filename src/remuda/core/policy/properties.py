"""What the properties of a queue mean, and which a queue has (rules: QUE-18 to QUE-20, PRP, TPL).

Every value is text. One that means nothing counts as not given, so a bad value never refuses a
configuration (PRP-2).
"""

from __future__ import annotations

from collections.abc import Mapping

from remuda.config.queue_properties import (
    BACKOFF,
    BACKOFF_DELAY,
    DEFAULT,
    DISABLED,
    FENCE,
    GANG_ADMISSION,
    PREEMPTION_DELAY,
    PREEMPTION_POLICY,
    PRIORITY_OFFSET,
    PRIORITY_POLICY,
    QUOTA_PREEMPTION_DELAY,
    SORT_POLICY,
    SORT_PRIORITY,
)
from remuda.config.schema import TemplateConfig
from remuda.core.model.queue import Queue, QueueSettings


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the merged map of a queue: its parent's, filtered, then its own.

    ``own``: what is configured, for a dynamic leaf what its template says (D-C24). A name that a
    property had earlier gives way to the queue's own one. Rules: PRP-3, PRP-4, PRP-5, QUE-20.
    """
    merged = dict(parent)
    if PRIORITY_POLICY.name in merged:
        merged[PRIORITY_POLICY.name] = DEFAULT
    if PRIORITY_OFFSET.name in merged:
        merged[PRIORITY_OFFSET.name] = "0"
    if PREEMPTION_POLICY.name in merged and PREEMPTION_POLICY.read(merged) != DISABLED:
        merged[PREEMPTION_POLICY.name] = DEFAULT
    if QUOTA_PREEMPTION_DELAY.alias in own:
        merged.pop(QUOTA_PREEMPTION_DELAY.name, None)
    merged.update(own)
    return merged


def settings(properties: Mapping[str, str], leaf: bool) -> QueueSettings:
    """Read the effective settings; a bad value means the default.

    Rules: QUE-18, QUE-19, PRP-1, PRP-2, PRP-6.
    """
    found = QueueSettings()
    found.sort_by_priority = SORT_PRIORITY.read(properties) != DISABLED
    found.priority_fence = PRIORITY_POLICY.read(properties) == FENCE
    found.priority_offset = PRIORITY_OFFSET.read(properties)
    found.preemption_policy = PREEMPTION_POLICY.read(properties)
    found.quota_preemption_delay_ns = QUOTA_PREEMPTION_DELAY.read(properties)
    if leaf:
        # The sort policy of a parent is for its children to inherit (QUE-19).
        found.application_sort = SORT_POLICY.read(properties)
        found.preemption_delay_ns = PREEMPTION_DELAY.read(properties)
        found.backoff = BACKOFF.read(properties)
        found.backoff_delay_ns = BACKOFF_DELAY.read(properties)
        found.gang_admission = GANG_ADMISSION.read(properties)
    return found


def nearest_template(queue: Queue) -> TemplateConfig | None:
    """Return the template for dynamic leaves below a parent: the lowest one upwards, whole.

    Rules: TPL-5, TPL-8.
    """
    for each in queue.path_up:
        if each.template is not None:
            return each.template
    return None
