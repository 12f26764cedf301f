"""Merges the properties of queues and reads settings from them.

Rules: chapter 50 section A.4, PRP, TPL.

Every value is text. An invalid value counts as absent, so it never makes a configuration invalid
(PRP-2).
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
from remuda.core.model.queues.queue import Queue, QueueSettings


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a queue: the inheritable ones of its parent, then its own.

    ``own``: the configured properties; for a dynamic leaf, those of its template (D-C24). If the
    queue uses an old name of a property, the inherited value of the new name is removed.
    Implements: PRP-3, PRP-5, QUE-20. Rules: PRP-4.
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
    """Read the effective settings; an invalid value means the default.

    Implements: QUE-18, QUE-19, PRP-6, PRE-2. Rules: PRP-1, PRP-2.
    """
    found = QueueSettings()
    found.sort_by_priority = SORT_PRIORITY.read(properties) != DISABLED
    found.priority_fence = PRIORITY_POLICY.read(properties) == FENCE
    found.priority_offset = PRIORITY_OFFSET.read(properties)
    found.preemption_policy = PREEMPTION_POLICY.read(properties)
    found.quota_preemption_delay_ns = QUOTA_PREEMPTION_DELAY.read(properties)
    if leaf:
        # A parent does not use its sort policy; its children inherit it (QUE-19).
        found.application_sort = SORT_POLICY.read(properties)
        found.preemption_delay_ns = PREEMPTION_DELAY.read(properties)
        found.backoff = BACKOFF.read(properties)
        found.backoff_delay_ns = BACKOFF_DELAY.read(properties)
        found.gang_admission = GANG_ADMISSION.read(properties)
    return found


def nearest_template(queue: Queue) -> TemplateConfig | None:
    """Return the template for dynamic leaves below a parent: the nearest one on its path.

    Implements: TPL-5, TPL-8.
    """
    for each in queue.path_up:
        if each.template is not None:
            return each.template
    return None
