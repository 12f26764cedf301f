"""What the properties of a queue mean, and which a queue has (rules: QUE-18 to QUE-20, PRP, TPL).

Every value is text. One that means nothing counts as not given, so a bad value never refuses a
configuration (PRP-2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.duration import parse_duration
from remuda.config.schema import TemplateConfig
from remuda.core.model.priorities import MAX_PRIORITY, MIN_PRIORITY
from remuda.core.model.queue import (
    BACKOFF_DELAY_NS,
    DEFAULT,
    DISABLED,
    FAIR,
    FENCE,
    GREEDY,
    PREEMPTION_DELAY_NS,
    Queue,
    QueueSettings,
)

SORT_POLICY: Final = "application.sort.policy"
SORT_PRIORITY: Final = "application.sort.priority"
PRIORITY_POLICY: Final = "priority.policy"
PRIORITY_OFFSET: Final = "priority.offset"
PREEMPTION_POLICY: Final = "preemption.policy"
PREEMPTION_DELAY: Final = "preemption.delay"
BACKOFF: Final = "application.unschedasks.backoff"
BACKOFF_DELAY: Final = "application.unschedasks.backoff.delay"
GANG_ADMISSION: Final = "application.gang.admission"
QUOTA_PREEMPTION_DELAY: Final = "quota.preemption.delay"
# The name it had for one release.
OLD_QUOTA_PREEMPTION_DELAY: Final = "preemption.quota.delay"

COUNT_LIMIT: Final = 2**64


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the merged map of a queue: its parent's, filtered, then its own.

    ``own``: what is configured, for a dynamic leaf what its template says (D-C24). A name that a
    property had earlier gives way to the queue's own one. Rules: PRP-3, PRP-4, PRP-5, QUE-20.
    """
    merged = dict(parent)
    if PRIORITY_POLICY in merged:
        merged[PRIORITY_POLICY] = DEFAULT
    if PRIORITY_OFFSET in merged:
        merged[PRIORITY_OFFSET] = "0"
    if PREEMPTION_POLICY in merged and merged[PREEMPTION_POLICY].lower() != DISABLED:
        merged[PREEMPTION_POLICY] = DEFAULT
    if OLD_QUOTA_PREEMPTION_DELAY in own:
        merged.pop(QUOTA_PREEMPTION_DELAY, None)
    merged.update(own)
    return merged


def settings(properties: Mapping[str, str], leaf: bool) -> QueueSettings:
    """Read the effective settings; a bad value means the default.

    Rules: QUE-18, QUE-19, PRP-1, PRP-2, PRP-6.
    """
    found = QueueSettings()
    found.sort_by_priority = properties.get(SORT_PRIORITY, "").lower() != DISABLED
    found.priority_fence = properties.get(PRIORITY_POLICY, "").lower() == FENCE
    found.priority_offset = _offset(properties.get(PRIORITY_OFFSET, "0"))
    policy = properties.get(PREEMPTION_POLICY, "").lower()
    if policy in (FENCE, DISABLED):
        found.preemption_policy = policy
    old_delay = properties.get(OLD_QUOTA_PREEMPTION_DELAY, "")
    delay = properties.get(QUOTA_PREEMPTION_DELAY, old_delay)
    found.quota_preemption_delay_ns = _delay(delay, 0)
    if leaf:
        _set_leaf(found, properties)
    return found


def nearest_template(queue: Queue) -> TemplateConfig | None:
    """Return the template for dynamic leaves below a parent: the lowest one upwards, whole.

    Rules: TPL-5, TPL-8.
    """
    for each in queue.path_up:
        if each.template is not None:
            return each.template
    return None


def _set_leaf(found: QueueSettings, properties: Mapping[str, str]) -> None:
    """Read what only leaves have. The policy ``stateaware`` means fifo. Rules: QUE-18, QUE-19."""
    if properties.get(SORT_POLICY) == FAIR:
        found.application_sort = FAIR
    found.preemption_delay_ns = _delay(properties.get(PREEMPTION_DELAY, ""), PREEMPTION_DELAY_NS)
    found.backoff = read_count(properties.get(BACKOFF, ""))
    found.backoff_delay_ns = _delay(properties.get(BACKOFF_DELAY, ""), BACKOFF_DELAY_NS)
    if properties.get(GANG_ADMISSION, "").lower() == GREEDY:
        found.gang_admission = GREEDY


def read_count(text: str) -> int:
    """Read an unsigned 64-bit number without a sign; anything else is 0. Rules: PRP-2, PLC-85."""
    if not (text.isascii() and text.isdigit()) or len(text.lstrip("0")) > len(str(COUNT_LIMIT)):
        return 0
    value = int(text.lstrip("0") or "0")
    return value if value < COUNT_LIMIT else 0


def _delay(text: str, default: int) -> int:
    """Read a duration above zero in nanoseconds; anything else is the default."""
    found = parse_duration(text)
    return found if found is not None and found > 0 else default


def _offset(text: str) -> int:
    """Read an int32 with an optional sign; anything else is 0."""
    value = read_count(text[1:] if text[:1] in ("+", "-") else text)
    value = -value if text.startswith("-") else value
    return value if MIN_PRIORITY <= value <= MAX_PRIORITY else 0
