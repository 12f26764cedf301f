"""Which keys each kind of mapping in a configuration file may have (section 3 of chapter 10).

The table is complete and closed: any other key is an error (CFG-13).
"""

from __future__ import annotations

from typing import Final

from remuda.base.message import message


@message
class Structure:
    """The keys of one kind of mapping; ``name`` is how problems call it."""

    name: str
    known: frozenset[str]


DOCUMENT: Final = Structure("document", frozenset({"partitions", "checksum"}))

PARTITION: Final = Structure(
    "partition",
    frozenset(
        {
            "name",
            "queues",
            "placementrules",
            "limits",
            "preemption",
            "nodesortpolicy",
            "usergroupresolver",
        }
    ),
)

PREEMPTION: Final = Structure("preemption", frozenset({"enabled", "quotapreemptionenabled"}))

NODE_SORT: Final = Structure("nodesortpolicy", frozenset({"type", "resourceweights"}))

RESOLVER: Final = Structure("usergroupresolver", frozenset({"type"}))

QUEUE: Final = Structure(
    "queue",
    frozenset(
        {
            "name",
            "parent",
            "queues",
            "resources",
            "maxapplications",
            "properties",
            "adminacl",
            "submitacl",
            "childtemplate",
            "limits",
        }
    ),
)

RESOURCES: Final = Structure("resources", frozenset({"guaranteed", "max"}))

TEMPLATE: Final = Structure(
    "childtemplate", frozenset({"maxapplications", "properties", "resources"})
)

LIMIT: Final = Structure(
    "limit", frozenset({"limit", "users", "groups", "maxresources", "maxapplications"})
)

RULE: Final = Structure(
    "placement rule", frozenset({"name", "create", "filter", "parent", "value"})
)

FILTER: Final = Structure("filter", frozenset({"type", "users", "groups"}))

STRUCTURES: Final = (
    DOCUMENT,
    PARTITION,
    PREEMPTION,
    NODE_SORT,
    RESOLVER,
    QUEUE,
    RESOURCES,
    TEMPLATE,
    LIMIT,
    RULE,
    FILTER,
)
