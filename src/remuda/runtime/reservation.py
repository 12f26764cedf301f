"""How old an ask must be before it may reserve a node: as people type it, and by default.

A reservation keeps a node free for an ask that is too large for what is left anywhere. The delay
is fixed when a scheduler starts; a recording holds it, so that a replay decides the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.duration import parse_duration
from remuda.base.errors import UsageError
from remuda.config.settings import RESERVATION_DELAY_NS, read_switches

# What is typed for a scheduler that never reserves.
OFF: Final = "off"


def read_delay(option: str, text: str) -> int | None:
    """Return the nanoseconds, above 0, of a text such as ``2s``; None for ``off``.

    Raises: UsageError. Rules: RSV-3.
    """
    if text == OFF:
        return None
    delay_ns = parse_duration(text)
    if delay_ns is None or delay_ns <= 0:
        raise UsageError(
            f"{option}: '{text}' is not a duration above 0, for example 2s or 1m30s; "
            f"'{OFF}' for no reservations at all"
        )
    return delay_ns


def default_delay_ns(environment: Mapping[str, str]) -> int | None:
    """Return the delay of a process whose options name none. Rules: RSV-3, KV-4."""
    return None if read_switches(environment).disable_reservation else RESERVATION_DELAY_NS
