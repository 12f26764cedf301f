"""Which of the two forms of the scheduler interface a resource manager speaks (rules: SI-111).

Until 1.5 an ask and an allocation are different messages. Since 1.6 there is only the allocation:
without a node it is an ask for one, its key is its identity, and one release drops both. The fields
of the two do not collide, so one scheduler serves both; only how it answers must be chosen.
Implements: SI-111.
"""

from __future__ import annotations

from typing import Final, final

from remuda.si.pb import si_pb2 as si

# The key of ``buildInfo`` by which an RM says what it speaks, for example "1.6".
SI_LEVEL: Final = "si_level"

_UNIFIED_SINCE: Final = (1, 6)

_STARTING: Final = "Starting"
_RUNNING: Final = "Running"


@final
class Generation:
    """The generation of one RM: ``unified`` says that it speaks the newer form.

    ``level``: the level in the registration of the RM, "" if it named none; then the first request
    with asks decides. Until that comes, an RM that reports running allocations by keys counts as
    one of the newer form: after a restart such a report is the first message of such an RM. Rules:
    SI-111.
    """

    def __init__(self, level: str = "") -> None:
        self.unified = _at_least(level, _UNIFIED_SINCE)
        self._known = level != ""
        self._starting: set[str] = set()

    def note(self, request: si.AllocationRequest) -> None:
        """Learn from a request that has asks of one of the forms."""
        if self._known:
            return
        if request.asks:
            self._known = True
            self.unified = False
        elif any(is_ask(entry) for entry in request.allocations):
            self._known = self.unified = True
        elif not self.unified:
            self.unified = any(_names_key_only(entry) for entry in request.allocations)

    def state_shown(self, application_id: str, state: str) -> str:
        """Return what the RM is told when an application enters a state, "" for nothing.

        The newer form has no Starting: with its first allocation an application is Running.
        Rules: APP-1, SI-111.
        """
        if not self.unified:
            return state
        if state == _STARTING:
            self._starting.add(application_id)
            return _RUNNING
        if application_id not in self._starting:
            return state
        self._starting.remove(application_id)
        return "" if state == _RUNNING else state


def is_ask(entry: si.Allocation) -> bool:
    """Whether an allocation of a request asks for a node: it names neither one nor an identity.

    Rules: SI-111, SI-40 (what names an identity exists already).
    """
    named = entry.nodeID or entry.UUID or entry.allocationID
    return not named and entry.applicationID != ""


def _names_key_only(entry: si.Allocation) -> bool:
    """Whether a running allocation has no identity but its key, as in the newer form."""
    return bool(entry.nodeID and entry.allocationKey and not entry.UUID and not entry.allocationID)


def _at_least(level: str, least: tuple[int, int]) -> bool:
    """Whether a level such as "1.6" or "1.6.3" is at least another one; an invalid level is not."""
    parts = level.split(".")[:2]
    if len(parts) < len(least) or not all(p.isascii() and p.isdigit() for p in parts):
        return False
    return tuple([int(part[:9]) for part in parts]) >= least
