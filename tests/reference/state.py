"""What the reference model remembers: facts only, never a sum.

Everything that can be computed (pending, allocated, headroom, priorities, orders) is computed
anew from these records whenever it is asked for. Names follow the specification.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from remuda.config.schema import (
    AccessList,
    LimitConfig,
    PlacementRuleConfig,
    TemplateConfig,
)

LIVE = ("New", "Accepted", "Starting", "Running", "Completing")
MIN_PRIORITY = -(2**31)
MAX_PRIORITY = 2**31 - 1


@dataclass
class Ask:
    """An ask; ``made``: allocations it yielded so far, reported ones included (SI-34).

    ``created``: its creation time in nanoseconds (QUE-44). ``in_vain``: no node took it when it was
    tried, and none would since (CYC-33); ``waited``: it ever was. ``sent``: what the RM sent.
    """

    key: str
    resource: dict[str, int]
    priority: int
    total: int
    arrival: int
    required_node: str
    created: int
    made: int = 0
    in_vain: bool = False
    waited: bool = False
    sent: object = None

    @property
    def pending(self) -> int:
        """How many allocations are still wanted."""
        return max(0, self.total - self.made)


@dataclass
class Allocation:
    """A bound piece of work."""

    identity: str
    key: str
    node_id: str
    resource: dict[str, int]
    arrival: int


@dataclass
class Application:
    """An application. ``submitted``: its submission time (QUE-42). ``quick``: see APP-16.

    ``node_policy``: its own order of nodes, "" for that of the partition (NOD-23).
    ``group``: under which it is tracked, "" for none; None: not chosen yet (LIM-20, LIM-24), or
    ``cut`` from one that lost its limit, without finding another (LIM-64). ``first_choice``: what
    it would be, until a decision looks at the application.
    ``counted``: it got an allocation and has had something since (LIM-36, LIM-37).
    ``paused_until``: when its asks are tried again (CYC-33).
    ``held_back``: by the limit of a queue ("queue") or of its user or group ("quota", QUE-26).
    """

    identity: str
    queue: str
    arrival: int
    submitted: int
    user: str = ""
    groups: tuple[str, ...] = ()
    quick: bool = False
    node_policy: str = ""
    state: str = "New"
    group: str | None = None
    first_choice: str | None = None
    counted: bool = False
    cut: bool = False
    paused_until: int = 0
    held_back: tuple[str, ...] = ()
    asks: dict[str, Ask] = field(default_factory=dict)
    allocations: dict[str, Allocation] = field(default_factory=dict)


@dataclass
class Reservation:
    """A node kept free for an ask (RSV-1); ``since``: when it was made."""

    app: Application
    key: str
    node_id: str
    since: int

    @property
    def ask(self) -> Ask:
        """The ask as it is now."""
        return self.app.asks[self.key]


@dataclass
class Node:
    """A node; draining is ``schedulable`` False.

    ``foreign``: what runs there that is not ours, by key. ``counts_foreign``: there was some, so
    what the RM says is occupied does not count (CYC-29).
    """

    identity: str
    capacity: dict[str, int]
    occupied: dict[str, int]
    schedulable: bool
    foreign: dict[str, dict[str, int]] = field(default_factory=dict)
    counts_foreign: bool = False


@dataclass
class Queue:
    """A queue. ``template``: its own one only; ``max_applications`` 0: not limited."""

    path: str
    leaf: bool
    maximum: dict[str, int] | None = None
    guaranteed: dict[str, int] | None = None
    properties: dict[str, str] = field(default_factory=dict)
    managed: bool = False
    draining: bool = False
    max_applications: int = 0
    submit: AccessList = field(default_factory=AccessList)
    admin: AccessList = field(default_factory=AccessList)
    template: TemplateConfig | None = None

    @property
    def parent(self) -> str:
        """The path above, "" for root."""
        return self.path.rpartition(".")[0]

    @property
    def fair(self) -> bool:
        """Whether applications are ordered by usage (QUE-18)."""
        return self.properties.get("application.sort.policy") == "fair"

    @property
    def stateaware(self) -> bool:
        """Whether one application starts at a time (QUE-41)."""
        return self.properties.get("application.sort.policy") == "stateaware"

    @property
    def by_priority(self) -> bool:
        """Whether priorities order before usage or age (QUE-18)."""
        return self.properties.get("application.sort.priority", "").lower() != "disabled"

    @property
    def fenced(self) -> bool:
        """Whether priorities below stay below (QUE-29)."""
        return self.properties.get("priority.policy", "").lower() == "fence"

    @property
    def offset(self) -> int:
        """What is added to the priority seen from above (QUE-18)."""
        text = self.properties.get("priority.offset", "0")
        digits = text[1:] if text[:1] in ("+", "-") else text
        if not (digits.isascii() and digits.isdigit()):
            return 0
        value = int(text)
        return value if MIN_PRIORITY <= value <= MAX_PRIORITY else 0


@dataclass
class Partition:
    """One partition of one RM with all it holds.

    ``limits``: those of each path (LIM-8). ``reservations``: oldest first, which go after
    ``reservation_limit`` nanoseconds as soon as they do not help, 0 for never (RSV-10).
    ``parity``: queues are ordered as in 1.5.1 (KV-5).
    """

    rm_id: str
    name: str
    rules: tuple[PlacementRuleConfig, ...] = ()
    node_policy: str = "fair"
    node_weights: dict[str, float] = field(default_factory=dict)
    limits: dict[str, tuple[LimitConfig, ...]] = field(default_factory=dict)
    reservation_limit: int = 3600 * 10**9
    parity: bool = False
    queues: dict[str, Queue] = field(default_factory=dict)
    applications: dict[str, Application] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    reservations: list[Reservation] = field(default_factory=list)
