"""Every key of the queue file, in one table: its place, its type and its meaning.

The table is complete and closed: any other key is an error (CFG-13). The keys of a queue are in
``queue_keys``. The loader finds the legal keys here. The JSON Schema for editors and the tables of
the manual are generated from this table. The loader checks the rules for texts beyond their type
(chapter 10, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.key_kinds import (
    BOOLEAN,
    DOCUMENT,
    FILTER,
    LIMIT,
    NODE_SORT,
    PARTITION,
    PREEMPTION,
    QUEUE,
    RESOLVER,
    RULE,
    SECTION,
    SECTIONS,
    TEXT,
    TEXTS,
    WEIGHTS,
    Key,
)
from remuda.config.queue_keys import QUEUE_KEYS
from remuda.config.schema import NODE_SORTS, RESOLVERS, RULES

SECTION_KEYS: Final[Mapping[str, tuple[Key, ...]]] = {
    DOCUMENT: (
        Key(
            "partitions",
            SECTIONS,
            "none",
            "the partitions: sets of nodes, each with a queue tree of its own",
            ("CFG-12", "CFG-40"),
            "partitions: [{name: default, queues: [{name: root}]}]",
            section=PARTITION,
        ),
        Key(
            "checksum",
            TEXT,
            "computed",
            "ignored; cut out of the text before its checksum is taken",
            ("CHK-2",),
            "checksum: 0123ABCD",
        ),
    ),
    PARTITION: (
        Key(
            "name",
            TEXT,
            "`default`",
            "name of the partition, unique in any case",
            ("CFG-40", "PAR-1"),
            "name: gpu",
        ),
        Key(
            "queues",
            SECTIONS,
            "",
            "the queues; one named `root` is the root, else a root is put on top",
            ("CFG-41", "CFG-42"),
            "queues: [{name: root}]",
            section=QUEUE,
            required=True,
        ),
        Key(
            "placementrules",
            SECTIONS,
            "`provided` without create",
            "how the queue of an application is found; the first rule that gives one decides",
            ("PLC-10", "PLC-11"),
            "placementrules: [{name: provided}]",
            section=RULE,
        ),
        Key(
            "limits",
            SECTIONS,
            "none",
            "the same as limits on the root queue",
            ("CFG-47", "LIM-6"),
            "limits: [{users: [ann], maxapplications: 2}]",
            section=LIMIT,
        ),
        Key(
            "nodesortpolicy",
            SECTION,
            "`fair`",
            "which node is tried first",
            ("CFG-90", "PAR-2"),
            "nodesortpolicy: {type: binpacking}",
            section=NODE_SORT,
        ),
        Key(
            "preemption",
            SECTION,
            "enabled",
            "whether the scheduler takes room back for queues below their guarantee",
            ("PAR-3",),
            "preemption: {enabled: false}",
            section=PREEMPTION,
        ),
        Key(
            "usergroupresolver",
            SECTION,
            "each user is in one group, with the user's name",
            "where to look up the groups of a user if an application names none",
            ("UGR-20", "UGR-21"),
            "usergroupresolver: {type: os}",
            section=RESOLVER,
        ),
    ),
    **QUEUE_KEYS,
    RULE: (
        Key(
            "name",
            TEXT,
            "",
            "the kind of rule",
            ("CFG-80", "PLC-12"),
            "name: provided",
            required=True,
            choices=RULES,
            any_case=True,
        ),
        Key(
            "create",
            BOOLEAN,
            "false",
            "whether the rule creates a queue that does not exist",
            ("PLC-28", "PLC-29"),
            "create: true",
        ),
        Key(
            "value",
            TEXT,
            "",
            "the queue for `fixed`, the name of the tag for `tag`; both need it",
            ("PLC-14", "PLC-32", "PLC-34"),
            "value: namespace",
        ),
        Key(
            "parent",
            SECTION,
            "root",
            "the rule that gives the queue above",
            ("PLC-23", "PLC-26"),
            "parent: {name: user}",
            section=RULE,
        ),
        Key(
            "filter",
            SECTION,
            "everybody",
            "the users and groups that the rule applies to",
            ("PLC-21", "PLC-45"),
            "filter: {type: deny, users: [guest]}",
            section=FILTER,
        ),
    ),
    FILTER: (
        Key(
            "type",
            TEXT,
            "`allow`",
            "whether the rule applies to the named users and groups, or to all others",
            ("CFG-82", "PLC-44"),
            "type: deny",
            choices=("allow", "deny"),
            any_case=True,
        ),
        Key(
            "users",
            TEXTS,
            "none",
            "names, or one regular expression that is searched for in a name",
            ("CFG-83", "PLC-47", "PLC-48"),
            'users: ["^svc-"]',
        ),
        Key(
            "groups",
            TEXTS,
            "none",
            "the same for groups; one hit is enough",
            ("CFG-83", "PLC-46"),
            "groups: [science, arts]",
        ),
    ),
    PREEMPTION: (
        Key(
            "enabled",
            BOOLEAN,
            "true",
            "whether there is preemption between queues",
            ("PAR-3",),
            "enabled: false",
        ),
        Key(
            "quotapreemptionenabled",
            BOOLEAN,
            "false",
            "whether allocations of a queue above a lowered max are ended",
            ("PAR-3", "PRE-63"),
            "quotapreemptionenabled: true",
        ),
    ),
    NODE_SORT: (
        Key(
            "type",
            TEXT,
            "`fair`",
            "`fair`: the least used node first, `binpacking`: the most used one",
            ("CFG-90", "PAR-2"),
            "type: binpacking",
            choices=NODE_SORTS,
        ),
        Key(
            "resourceweights",
            WEIGHTS,
            "`{vcore: 1, memory: 1}`",
            "how much each type counts; types that are not named do not count then",
            ("CFG-91", "PAR-2"),
            "resourceweights: {vcore: 2.0, gpu: 1}",
        ),
    ),
    RESOLVER: (
        Key(
            "type",
            TEXT,
            "each user is in one group, with the user's name",
            "`os`: accounts of the machine, `ldap`: a directory, `test`: fixed users",
            ("UGR-20", "UGR-23", "UGR-24", "UGR-25"),
            "type: os",
            choices=RESOLVERS,
            others=True,
        ),
    ),
}

# The same, by the names of section and key.
KEYS: Final[Mapping[str, Mapping[str, Key]]] = {
    section: {key.name: key for key in found} for section, found in SECTION_KEYS.items()
}
