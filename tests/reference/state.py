"""What the reference model remembers: facts only, never a sum.

Everything that can be computed (pending, allocated, headroom, priorities, orders) is computed
anew from these records whenever it is asked for. Names follow the specification.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LIVE = ("New", "Accepted", "Starting", "Running", "Completing")
MIN_PRIORITY = -(2**31)
MAX_PRIORITY = 2**31 - 1


@dataclass
class Ask:
    """An ask; ``made``: allocations it yielded so far, reported ones included (SI-34)."""

    key: str
    resource: dict[str, int]
    priority: int
    total: int
    arrival: int
    required_node: str
    made: int = 0

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
    """An application. ``submitted``: when it was added (APP-21). ``quick``: see APP-16."""

    identity: str
    queue: str
    arrival: int
    submitted: int
    quick: bool = False
    state: str = "New"
    asks: dict[str, Ask] = field(default_factory=dict)
    allocations: dict[str, Allocation] = field(default_factory=dict)


@dataclass
class Node:
    """A node; draining is ``schedulable`` False."""

    identity: str
    capacity: dict[str, int]
    occupied: dict[str, int]
    schedulable: bool


@dataclass
class Queue:
    """A queue. ``inherited``: the properties its children start from (PRP-5)."""

    path: str
    leaf: bool
    maximum: dict[str, int] | None
    guaranteed: dict[str, int] | None
    properties: dict[str, str]

    @property
    def parent(self) -> str:
        """The path above, "" for root."""
        return self.path.rpartition(".")[0]

    @property
    def fair(self) -> bool:
        """Whether applications are ordered by usage (QUE-18)."""
        return self.properties.get("application.sort.policy") == "fair"

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
    """One partition of one RM with all it holds."""

    rm_id: str
    name: str
    rules: list[tuple[str, bool, str]]
    node_policy: str
    node_weights: dict[str, float]
    queues: dict[str, Queue] = field(default_factory=dict)
    applications: dict[str, Application] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
