"""Hypothesis strategies over everything an RM can say.

Names come from small pools, so that commands meet each other: keys are sent twice, allocations
are released before they exist, nodes vanish under their work. Nothing is excluded; a command
that makes no sense has a specified answer too.
"""

from __future__ import annotations

from hypothesis import strategies as st

from remuda.config.schema import (
    Configuration,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
)
from remuda.core.messages import commands as c

RM_ID = "rm"
APPLICATIONS = ("app-1", "app-2", "app-3")
KEYS = tuple(f"{app}/k-{n}" for app in APPLICATIONS for n in (1, 2))
NODES = ("node-1", "node-2", "node-3")
LEAVES = ("root.a", "root.b.x", "root.b.y", "root.dynamic")
REQUIRED_NODE = "yunikorn.apache.org/requiredNode"

amounts = st.integers(0, 6)
types = st.sampled_from(("vcore", "memory", "gpu"))
resources = st.dictionaries(types, amounts, min_size=1)
any_resources = st.dictionaries(types, st.integers(-1, 6))
priorities = st.sampled_from((0, 0, 0, 1, -1, 100, 2**31 - 1, -(2**31)))


asks = st.builds(
    c.Ask,
    application_id=st.sampled_from(APPLICATIONS),
    allocation_key=st.sampled_from(KEYS),
    resource=any_resources,
    partition=st.sampled_from(("", "", "", "default", "nowhere")),
    max_allocations=st.sampled_from((1, 1, 2, 3, 0, -1)),
    priority=priorities,
    tags=st.sampled_from(({}, {}, {}, *({REQUIRED_NODE: node} for node in NODES))),
)
existing = st.builds(
    c.ExistingAllocation,
    ask=st.builds(
        c.Ask,
        application_id=st.sampled_from(APPLICATIONS),
        allocation_key=st.sampled_from(KEYS),
        resource=resources,
    ),
    allocation_id=st.sampled_from(KEYS + tuple(f"{key}-0" for key in KEYS)),
    node_id=st.sampled_from(NODES),
)
releases = st.builds(
    c.AllocationRelease,
    application_id=st.sampled_from(APPLICATIONS),
    allocation_id=st.sampled_from(("", *(f"{key}-{n}" for key in KEYS for n in (0, 1)), *KEYS)),
    allocation_key=st.sampled_from(("", *KEYS)),
    termination_type=st.integers(0, 4),
)
ask_releases = st.builds(
    c.AskRelease,
    application_id=st.sampled_from((*APPLICATIONS, "")),
    allocation_key=st.sampled_from(("", *KEYS)),
    termination_type=st.sampled_from((c.STOPPED_BY_RM, c.STOPPED_BY_RM, c.TIMEOUT)),
)
allocation_updates = st.builds(
    c.UpdateAllocations,
    rm_id=st.just(RM_ID),
    allocations=st.lists(existing, max_size=2).map(tuple),
    asks=st.lists(asks, max_size=4).map(tuple),
    ask_releases=st.lists(ask_releases, max_size=1).map(tuple),
    releases=st.lists(releases, max_size=2).map(tuple),
)
application_updates = st.builds(
    c.UpdateApplications,
    rm_id=st.just(RM_ID),
    new=st.lists(
        st.builds(
            c.NewApplication,
            application_id=st.sampled_from(APPLICATIONS),
            queue=st.sampled_from((*LEAVES, "root.b", "root.B.X", "")),
            user=st.sampled_from(("ann", "ann", "")),
            groups=st.just(("staff",)),
        ),
        max_size=3,
    ).map(tuple),
    remove=st.lists(
        st.builds(c.ApplicationRemoval, application_id=st.sampled_from(APPLICATIONS)), max_size=1
    ).map(tuple),
)
node_updates = st.builds(
    c.UpdateNodes,
    rm_id=st.just(RM_ID),
    nodes=st.lists(
        st.builds(
            c.NodeUpdate,
            node_id=st.sampled_from(NODES),
            action=st.integers(0, 6),
            capacity=st.none() | st.dictionaries(types, st.integers(0, 20), min_size=1),
            occupied=st.none() | resources,
            existing=st.lists(existing, max_size=2).map(tuple),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
)


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """One partition with the leaves above, some limited, and dynamic ones beside them."""

    def properties() -> dict[str, str]:
        return draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "application.sort.policy": st.sampled_from(("fifo", "fair")),
                    "application.sort.priority": st.sampled_from(("enabled", "disabled")),
                    "priority.policy": st.sampled_from(("default", "fence")),
                    "priority.offset": st.sampled_from(("5", "-5")),
                },
            )
        )

    def queue(name: str, *below: QueueConfig) -> QueueConfig:
        limit = draw(st.none() | st.dictionaries(types, st.integers(6, 12)))
        promise = None if below else draw(st.none() | st.dictionaries(types, st.integers(0, 3)))
        return QueueConfig(name, bool(below), limit if not below else None, promise, properties(),
                           below)  # fmt: skip

    tree = QueueConfig(
        "root",
        parent=True,
        properties=properties(),
        queues=(queue("a"), queue("b", queue("x"), queue("y"))),
    )
    partition = PartitionConfig(
        "default",
        tree,
        (PlacementRuleConfig("provided", create=True),),
        draw(st.sampled_from(("fair", "binpacking"))),
    )
    return Configuration((partition,))
