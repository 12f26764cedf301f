"""What the properties of a queue say on preemption, as the REST API words it.

The properties are kept as they were written; here they are read for display: a value that means
nothing is the default (PRP-2), durations are told in the form in which Go prints them (REST-71).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.duration import MICROSECOND, MILLISECOND, MINUTE, SECOND, parse_duration
from remuda.base.message import message

POLICY: Final = "preemption.policy"
DELAY: Final = "preemption.delay"

# The same setting in the spelling of two releases; the newer one counts (PRE-63).
QUOTA_DELAYS: Final = ("quota.preemption.delay", "preemption.quota.delay")

DEFAULT_DELAY_NS: Final = 30 * SECOND


@message
class PreemptionSettings:
    """How a queue is set; a delay is a text such as ``30s``, "" if there is none."""

    enabled: bool
    fence: bool
    delay: str
    quota_delay: str


def preemption_settings(properties: Mapping[str, str]) -> PreemptionSettings:
    """Read what is shown of a queue's merged properties (PRP-1, PRP-2, REST-71, PRE-74)."""
    policy = properties.get(POLICY, "").lower()
    quota = next((properties[key] for key in QUOTA_DELAYS if key in properties), "")
    quota_ns = _positive(quota)
    return PreemptionSettings(
        enabled=policy != "disabled",
        fence=policy == "fence",
        delay=duration_text(_positive(properties.get(DELAY, "")) or DEFAULT_DELAY_NS),
        quota_delay=duration_text(quota_ns) if quota_ns else "",
    )


def duration_text(nanoseconds: int) -> str:
    """Return a duration, not negative, as Go prints it: ``1h15m0s``, ``1.5s``, ``500ms``."""
    for unit, name in ((1, "ns"), (MICROSECOND, "\u00b5s"), (MILLISECOND, "ms")):
        if 0 < nanoseconds < 1000 * unit:
            return f"{_decimal(nanoseconds, unit)}{name}"
    minutes, rest = divmod(nanoseconds, MINUTE)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{seconds}"
    return f"{minutes}m{seconds}" if minutes else seconds


def _decimal(amount: int, unit: int) -> str:
    """Return ``amount / unit`` in decimal, without zeros at the end; ``unit`` is a power of 10."""
    whole, rest = divmod(amount, unit)
    digits = str(rest + unit)[1:].rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def _positive(text: str) -> int:
    """Return the nanoseconds of a duration, 0 if it is none or not above zero."""
    return max(0, parse_duration(text) or 0)
