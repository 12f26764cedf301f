"""The keys of a queue: resources, a template for its children, limits of users and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from remuda.config.key_kinds import (
    BOOLEAN,
    COUNT,
    LIMIT,
    PROPERTIES,
    QUANTITIES,
    QUEUE,
    RESOURCES,
    SECTION,
    SECTIONS,
    TEMPLATE,
    TEXT,
    TEXTS,
    Key,
)

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
    "the guarantee of the queue and the maximum it may never exceed; not on root",
    ("CFG-44", "CFG-70"),
    "resources: {max: {memory: 10G}}",
    section=RESOURCES,
)

QUEUE_KEYS: Final[Mapping[str, tuple[Key, ...]]] = {
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
            "the guarantee: the queue is served first while it uses less",
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
}
