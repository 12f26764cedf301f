"""What the properties of a queue mean (rules: QUE-18 to QUE-20, PRP-1 to PRP-6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.core.model.priorities import MAX_PRIORITY, MIN_PRIORITY
from remuda.core.model.queue import FAIR, QueueSettings

SORT_POLICY: Final = "application.sort.policy"
SORT_PRIORITY: Final = "application.sort.priority"
PRIORITY_POLICY: Final = "priority.policy"
PRIORITY_OFFSET: Final = "priority.offset"


def inherited(parent: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the merged map of a queue: its parent's, filtered, then its own. Rules: PRP-3, PRP-5.

    A dynamic leaf is treated like a configured one (D-C24).
    """
    merged = dict(parent)
    if PRIORITY_POLICY in merged:
        merged[PRIORITY_POLICY] = "default"
    if PRIORITY_OFFSET in merged:
        merged[PRIORITY_OFFSET] = "0"
    merged.update(own)
    return merged


def settings(properties: Mapping[str, str], leaf: bool) -> QueueSettings:
    """Read the effective settings; a bad value means the default. Rules: QUE-18, QUE-19, PRP-2."""
    found = QueueSettings()
    if leaf and properties.get(SORT_POLICY) == FAIR:
        found.application_sort = FAIR
    found.sort_by_priority = properties.get(SORT_PRIORITY, "").lower() != "disabled"
    found.priority_fence = properties.get(PRIORITY_POLICY, "").lower() == "fence"
    found.priority_offset = _offset(properties.get(PRIORITY_OFFSET, "0"))
    return found


def _offset(text: str) -> int:
    """Read an int32 with an optional sign; anything else is 0."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 10):
        return 0
    value = int(text)
    return value if MIN_PRIORITY <= value <= MAX_PRIORITY else 0
