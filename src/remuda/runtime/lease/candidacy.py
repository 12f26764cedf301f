"""The way of one process from standby to active to its end: what to ask the store, and when.

A state machine without I/O. The caller sends the requests that it names, one at a time, and tells
it the answers. Time is that of the process alone: a lease counts from the moment at which its last
successful renewal was *asked* for, and ends a margin before the store would end it. So two
processes are never active at once as long as their clocks differ in speed by less than the margin.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from remuda.base.duration import MILLISECOND, SECOND
from remuda.base.message import message
from remuda.runtime.lease.fence import Fence

# How often a standby looks whether the lease is free.
POLL_NS: Final = 200 * MILLISECOND
# How long the active scheduler waits before it tries a failed renewal again.
RETRY_NS: Final = 100 * MILLISECOND
# The active scheduler renews so often within the time of the lease.
RENEWALS: Final = 3
# The margin is this part of the time of the lease.
_MARGIN_PART: Final = 6


@message
class Held:
    """A lease of this process: the store's ID of it, and the fencing token of its key."""

    lease_id: int
    token: int


@message
class Holder:
    """Who holds the lease: a name that no other process has, its gRPC address, what it holds."""

    identity: str
    address: str
    held: Held


@message
class Look:
    """Ask who holds the lease. The answer is ``Seen``."""


@message
class Take:
    """Try to get the lease, if nobody has it. The answer is ``Taken`` or ``Seen``."""


@message
class Renew:
    """Renew the lease that is held. The answer is ``Renewed``."""

    held: Held


@message
class Seen:
    """Who holds the lease; None: nobody."""

    holder: Holder | None


@message
class Taken:
    """This process holds the lease now, for so long."""

    held: Held
    ttl_ns: int


@message
class Renewed:
    """The lease goes on for so long; 0: the store has ended it, or its key is another's."""

    ttl_ns: int


Request: TypeAlias = Look | Take | Renew
Answer: TypeAlias = Seen | Taken | Renewed


class State(Enum):
    """What this process is; OVER: it was active and must end."""

    STANDBY = "standby"
    ACTIVE = "active"
    OVER = "over"


class Candidacy:
    """One process that wants to be the active scheduler. One thread.

    Args:
        identity: a name that no other process has.
        fence: opened and closed here.

    ``over_because``: why the process is not active any more. ``problem``: why the store was not
    reached the last time, "" if it was. ``failures``: how often it was not reached.

    Implements: EXT-34. Rules: EXT-36.
    """

    def __init__(self, identity: str, fence: Fence) -> None:
        self._identity = identity
        self._fence = fence
        self._free = False
        self._held: Held | None = None
        self._due_ns = 0
        self._sent_ns = 0
        self._state = State.STANDBY
        self.over_because = ""
        self.problem = ""
        self.failures = 0

    @property
    def state(self) -> State:
        """What this process is."""
        return self._state

    @property
    def over(self) -> bool:
        """Whether this process was active and must end."""
        return self._state is State.OVER

    @property
    def held(self) -> Held | None:
        """What this process holds as far as it knows, to be given back at its end."""
        return self._held

    @property
    def late(self) -> str:
        """Why the lease was not renewed before its time was over."""
        return f"not renewed in time: {self.problem or 'this process stood still'}"

    def request(self, now_ns: int) -> Request | None:
        """Return what to ask the store now, None: nothing yet, or never again."""
        self.look()
        if self._state is State.OVER or now_ns < self._due_ns:
            return None
        self._sent_ns = now_ns
        if self._held is not None:
            return Renew(self._held)
        return Take() if self._free else Look()

    def rest_ns(self, now_ns: int) -> int:
        """Return how long there is nothing to ask."""
        return max(0, self._due_ns - now_ns)

    def answered(self, answer: Answer, now_ns: int) -> None:
        """Take the answer to the last request."""
        self.problem = ""
        self.look()
        if self._state is State.OVER:
            return
        match answer:
            case Seen(holder):
                self._see(holder, now_ns)
            case Taken(held, ttl_ns):
                self._held = held
                self._go_on(held, ttl_ns, now_ns)
            case Renewed(ttl_ns):
                if self._held is not None and ttl_ns > 0:
                    self._go_on(self._held, ttl_ns, now_ns)
                else:
                    self._lose(now_ns)

    def failed(self, problem: str, now_ns: int) -> None:
        """Note that the store did not answer the last request, or not with sense.

        It may have carried it out, so that a standby looks before it tries again.
        """
        self.problem = problem
        self.failures += 1
        self._free = False
        self._due_ns = now_ns + (RETRY_NS if self._state is State.ACTIVE else POLL_NS)
        self.look()

    def look(self) -> None:
        """End if the time is over for which the lease was renewed."""
        if self._state is State.ACTIVE and self._fence.closed:
            self._end(self.late)

    def _see(self, holder: Holder | None, now_ns: int) -> None:
        self._free = holder is None
        self._fence.active_at = "" if holder is None else holder.address
        self._due_ns = now_ns if holder is None else now_ns + POLL_NS
        if holder is not None and holder.identity == self._identity:
            # A try of ours had succeeded, but its answer was lost.
            self._held = holder.held
            self._due_ns = now_ns

    def _go_on(self, held: Held, ttl_ns: int, now_ns: int) -> None:
        """Be active until a margin before the lease ends, if that is not over already."""
        until_ns = self._sent_ns + ttl_ns - ttl_ns // _MARGIN_PART
        if self._fence.extend(held.token, until_ns):
            self._state = State.ACTIVE
            self._due_ns = self._sent_ns + ttl_ns // RENEWALS
        else:
            self._due_ns = now_ns

    def _lose(self, now_ns: int) -> None:
        self._held = None
        self._free = False
        self._due_ns = now_ns + POLL_NS
        if self._state is State.ACTIVE:
            self._end("the store has ended it, or its key was deleted")

    def _end(self, reason: str) -> None:
        self._fence.shut()
        self._state = State.OVER
        self.over_because = reason


def request_seconds(ttl_ns: int) -> float:
    """Return how long a request may take: several fit between a failed renewal and the end."""
    return ttl_ns / SECOND / _MARGIN_PART
