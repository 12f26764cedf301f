"""What became of a call, as a value: the state machine decides what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remuda_kubernetes.objects.pods import Pod


class Result(StrEnum):
    """How a call ended.

    DONE: as asked. CONFLICT: the object is not as the caller believes: look again. GONE: there is
    no such object, or another has its name. REFUSED: the server will not do it, now or later.
    BLOCKED: a disruption budget forbids the eviction for now. FAILED: no answer, or only errors
    that pass, until the deadline; it may have happened all the same. FENCED: not sent, as we may no
    longer act.
    """

    DONE = "done"
    CONFLICT = "conflict"
    GONE = "gone"
    REFUSED = "refused"
    BLOCKED = "blocked"
    FAILED = "failed"
    FENCED = "fenced"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a call.

    ``message`` says what the server said or what went wrong, for a person; "" if it is done.
    ``attempts``: how often it was sent. ``retry_after``: the seconds after which the server wants
    to be asked again, if it said so. ``pod``: the pod that was created, or that is there instead.
    ``content``: the object that was read, in JSON.
    """

    result: Result
    message: str = ""
    attempts: int = 1
    retry_after: float | None = None
    pod: Pod | None = None
    content: bytes = b""

    @property
    def done(self) -> bool:
        """Whether it happened as asked."""
        return self.result is Result.DONE
