"""Which of the two forms of the scheduler interface a resource manager speaks (rules: SI-111).

Until 1.5 an ask and an allocation are different messages. Since 1.6 there is only the allocation:
without a node it is an ask for one, its key is its identity, and one release drops both. The fields
of the two do not collide, so one scheduler serves both; only how it answers must be chosen.
"""

from __future__ import annotations

from typing import Final, final

from remuda.si.pb import si_pb2 as si

# The key of ``buildInfo`` by which an RM says what it speaks, for example "1.6".
SI_LEVEL: Final = "si_level"

_UNIFIED_SINCE: Final = (1, 6)


@final
class Generation:
    """What is known of one RM: ``unified`` is set once it is known to speak the newer form.

    ``level``: what the RM said when it registered, "" if it said nothing; then the first request
    with asks tells. Rules: SI-111.
    """

    def __init__(self, level: str = "") -> None:
        self.unified = _at_least(level, _UNIFIED_SINCE)
        self._known = level != ""

    def note(self, request: si.AllocationRequest) -> None:
        """Learn from a request that has asks of one of the forms."""
        if self._known:
            return
        if request.asks:
            self._known = True
        elif any(is_ask(entry) for entry in request.allocations):
            self._known = self.unified = True


def is_ask(entry: si.Allocation) -> bool:
    """Whether an allocation of a request asks for a node: it names neither one nor an identity.

    Rules: SI-111, SI-40 (what names an identity exists already).
    """
    named = entry.nodeID or entry.UUID or entry.allocationID
    return not named and entry.applicationID != ""


def _at_least(level: str, least: tuple[int, int]) -> bool:
    """Whether a level such as "1.6" or "1.6.3" is at least some other; what is no level is not."""
    parts = level.split(".")[:2]
    if len(parts) < len(least) or not all(p.isascii() and p.isdigit() for p in parts):
        return False
    return tuple([int(part[:9]) for part in parts]) >= least
