"""Hypothesis strategies over everything resource managers can say.

Names come from small pools, so that commands meet each other: keys are sent twice, allocations
are released before they exist, nodes vanish under their work. Nothing is excluded; a command
that makes no sense has a specified answer too. But most make sense, and most go to the default
partition, or nothing would ever fill up.
"""

from __future__ import annotations

import dataclasses
import hashlib

from hypothesis import strategies as st

from remuda.config.schema import (
    AccessList,
    Configuration,
    FilterConfig,
    LimitConfig,
    NameFilter,
    PartitionConfig,
    PlacementRuleConfig,
    QueueConfig,
    TemplateConfig,
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
FORCED = {"application.create.force": "true"}
QUOTA = {
    "namespace.resourcequota": '{"resources":{"vcore":{"value":4}}}',
    "namespace.resourcemaxapps": "1",
}
# Users with their groups; the last two are refused unless they are forced in.
USERS = {"ann": ("staff",), "bob": ("ops", "staff"), "eve": (), "no such": ("ops",), "": ()}
EVERYBODY = AccessList(everybody=True)
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
    """One allocation an RM runs already, or others do, on one of these nodes."""
    key = draw(st.sampled_from(KEYS))
    foreign = draw(st.sampled_from((*[False] * 5, True)))
    tags = draw(st.sampled_from(({}, {}, {"creationTime": "1600000000"})))
    ask = c.Ask(
        application_id="" if foreign else draw(owners(key)),
        allocation_key=key,
        resource=draw(resources),
        partition=draw(homes),
        tags={**tags, "foreign": "static"} if foreign else tags,
    )
    identity = draw(st.sampled_from((key, f"{key}-0", f"{key}-1", KEYS[0])))
    return c.ExistingAllocation(ask, identity, draw(st.sampled_from(nodes)))


@st.composite
def releases(draw: st.DrawFn) -> c.AllocationRelease:
    """One release: by identity, by key, or of everything; now and then of what others run."""
    key = draw(st.sampled_from(KEYS))
    foreign = draw(st.sampled_from((*[False] * 5, True)))
    return c.AllocationRelease(
        application_id="" if foreign else draw(owners(key)),
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


@st.composite
def new_applications(draw: st.DrawFn) -> c.NewApplication:
    """One application, now and then of a user who cannot be found."""
    user = draw(st.sampled_from((*["ann"] * 5, *["bob"] * 3, "eve", "no such", "")))
    unknown = draw(st.sampled_from((*[False] * 9, True)))
    return c.NewApplication(
        application_id=draw(st.sampled_from(APPLICATIONS)),
        queue=draw(st.sampled_from((*LEAVES, *LEAVES, "root.b", "root.B.X", "", "root.b.x.y"))),
        partition=draw(homes),
        user=user,
        groups=() if unknown else USERS[user],
        tags=draw(st.sampled_from(({}, {}, QUICK, QUICK, FORCED, QUOTA))),
        user_fault="cannot be found" if unknown else "",
    )


application_updates = st.builds(
    c.UpdateApplications,
    rm_id=manager_ids,
    new=st.lists(
        new_applications(),
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


access_lists = st.sampled_from(
    (AccessList(), AccessList(), EVERYBODY, AccessList(users=("ann",)), AccessList(groups=("ops",)))
)
properties = st.fixed_dictionaries(
    {},
    optional={
        "application.sort.policy": st.sampled_from(("fifo", "fair")),
        "application.sort.priority": st.sampled_from(("enabled", "disabled")),
        "priority.policy": st.sampled_from(("default", "fence")),
        "priority.offset": st.sampled_from(("5", "-5")),
        "quota.preemption.delay": st.sampled_from(("1s", "5m")),
    },
)
templates = st.none() | st.builds(
    TemplateConfig,
    max_applications=st.integers(0, 2),
    properties=properties,
    maximum=st.none() | st.dictionaries(types, st.integers(0, 8), min_size=1),
    guaranteed=st.none() | st.dictionaries(types, st.integers(1, 3), min_size=1),
)
application_limits = st.sampled_from((0, 0, 0, 1, 2))
by_namespace = PlacementRuleConfig("tag", create=True, value="namespace")
by_user = PlacementRuleConfig("user", create=True)
provided = PlacementRuleConfig("provided", create=True)
rule_lists = st.sampled_from(
    (
        (provided,),
        (provided,),
        (provided,),
        (PlacementRuleConfig("provided"), PlacementRuleConfig("fixed", value="a")),
        (PlacementRuleConfig("provided", parent=by_user, create=True),),
        (PlacementRuleConfig("provided", filter=FilterConfig(users=NameFilter(("bob",)))), by_user),
    )
)


@st.composite
def limits(draw: st.DrawFn) -> tuple[LimitConfig, ...]:
    """Limits of users and groups, each named once, wildcards last."""
    entries = []
    for users, groups in ((("ann",), ()), ((), ("ops",)), ((), ("*",)), (("*",), ())):
        if draw(st.sampled_from((False, False, False, True))):
            some = st.dictionaries(types, st.integers(0, 8), min_size=1)
            amounts = draw(st.none() | some.filter(lambda found: any(found.values())))
            count = draw(st.integers(1 if amounts is None else 0, 2))
            entries.append(LimitConfig(users, groups, amounts, count))
    return tuple(entries)


@st.composite
def configurations(draw: st.DrawFn, names: tuple[str, ...] = PARTITIONS) -> Configuration:
    """Partitions with the leaves above, some limited, and dynamic ones beside them."""
    found = tuple(draw(partitions(name)) for name in names)
    return configuration(found)


def configuration(found: tuple[PartitionConfig, ...]) -> Configuration:
    """A configuration whose checksum is that of its content: equal ones change nothing (CHK-5)."""
    return Configuration(found, checksum=hashlib.sha256(repr(found).encode()).hexdigest())


@st.composite
def changes(draw: st.DrawFn) -> Configuration:
    """A configuration to change to: queues may be missing or of another kind, partitions too."""
    names = draw(st.sampled_from((*[PARTITIONS] * 6, PARTITIONS[:1])))
    config = draw(configurations(names))
    first = config.partitions[0]
    left_out = draw(st.sampled_from(("", "", "a", "b", "x", "y")))
    root = without(first.root, left_out)
    if draw(st.sampled_from((False, False, True))):
        more = draw(st.sampled_from((QueueConfig("dynamic"), QueueConfig("new", parent=True))))
        root = dataclasses.replace(root, queues=(*root.queues, more))
    partitions_now = (dataclasses.replace(first, root=root), *config.partitions[1:])
    return configuration(partitions_now)


def without(config: QueueConfig, name: str) -> QueueConfig:
    """A queue without those of one name; one that loses all its children becomes a leaf."""
    kept = tuple(without(child, name) for child in config.queues if child.name != name)
    is_parent = config.parent and (bool(kept) or not config.queues)
    return dataclasses.replace(config, queues=kept, parent=is_parent or config.name == "root")


@st.composite
def partitions(draw: st.DrawFn, name: str) -> PartitionConfig:
    """One of them; what a parent may hold is at least what a child of it may."""

    def queue(name: str, *below: QueueConfig) -> QueueConfig:
        size = st.integers(12, 16) if below else st.integers(6, 12)
        return QueueConfig(
            name,
            parent=bool(below),
            maximum=draw(st.none() | st.dictionaries(types, size, min_size=1)),
            guaranteed=None
            if below
            else draw(st.none() | st.dictionaries(types, st.integers(0, 3))),
            properties=draw(properties),
            queues=below,
            max_applications=draw(application_limits),
            admin_acl=draw(access_lists),
            submit_acl=draw(access_lists),
            template=draw(templates),
            limits=draw(limits()),
        )

    tree = QueueConfig(
        "root",
        parent=True,
        properties=draw(properties),
        queues=(queue("a"), queue("b", queue("x"), queue("y"))),
        submit_acl=draw(st.sampled_from((EVERYBODY, EVERYBODY, EVERYBODY, AccessList()))),
        template=draw(templates),
        limits=draw(limits()),
    )
    policy = draw(st.sampled_from(("fair", "binpacking")))
    quotas = draw(st.booleans())
    return PartitionConfig(name, tree, draw(rule_lists), policy, quota_preemption=quotas)
