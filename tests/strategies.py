"""Hypothesis strategies over everything resource managers can say.

Names come from small pools, so that commands meet each other: keys are sent twice, allocations
are released before they exist, nodes vanish under their work. Nothing is excluded; a command
that makes no sense has a specified answer too. But most make sense, and most go to the default
partition, or nothing would ever fill up.
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

# The second one has predicates.
MANAGERS = ("rm", "rm-choosy")
PARTITIONS = ("default", "batch")
APPLICATIONS = ("app-1", "app-2", "app-3")
KEYS = tuple(f"{app}/k-{n}" for app in APPLICATIONS for n in (1, 2))
NODES = ("node-1", "node-2", "node-3")
LEAVES = ("root.a", "root.b.x", "root.b.y", "root.dynamic")
REQUIRED_NODE = "yunikorn.apache.org/requiredNode"
QUICK = {"application.stateaware.disable": "true"}
LATEST = 2**31 - 1

manager_ids = st.sampled_from((MANAGERS[0], *MANAGERS))
homes = st.sampled_from((*[""] * 9, "default", "batch", "[rm]batch", "nowhere"))
types = st.sampled_from(("vcore", "vcore", "memory", "gpu"))
resources = st.dictionaries(types, st.integers(0, 6), min_size=1)
any_resources = st.dictionaries(types, st.sampled_from((1, 2, 3, 4, 6, 2, 1, 3, 0, -1)))
capacities = st.dictionaries(types, st.sampled_from((4, 10, 15, 20, 10, 15, 1, 0, -1)), min_size=1)
priorities = st.sampled_from((0, 0, 0, 1, -1, 100, LATEST, -LATEST - 1))
termination_types = st.sampled_from((*range(5), *[c.STOPPED_BY_RM] * 5, 99))


def class_of(key: str) -> str:
    """The predicate class of a key: asks of one class get the same answers."""
    return f"class {key[-1]}"


def owners(key: str) -> st.SearchStrategy[str]:
    """Whose ask or allocation a key is said to be: mostly that of the application it names."""
    return st.sampled_from((*[key.split("/", maxsplit=1)[0]] * 6, *APPLICATIONS, "nobody"))


@st.composite
def asks(draw: st.DrawFn) -> c.Ask:
    """One ask, now and then one that must be refused."""
    key = draw(st.sampled_from(KEYS))
    return c.Ask(
        application_id=draw(owners(key)),
        allocation_key=key,
        resource=draw(any_resources),
        partition=draw(homes),
        max_allocations=draw(st.sampled_from((1, 2, 3, 5, 2, 1, 0, -1))),
        priority=draw(priorities),
        tags=draw(st.sampled_from((*[{}] * 6, *({REQUIRED_NODE: node} for node in NODES)))),
        equivalence=draw(st.sampled_from(("", class_of(key)))),
    )


@st.composite
def existing(draw: st.DrawFn, nodes: tuple[str, ...]) -> c.ExistingAllocation:
    """One allocation an RM runs already, on one of these nodes."""
    key = draw(st.sampled_from(KEYS))
    ask = c.Ask(
        application_id=draw(owners(key)),
        allocation_key=key,
        resource=draw(resources),
        partition=draw(homes),
        tags=draw(st.sampled_from(({}, {}, {"creationTime": "1600000000"}))),
    )
    identity = draw(st.sampled_from((key, f"{key}-0", f"{key}-1", KEYS[0])))
    return c.ExistingAllocation(ask, identity, draw(st.sampled_from(nodes)))


@st.composite
def releases(draw: st.DrawFn) -> c.AllocationRelease:
    """One release: by identity, by key, or of everything."""
    key = draw(st.sampled_from(KEYS))
    return c.AllocationRelease(
        application_id=draw(owners(key)),
        allocation_id=draw(st.sampled_from((f"{key}-0", f"{key}-1", key, ""))),
        allocation_key=draw(st.sampled_from(("", key))),
        partition=draw(homes),
        termination_type=draw(termination_types),
    )


ask_releases = st.builds(
    c.AskRelease,
    application_id=st.sampled_from((*APPLICATIONS, "")),
    allocation_key=st.sampled_from(("", *KEYS)),
    partition=homes,
    termination_type=termination_types,
)
allocation_updates = st.builds(
    c.UpdateAllocations,
    rm_id=manager_ids,
    allocations=st.lists(existing(NODES), max_size=2).map(tuple),
    asks=st.lists(asks(), max_size=4).map(tuple),
    ask_releases=st.lists(ask_releases, max_size=1).map(tuple),
    releases=st.lists(releases(), max_size=2).map(tuple),
)
application_updates = st.builds(
    c.UpdateApplications,
    rm_id=manager_ids,
    new=st.lists(
        st.builds(
            c.NewApplication,
            application_id=st.sampled_from(APPLICATIONS),
            queue=st.sampled_from((*LEAVES, "root.b", "root.B.X", "")),
            partition=homes,
            user=st.sampled_from(("ann", "ann", "")),
            groups=st.just(("staff",)),
            tags=st.sampled_from(({}, QUICK)),
        ),
        max_size=3,
    ).map(tuple),
    remove=st.lists(
        st.builds(
            c.ApplicationRemoval, application_id=st.sampled_from(APPLICATIONS), partition=homes
        ),
        max_size=1,
    ).map(tuple),
)
node_updates = st.builds(
    c.UpdateNodes,
    rm_id=manager_ids,
    nodes=st.lists(
        st.builds(
            c.NodeUpdate,
            node_id=st.sampled_from(NODES),
            action=st.integers(0, 7),
            capacity=st.none() | capacities,
            occupied=st.none() | resources,
            attributes=homes.map(lambda home: {"si/node-partition": home} if home else {}),
            existing=st.lists(existing(("", "", "", "", *NODES)), max_size=3).map(tuple),
        ),
        min_size=1,
        max_size=2,
    ).map(tuple),
)
refusals = st.sets(st.tuples(st.sampled_from(KEYS).map(class_of), st.sampled_from(NODES)))


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    """Two partitions with the leaves above, some limited, and dynamic ones beside them."""
    return Configuration(tuple(draw(partitions(name)) for name in PARTITIONS))


@st.composite
def partitions(draw: st.DrawFn, name: str) -> PartitionConfig:
    """One of them; what a parent may hold is at least what a child of it may."""

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
        size = st.integers(12, 16) if below else st.integers(6, 12)
        limit = draw(st.none() | st.dictionaries(types, size, min_size=1))
        promise = None if below else draw(st.none() | st.dictionaries(types, st.integers(0, 3)))
        return QueueConfig(name, bool(below), limit, promise, properties(), below)

    tree = QueueConfig(
        "root",
        parent=True,
        properties=properties(),
        queues=(queue("a"), queue("b", queue("x"), queue("y"))),
    )
    rules = (PlacementRuleConfig("provided", create=True),)
    return PartitionConfig(name, tree, rules, draw(st.sampled_from(("fair", "binpacking"))))
