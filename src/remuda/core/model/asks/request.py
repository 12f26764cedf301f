"""One ask as the scheduler keeps it: what is pending, and what observers were told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from remuda.core.messages.commands import Ask
from remuda.core.messages.tags import REQUIRED_NODE
from remuda.core.model.finding import LogEntry
from remuda.core.model.preemption.attempts import PAUSE_NS
from remuda.core.model.ranking import SortKey
from remuda.core.model.vectors import Amounts

if TYPE_CHECKING:
    from remuda.core.model.applications.application import Application
    from remuda.core.model.asks.class_queue import Group
    from remuda.core.model.preemption.live import Preemption
    from remuda.core.model.reservation import Reservation

# Shared by asks without a reservation, to save memory; never changed.
NO_RESERVATIONS: Final[dict[str, Reservation]] = {}

# Shared by asks that never had two allocations; never changed.
NO_IDENTITIES: Final[dict[str, None]] = {}


@final
class Request:
    """One ask of an application. Rules: SI-34."""

    __slots__ = (
        "adopted",
        "aged",
        "ages",
        "amounts",
        "application",
        "ask",
        "attempted",
        "created_ns",
        "fits_queue",
        "fits_user",
        "group",
        "identities",
        "in_flight",
        "log",
        "looked",
        "made",
        "next_identity",
        "number",
        "only_identity",
        "outstanding",
        "pending",
        "preempt_due",
        "preempt_timed",
        "preemption",
        "reported",
        "reported_ns",
        "reservations",
        "sort_key",
        "tried_ns",
        "unplaced",
        "waits_since_ns",
    )

    def __init__(
        self, number: int, ask: Ask, amounts: Amounts, application: Application, created_ns: int
    ) -> None:
        # Its arrival number, unique in the partition.
        self.number = number
        self.ask = ask
        self.amounts = amounts
        self.application = application
        self.created_ns = created_ns
        # How many allocations are still pending, and how many were made so far.
        self.pending: int = 0
        self.made: int = 0
        # How many allocations of an earlier ask with the same key ran when this one came.
        self.adopted: int = 0
        # The least number for the identity of the next allocation (SI-35).
        self.next_identity: int = 0
        # How many of ``made`` wait for the end of a placeholder (GANG-14).
        self.in_flight: int = 0
        # Whether it is old enough to reserve (RSV-3); ``ages``: whether the time for that is
        # listed.
        self.aged: bool = False
        self.ages: bool = False
        # Whether a decision examined it with enough user quota (CYC-30).
        self.attempted: bool = False
        # Whether its RM knows that it waits for resources (CYC-30).
        self.reported: bool = False
        # Whether it found no node, and its leaf counts that (CYC-33).
        self.unplaced: bool = False
        # Whether it is listed in ``Outstanding``, to be reported if it qualifies (CYC-30).
        self.outstanding: bool = False
        # The preemption in effect for it, None if there is none (PRE-6, PRE-89).
        self.preemption: Preemption | None = None
        # Whether it may preempt others now (PRE-5); ``preempt_timed``: whether the time for that is
        # listed.
        self.preempt_due: bool = False
        self.preempt_timed: bool = False
        # When preemption was last tried for it, or counts as tried, as its room was lost more than
        # once (PRE-90); None: never (PRE-5).
        self.tried_ns: int | None = None
        # When a refusal by predicates was last reported, None: never (EVT-44).
        self.reported_ns: int | None = None
        # Its group while something is pending.
        self.group: Group | None = None
        # By node ID, oldest first.
        self.reservations: dict[str, Reservation] = NO_RESERVATIONS
        # Its live allocation while it never had two at once; most asks are for one. Afterwards
        # ``identities`` has all its live allocations, oldest first.
        self.only_identity: str = ""
        self.identities: dict[str, None] = NO_IDENTITIES
        # Its sort key among the asks of its application (QUE-44).
        self.sort_key: SortKey = (-ask.priority, created_ns, number)
        # Whether a decision has examined it (decision 51 of docs/spec).
        self.looked: bool = False
        # Whether it fits its queue and its user, as observers were last told (EVT-42).
        self.fits_queue: bool = True
        self.fits_user: bool = True
        # When a decision first found that it must wait, 0: never.
        self.waits_since_ns: int = 0
        # Messages of decisions (CYC-24).
        self.log: tuple[LogEntry, ...] = ()

    def replace(self, ask: Ask, amounts: Amounts) -> None:
        """Take over a new version of the ask that no decision has looked at; keep age and number.

        Rules: SI-33.
        """
        self.ask = ask
        self.amounts = amounts
        self.sort_key = (-ask.priority, self.created_ns, self.number)
        self.preempt_due = False
        self.looked = False
        self.fits_queue = True
        self.fits_user = True
        self.waits_since_ns = 0
        self.log = ()

    def note_allocation(self, identity: str) -> None:
        """List one more live allocation of the key. Rules: CYC-18."""
        if self.identities:
            self.identities[identity] = None
        elif self.only_identity:
            self.identities = {self.only_identity: None, identity: None}
            self.only_identity = ""
        else:
            self.only_identity = identity

    def forget_allocation(self, identity: str) -> None:
        """Remove an allocation that ended, if it is listed. Rules: CYC-18."""
        if identity == self.only_identity:
            self.only_identity = ""
        else:
            self.identities.pop(identity, None)

    def allocation_ids(self) -> list[str]:
        """Return the live allocations of the key, in order of creation. Rules: CYC-18."""
        return [self.only_identity] if self.only_identity else list(self.identities)

    def over(self) -> bool:
        """Whether it has ended: nothing is pending, allocated or in flight. Rules: SI-34."""
        return not (self.pending or self.only_identity or self.identities or self.in_flight)

    def known(self) -> bool:
        """Whether it is still an ask of its application."""
        return self.application.requests.get(self.ask.allocation_key) is self

    def is_member(self) -> bool:
        """Whether it is a real ask of a task group. Rules: GANG-10."""
        return self.ask.task_group != "" and not self.ask.placeholder

    def may_preempt(self) -> bool:
        """Whether it may preempt others after it waited long enough.

        Implements: PRE-1. Rules: PRE-5.
        """
        return self.ask.allow_preempt_other and not self.required_node()

    def preempt_due_ns(self) -> int:
        """Return when it may preempt: after its delay and after the last attempt. Rules: PRE-5."""
        leaf = self.application.queue
        due_ns = self.created_ns + leaf.settings.preemption_delay_ns
        return due_ns if self.tried_ns is None else max(due_ns, self.tried_ns + PAUSE_NS)

    def required_node(self) -> str:
        """Return the one node it may go to, "" if it may go to any. Implements: SI-39."""
        return self.ask.tags.get(REQUIRED_NODE, "")

    def wants_reservation(self) -> bool:
        """Whether it may have one reservation more. Rules: RSV-3, RSV-5, RSV-6."""
        return len(self.reservations) < self.reservation_limit()

    def oldest_reservation(self) -> Reservation | None:
        """Return its oldest reservation, None if it has none. Rules: RSV-6."""
        for reservation in self.reservations.values():
            return reservation
        return None

    def reservation_limit(self) -> int:
        """Return how many reservations it may have; one on a required node. Implements: RSV-6."""
        return min(self.pending, 1) if self.required_node() else self.pending
