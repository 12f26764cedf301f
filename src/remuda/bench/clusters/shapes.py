"""The shapes S1 to S10, W1 to W5, M1 to M9 and idle: how many nodes, queues, applications and asks.

S1 to S8 are the shapes of the reference figures in docs/benchmarks.md, which were taken with the
Go core of Apache YuniKorn; S9 is S1 with limits of users and groups, S10 is S6 with unequal nodes
and asks, see variety.py. W1 and W2 are the shapes of that core's own benchmark, W3 is that of
its shim; W4 and W5 have the nodes and asks of S10 without priorities. M1 to M9 are mixed loads, see
MIXED. In all others nodes are equal and just large enough for all placeable asks; queue i is
guaranteed 1,000 x (i + 1) of memory and vcore.
"""

from __future__ import annotations

from typing import Final

from remuda.base.message import message
from remuda.config.schema import NODE_SORT_BINPACKING, NODE_SORT_FAIR


@message
class Shape:
    """One shape.

    ``backlog``: asks that fit no node, settled before the clock starts. ``limits``: users and
    groups are limited on every level, by name and by wildcard, and never reach their limits.
    ``varied``: nodes and asks differ, in four types; the kinds of asks come in turn. ``mixed``: the
    same, but the kinds come at random, and each queue has a maximum. ``priorities``: the priorities
    of asks differ. ``types``: how many types of resources equal asks want and nodes have.
    ``guarantees``: queues are guaranteed something; without, 10,000 of them are not too long a
    configuration (CFG-5).
    """

    name: str
    nodes: int
    queues: int
    applications: int
    asks: int
    node_sort: str = NODE_SORT_FAIR
    application_sort: str = "fifo"
    backlog: int = 0
    limits: bool = False
    varied: bool = False
    mixed: bool = False
    priorities: bool = False
    types: int = 2
    guarantees: bool = True

    def node_share(self) -> int:
        """Return how many asks one node must hold."""
        return -(-self.asks // self.nodes)


SHAPES: Final = (
    Shape("S1", 1_000, 10, 10, 10_000),
    Shape("S2", 5_000, 10, 10, 50_000),
    Shape("S3", 1_000, 100, 10, 20_000),
    Shape("S4", 1_000, 10, 10, 20_000, node_sort=NODE_SORT_BINPACKING),
    Shape("S5", 5_000, 10, 10, 50_000, node_sort=NODE_SORT_BINPACKING),
    Shape("S6", 10_000, 100, 10, 100_000),
    Shape("S7", 1_000, 10, 100, 20_000, application_sort="fair"),
    Shape("S8", 1_000, 10, 10, 10_000, backlog=100_000),
    Shape("S9", 1_000, 10, 10, 10_000, limits=True),
    Shape("S10", 10_000, 100, 10, 100_000, varied=True, priorities=True),
)

WIDE: Final = (
    Shape("W1", 1_000, 2, 1, 10_000),
    Shape("W2", 5_000, 2, 1, 10_000),
    Shape("W3", 5_000, 5, 80, 50_000),
    Shape("W4", 5_000, 100, 5, 50_000, varied=True),
    Shape("W5", 5_000, 100, 5, 50_000, node_sort=NODE_SORT_BINPACKING, varied=True),
)

# As clusters have them: sizes in random order, nodes of four sizes, a maximum on each queue. M1 to
# M3 differ in nodes, M4 is packed, M5 to M7 have more applications, M8 and M9 more queues.
MIXED: Final = (
    Shape("M1", 1_000, 100, 10, 50_000, mixed=True),
    Shape("M2", 10_000, 100, 10, 50_000, mixed=True),
    Shape("M3", 50_000, 100, 10, 50_000, mixed=True),
    Shape("M4", 10_000, 100, 10, 50_000, node_sort=NODE_SORT_BINPACKING, mixed=True),
    Shape("M5", 5_000, 100, 10, 50_000, application_sort="fair", mixed=True),
    Shape("M6", 5_000, 100, 100, 40_000, mixed=True),
    Shape("M7", 5_000, 100, 200, 40_000, mixed=True),
    Shape("M8", 5_000, 1_000, 10, 40_000, mixed=True),
    Shape("M9", 5_000, 5_000, 2, 40_000, mixed=True, guarantees=False),
)

# Shapes that are another one with something added, and which one that is.
SHARE_OF: Final = {"S9": "S1", "S10": "S6"}


# What costs a scheduler that can place nothing, and how quick it still is; see idle.py. Its asks
# come one at a time.
IDLE: Final = Shape("idle", 10_000, 10, 10, 1_000, backlog=100_000)
