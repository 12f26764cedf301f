"""Every key of the queue file, in one table: where it stands, what it holds, what it means.

The table is complete and closed: any other key is an error (CFG-13). The loader looks up here which
keys there are, and the JSON Schema for editors and the tables of the manual are generated from it.
What a text must look like beyond its type is judged by the loader (chapter 10, section 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.base.message import message
from remuda.config.schema import NODE_SORTS, RESOLVERS, RULES

# What a value is. Texts keep what was written, so numbers and words are texts, too (CFG-17).
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
COUNT: Final = "whole number"
TEXTS: Final = "list of texts"
QUANTITIES: Final = "map: resource to quantity"
WEIGHTS: Final = "map: resource to number"
PROPERTIES: Final = "map: property to text"
SECTION: Final = "section"
SECTIONS: Final = "list of sections"

# Names of the sections, as problems name them.
DOCUMENT: Final = "document"
PARTITION: Final = "partition"
QUEUE: Final = "queue"
RESOURCES: Final = "resources"
TEMPLATE: Final = "childtemplate"
LIMIT: Final = "limit"
RULE: Final = "placement rule"
FILTER: Final = "filter"
PREEMPTION: Final = "preemption"
NODE_SORT: Final = "nodesortpolicy"
RESOLVER: Final = "usergroupresolver"


@message
class Key:
    """One key of a section.

    ``section``: of a SECTION or SECTIONS, whose keys the value has. ``default``: what it is
    without the key, in words. ``choices``: the only texts allowed; ``any_case``: in any case;
    ``others``: any other is legal, too, and means the default. ``example``: the key with a
    value, as YAML.
    """

    name: str
    kind: str
    default: str
    meaning: str
    rules: tuple[str, ...]
    example: str
    section: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    any_case: bool = False
    others: bool = False


_LIMITS: Final = Key(
    "limits",
    SECTIONS,
    "none",
    "what single users and groups may use in this queue and below it",
    ("LIM-1", "CFG-47"),
    "limits: [{users: [ann], maxapplications: 2}]",
    section=LIMIT,
)

_APPLICATIONS: Final = Key(
    "maxapplications",
    COUNT,
    "0: not limited",
    "applications that may run at the same time in this queue and below it",
    ("CFG-16", "CFG-92", "QUE-23"),
    "maxapplications: 10",
)

_PROPERTIES: Final = Key(
    "properties",
    PROPERTIES,
    "none",
    "the queue properties, see there",
    ("PRP-1", "PRP-3"),
    "properties: {application.sort.policy: fair}",
)

_RESOURCES: Final = Key(
    "resources",
    SECTION,
    "none",
    "what the queue is owed and what it may never exceed; not on root",
    ("CFG-44", "CFG-70"),
    "resources: {max: {memory: 10G}}",
    section=RESOURCES,
)

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
            "whether room may be taken back for a queue that is owed it",
            ("PAR-3",),
            "preemption: {enabled: false}",
            section=PREEMPTION,
        ),
        Key(
            "usergroupresolver",
            SECTION,
            "every user is his own group",
            "where the groups of a user are looked up who comes without any",
            ("UGR-20", "UGR-21"),
            "usergroupresolver: {type: os}",
            section=RESOLVER,
        ),
    ),
    QUEUE: (
        Key(
            "name",
            TEXT,
            "",
            "name below its parent, stored in lower case, unique in any case",
            ("CFG-30", "CFG-61", "CFG-62"),
            "name: science",
            required=True,
        ),
        Key(
            "parent",
            BOOLEAN,
            "false",
            "whether this is a parent though it has no queues; with queues it always is",
            ("CFG-46",),
            "parent: true",
        ),
        Key(
            "queues",
            SECTIONS,
            "none",
            "the queues below",
            ("CFG-46",),
            "queues: [{name: nightly}]",
            section=QUEUE,
        ),
        _RESOURCES,
        _APPLICATIONS,
        _PROPERTIES,
        Key(
            "submitacl",
            TEXT,
            "nobody",
            "who may submit applications, here and below",
            ("ACL-1", "ACL-10"),
            'submitacl: "ann,bob science"',
        ),
        Key(
            "adminacl",
            TEXT,
            "nobody",
            "who administers the queue, and so may submit, too",
            ("ACL-1", "ACL-11"),
            "adminacl: carol",
        ),
        Key(
            "childtemplate",
            SECTION,
            "that of the parent",
            "what leaf queues get that placement makes below",
            ("TPL-1", "TPL-4", "TPL-5"),
            "childtemplate: {maxapplications: 3}",
            section=TEMPLATE,
        ),
        _LIMITS,
    ),
    RESOURCES: (
        Key(
            "guaranteed",
            QUANTITIES,
            "nothing",
            "what the queue is owed: it is served first while it has less",
            ("CFG-71", "CFG-73", "QTY-1"),
            "guaranteed: {vcore: 10, memory: 40Gi}",
        ),
        Key(
            "max",
            QUANTITIES,
            "not limited",
            "what it may never exceed; types not named are not limited, 0 is a hard zero",
            ("CFG-72", "CFG-76", "QTY-1"),
            "max: {vcore: 20, memory: 80Gi}",
        ),
    ),
    TEMPLATE: (
        Key(
            "maxapplications",
            COUNT,
            "0: not limited",
            "applications that may run in such a queue",
            ("TPL-2", "TPL-4"),
            "maxapplications: 3",
        ),
        Key(
            "properties",
            PROPERTIES,
            "none",
            "properties of such a queue, over those of its parent",
            ("TPL-4", "PRP-4"),
            "properties: {application.sort.policy: fair}",
        ),
        Key(
            "resources",
            SECTION,
            "none",
            "guaranteed and max of such a queue",
            ("TPL-3", "TPL-7"),
            "resources: {max: {memory: 8G}}",
            section=RESOURCES,
        ),
    ),
    LIMIT: (
        Key("limit", TEXT, "none", "a remark", ("CFG-47",), "limit: students of this term"),
        Key(
            "users",
            TEXTS,
            "none",
            "each of these users gets the full amounts; `*`: each user not named in this queue",
            ("CFG-52", "CFG-53", "LIM-4"),
            "users: [ann, bob]",
        ),
        Key(
            "groups",
            TEXTS,
            "none",
            "each of these groups shares the amounts; `*`: all groups not named, together",
            ("CFG-53", "CFG-56", "LIM-5"),
            "groups: [science]",
        ),
        Key(
            "maxresources",
            QUANTITIES,
            "not limited",
            "what may be allocated at the same time; 0 forbids a type",
            ("CFG-57", "CFG-60", "LIM-2"),
            "maxresources: {memory: 10G}",
        ),
        Key(
            "maxapplications",
            COUNT,
            "0: not limited",
            "applications that may hold something at the same time",
            ("CFG-58", "CFG-59", "LIM-61"),
            "maxapplications: 2",
        ),
    ),
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
            "whether a queue that does not exist is made",
            ("PLC-28", "PLC-29"),
            "create: true",
        ),
        Key(
            "value",
            TEXT,
            "",
            "of `fixed` the queue, of `tag` the name of the tag; both need it",
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
            "whom the rule is for",
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
            "whether those named are let through or held back",
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
            "whether a queue above a lowered max is cut down",
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
            "how much each type counts; types not named then count nothing",
            ("CFG-91", "PAR-2"),
            "resourceweights: {vcore: 2.0, gpu: 1}",
        ),
    ),
    RESOLVER: (
        Key(
            "type",
            TEXT,
            "every user is his own group",
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
