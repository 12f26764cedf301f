"""A partition: nodes, queue tree and applications that belong together.

It holds all state of scheduling and keeps what finds things in it; who may change what is said
where it is changed. Nothing of one partition is seen from another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import final

from remuda.config.schema import PartitionConfig
from remuda.core.model import states
from remuda.core.model.ages import FOREVER_NS, Ages
from remuda.core.model.allocation import Allocation
from remuda.core.model.application import Application
from remuda.core.model.attempts import Attempts
from remuda.core.model.candidates import Candidates
from remuda.core.model.ended import Ended
from remuda.core.model.evictions import Evictions
from remuda.core.model.foreign import ForeignIndex
from remuda.core.model.node import Node
from remuda.core.model.node_order import NodeOrder
from remuda.core.model.outstanding import Outstanding
from remuda.core.model.placement_rule import PlacementRule
from remuda.core.model.preemption import Preemption
from remuda.core.model.queue import Queue
from remuda.core.model.quota_changes import QuotaChanges
from remuda.core.model.request import Lane
from remuda.core.model.reservation import Claim, ClaimKey, Reservation
from remuda.core.model.shape import Shape, ShapeKey
from remuda.core.model.starved import StarvedShapes
from remuda.core.model.tally import Totals
from remuda.core.model.trackers import Account, QueueTracker, TrackerKey
from remuda.core.model.utilisation import Utilisation
from remuda.core.model.vectors import ResourceTypes, Vector
from remuda.core.model.verdicts import Questions


@final
class Partition:
    """One partition of one RM (RM-21).

    ``name`` is plain. ``config``: the configuration in force, ``rules`` its placement rules ready
    for use. ``types``: the resource types seen here; each partition has its own.
    ``capacity``: sum over all nodes, schedulable or not (NODE-4). ``shapes``: those with pending
    asks; ``starved``: those with lanes that wait for a node. ``shares_stale``: queues, by path,
    whose divisors, and those of all below, are to be forgotten before the next decision.
    ``unsettled``: leaves, by path, whose place in the tree must be found anew then. ``ended``:
    applications that left; ``rejected`` likewise; ``kept``: both by number, in the order in which
    they ended (APP-15); ``kept_states``: state -> how many of these are in it.
    ``node_orders``: by policy; ``node_order`` is the partition's own, another exists once an
    application asked for it (NOD-23). ``urgent``: leaves with something to try in the reserved
    pass, by path. ``reservations``: by number, oldest first; ``claims``: of equal asks, see Claim;
    ``claims_stale``: usage or limits changed, ``claims_due_ns``: when one gets too old. ``shaken``:
    nodes with reservations that changed since the last decision, by ID. ``rebuffed``: lanes whose
    best node to reserve was refused by predicates, with that node, by number.
    ``closed_nodes``: how many schedulable ones a reservation keeps from others. ``ages``: asks that
    may not reserve yet. ``parity``: queues are ordered as 1.5 did (KV-5). ``trackers``: of users
    and groups that are limited and have something here; ``accounts``: by the numbers of their
    trackers. ``utilisation``: how full the nodes are. ``outstanding``: asks the RM may have to be
    told of (CYC-30). ``swapping``: leaves with applications that may replace placeholders, by path;
    ``stuck``: those that could not, by number; ``changes``: counts what may make another try worth
    it. ``placeholder_count``: allocated ones (GANG-37).
    ``confirm_timeout_ns``: after which an order is repeated, 0 never (SI-69); ``enforce_timeouts``:
    running time of applications is limited (APP-30).
    ``leaving``: allocations the RM was told to end, until they are gone (SI-69).
    ``questions``: those to the RM without an answer yet, and who waits for them. ``quotas``: queues
    above a changed maximum (PRE-64).
    ``preemptions``: by number, oldest first, those that are over among them (PRE-91).
    ``evictions``: who is evicted again and again (PRE-92).
    ``preemption_predicates``: the RM is asked about victims (PRE-28). ``candidates``: allocations
    that may be victims, None while no ask may preempt. ``revision``: counts what may let an attempt
    to preempt end otherwise than the last (PRE-90). ``ripening``: asks that may not preempt yet;
    ``attempts``: those that were fruitless.
    ``draining_nodes``: how many are not schedulable, ``unready_nodes``: not ready (MET-9).
    ``totals``: those of the whole scheduler.
    ``resting``: nothing is decided here, for the RM is paused (RM-15, EXT-6), or enough is asked.
    """

    __slots__ = (
        "accounts",
        "ages",
        "allocation_count",
        "applications",
        "attempts",
        "candidates",
        "capacity",
        "changes",
        "claims",
        "claims_due_ns",
        "claims_stale",
        "cleanup_set",
        "closed_nodes",
        "config",
        "confirm_timeout_ns",
        "draining_nodes",
        "ended",
        "enforce_timeouts",
        "evictions",
        "foreign",
        "kept",
        "kept_states",
        "leaving",
        "name",
        "node_order",
        "node_orders",
        "node_sort_weights",
        "nodes",
        "numbers",
        "outstanding",
        "parity",
        "placeholder_count",
        "predicates",
        "preemption_predicates",
        "preemptions",
        "questions",
        "quotas",
        "rebuffed",
        "rejected",
        "reservation_delay_ns",
        "reservation_limit_ns",
        "reservations",
        "resting",
        "revision",
        "ripening",
        "rm_id",
        "root",
        "rules",
        "shaken",
        "shapes",
        "shares_stale",
        "starved",
        "state",
        "state_ns",
        "stuck",
        "swapping",
        "totals",
        "trackers",
        "types",
        "unready_nodes",
        "unsettled",
        "urgent",
        "utilisation",
    )

    def __init__(  # noqa: PLR0915 - a statement for each of its parts
        self,
        rm_id: str,
        config: PartitionConfig,
        types: ResourceTypes,
        root: Queue,
        node_order: NodeOrder,
    ) -> None:
        self.rm_id = rm_id
        self.name = config.name
        self.types = types
        self.root = root
        self.config = config
        self.rules: tuple[PlacementRule, ...] = ()
        self.set_config(config)
        self.state: str = states.ACTIVE
        self.state_ns: int = 0
        self.resting: bool = False
        self.node_sort_weights: Mapping[str, float] = {}
        self.node_order = node_order
        self.node_orders: dict[str, NodeOrder] = {}
        self.nodes: dict[str, Node] = {}
        self.utilisation = Utilisation()
        self.foreign = ForeignIndex()
        self.capacity = Vector()
        self.applications: dict[str, Application] = {}
        self.ended = Ended()
        self.rejected = Ended()
        self.kept: dict[int, Application] = OrderedDict()
        self.kept_states: dict[str, int] = {}
        self.allocation_count: int = 0
        self.leaving: dict[Allocation, None] = {}
        self.shapes: dict[ShapeKey, Shape] = {}
        self.starved = StarvedShapes()
        self.shares_stale: dict[str, Queue] = {root.path: root}
        self.unsettled: dict[str, Queue] = {}
        self.urgent: dict[str, Queue] = {}
        self.reservation_delay_ns: int | None = None
        self.reservation_limit_ns: int = 0
        self.reservations: dict[int, Reservation] = {}
        self.claims: dict[ClaimKey, Claim] = {}
        self.claims_stale: bool = False
        self.claims_due_ns: int = FOREVER_NS
        self.rebuffed: dict[int, tuple[Lane, Node]] = {}
        self.shaken: dict[str, Node] = {}
        self.closed_nodes: int = 0
        self.cleanup_set: bool = False
        self.predicates: bool = False
        self.preemption_predicates: bool = False
        self.preemptions: dict[int, Preemption] = {}
        self.candidates: Candidates | None = None
        self.revision: int = 0
        self.ripening = Ages()
        self.attempts = Attempts()
        self.evictions = Evictions()
        self.parity: bool = False
        self.trackers: dict[TrackerKey, QueueTracker] = {}
        self.ages = Ages()
        self.accounts: dict[tuple[int, ...], Account] = {}
        self.numbers: int = 0
        self.outstanding = Outstanding()
        self.questions = Questions()
        self.quotas = QuotaChanges()
        self.swapping: dict[str, Queue] = {}
        self.stuck: dict[int, Application] = {}
        self.changes: int = 0
        self.placeholder_count: int = 0
        self.confirm_timeout_ns: int = 0
        self.enforce_timeouts: bool = False
        self.draining_nodes: int = 0
        self.unready_nodes: int = 0
        self.totals = Totals()

    def set_config(self, config: PartitionConfig) -> None:
        """Take over a configuration, what it says about queues and nodes apart.

        Rules: PLC-13, PAR-3, RLD-4, RLD-30.
        """
        self.config = config
        self.rules = tuple([PlacementRule(rule) for rule in config.placement_rules])

    def order_of(self, policy: str) -> NodeOrder:
        """Return the node order of a policy, "" the partition's own. Rules: NOD-15, NOD-23."""
        return self.node_orders[policy] if policy else self.node_order

    def put_node(self, node: Node) -> None:
        """Let everybody use a node that is open, in every order. Rules: NOD-14, NOD-15."""
        self.node_order.put(node)
        if self.node_orders:
            for order in self.node_orders.values():
                order.put(node)

    def drop_node(self, node_id: str) -> None:
        """Take a node out of every order. Rules: NOD-8, RSV-7."""
        self.node_order.drop(node_id)
        for order in self.node_orders.values():
            order.drop(node_id)

    def next_number(self) -> int:
        """Return the next arrival number: unique and rising within the partition."""
        self.numbers += 1
        return self.numbers

    def queue(self, path: str) -> Queue | None:
        """Find a queue by path, in any case. Rules: PLC-40."""
        parts = path.lower().split(".")
        if parts[0] != self.root.name:
            return None
        found = self.root
        for part in parts[1:]:
            child = found.children.get(part)
            if child is None:
                return None
            found = child
        return found

    def renew_shares(self, top: Queue) -> None:
        """Have the shares of a queue and all below it worked out again when they are used next."""
        self.shares_stale[top.path] = top

    def queues(self, top: Queue) -> list[Queue]:
        """Return a queue and all below it, depth first, parents before children."""
        if not top.children:
            return [top]
        found: list[Queue] = []
        ahead = [top]
        while ahead:
            queue = ahead.pop()
            found.append(queue)
            ahead.extend(reversed(list(queue.children.values())))
        return found
