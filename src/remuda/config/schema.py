"""The records of a queue configuration (rules: CFG, section 3 of chapter 10).

The records hold what the loader made of the text: names lower case, amounts in base units, defaults
filled in. A value that is not given is None where absent and zero differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from remuda.base.message import message
from remuda.base.resources import Resource
from remuda.config.checksum import checksum

# One element of a queue's path, configured or made by placement. Implements: CFG-30.
QUEUE_NAME: Final = re.compile(r"[a-zA-Z0-9_:#/@-]{1,64}")

# A user, of an application or in limits, filters and access lists (UGR-8). Implements: CFG-31.
USER_NAME: Final = re.compile(r"[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?")

# A group, in limits, filters and access lists. Implements: CFG-32.
GROUP_NAME: Final = re.compile(r"[_a-zA-Z][a-zA-Z0-9:_.-]*")

# The queue above all others, and the one that takes running applications without a queue (PLC-72).
ROOT: Final = "root"
RECOVERY_QUEUE: Final = f"{ROOT}.@recovery@"

# The partition of a file that names none (CFG-40).
DEFAULT_PARTITION: Final = "default"

# Levels of queues, root included, in a configuration and by placement (CFG-5, PLC-64).
QUEUE_DEPTH_LIMIT: Final = 48

# Which node comes first: the least used one, or the most used one that fits (CFG-90).
NODE_SORT_FAIR: Final = "fair"
NODE_SORT_BINPACKING: Final = "binpacking"
NODE_SORTS: Final = (NODE_SORT_FAIR, NODE_SORT_BINPACKING)

# How the queue of an application is found (PLC-12); ``recovery`` cannot be configured.
RULE_PROVIDED: Final = "provided"
RULE_USER: Final = "user"
RULE_FIXED: Final = "fixed"
RULE_TAG: Final = "tag"
RULES: Final = (RULE_PROVIDED, RULE_USER, RULE_FIXED, RULE_TAG)
RULE_RECOVERY: Final = "recovery"

# The resolver of groups for a user without any (UGR-20).
RESOLVER_DEFAULT: Final = ""
RESOLVER_OS: Final = "os"
RESOLVER_LDAP: Final = "ldap"
RESOLVER_TEST: Final = "test"
RESOLVERS: Final = (RESOLVER_OS, RESOLVER_LDAP, RESOLVER_TEST)

# The name for every user or group that is not named (LIM-4, LIM-5).
WILDCARD: Final = "*"


@message
class AccessList:
    """The users and groups with a right to a queue; the empty list has none.

    ``everybody`` makes the rest irrelevant. Names are case sensitive, sorted, without duplicates.
    Rules: chapter 30 section 3.
    """

    everybody: bool = False
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@message
class LimitConfig:
    """One entry of ``limits``: what each of these users, and each of these groups, may use.

    ``maximum`` None: not given, resources are not limited; a type with 0 is forbidden.
    ``max_applications`` 0: not limited. At least one of the two is given. Rules: LIM-1, LIM-2.
    """

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    maximum: Resource | None = None
    max_applications: int = 0
    description: str = ""


@message
class TemplateConfig:
    """What a dynamic leaf takes over when it is made (chapter 10 section 9).

    Never empty: a template without any effect is no template (TPL-2). ``maximum`` and
    ``guaranteed`` None: none of its values is above zero (TPL-3).
    """

    max_applications: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    maximum: Resource | None = None
    guaranteed: Resource | None = None


@message
class QueueConfig:
    """One configured queue and everything below it.

    ``name`` is lower case, one path element. ``parent``: written so, or it has queues (CFG-46).
    ``maximum`` and ``guaranteed`` are in base units; None means "not given", an explicit zero is
    a hard zero (QUE-5). ``max_applications`` 0: not limited. Root has neither amounts; its
    ``limits`` are those of the partition (CFG-47).
    """

    name: str
    parent: bool = False
    maximum: Resource | None = None
    guaranteed: Resource | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    queues: tuple[QueueConfig, ...] = ()
    max_applications: int = 0
    admin_acl: AccessList = field(default_factory=AccessList)
    submit_acl: AccessList = field(default_factory=AccessList)
    template: TemplateConfig | None = None
    limits: tuple[LimitConfig, ...] = ()


@message
class NameFilter:
    """The user or the group part of a placement filter (PLC-47, PLC-48).

    ``pattern``: an RE2 expression that is searched for anywhere in a name, "" if there is none;
    else ``names`` are compared as they are.
    """

    names: tuple[str, ...] = ()
    pattern: str = ""


@message
class FilterConfig:
    """The users and groups that a placement rule is for (chapter 20 section 6).

    ``deny``: those who match are refused, else all who do not. None: that part was not given;
    with neither part the filter decides by ``deny`` alone.
    """

    deny: bool = False
    users: NameFilter | None = None
    groups: NameFilter | None = None


@message
class PlacementRuleConfig:
    """One placement rule; ``name`` is one of RULES.

    ``value``: the queue of a fixed rule, lower case, or the tag's name of a tag rule, lower case.
    ``parent`` gives the queue above, root without one. Rules: PLC-12, PLC-13, PLC-14, PLC-15,
    chapter 20 section 3.
    """

    name: str
    create: bool = False
    value: str = ""
    parent: PlacementRuleConfig | None = None
    filter: FilterConfig | None = None


@message
class PartitionConfig:
    """One partition: its queue tree, how applications are placed and how nodes are ordered.

    ``node_sort_weights`` empty means {vcore: 1, memory: 1} (NOD-17). ``root`` is always the
    queue named root. ``preemption`` and ``quota_preemption`` are kept for PAR-3.
    ``user_group_resolver`` is one of the RESOLVER names (UGR-20).
    """

    name: str
    root: QueueConfig
    placement_rules: tuple[PlacementRuleConfig, ...] = (PlacementRuleConfig(RULE_PROVIDED),)
    node_sort_policy: str = NODE_SORT_FAIR
    node_sort_weights: Mapping[str, float] = field(default_factory=dict)
    preemption: bool = True
    quota_preemption: bool = False
    user_group_resolver: str = RESOLVER_DEFAULT


@message
class Configuration:
    """A whole, valid configuration.

    ``text``: what it was read from, ``checksum`` of it (CHK-1); both empty if it was built by hand.
    """

    partitions: tuple[PartitionConfig, ...]
    checksum: str = ""
    text: str = ""


# Turns the configuration text of a registration, which may be empty, into records; raises
# ConfigError (RM-5, RM-6).
Load: TypeAlias = Callable[[str], Configuration]

# The text of built_in.
BUILT_IN_TEXT: Final = """\
partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
    queues:
      - name: root
        submitacl: "*"
"""


def built_in() -> Configuration:
    """Return the configuration of an RM that sends none. Rules: RM-5, chapter 10 section 7."""
    everybody = AccessList(everybody=True)
    root = QueueConfig(name=ROOT, parent=True, submit_acl=everybody)
    rules = (PlacementRuleConfig(RULE_TAG, create=True, value="namespace"),)
    partition = PartitionConfig(DEFAULT_PARTITION, root, rules)
    return Configuration((partition,), checksum(BUILT_IN_TEXT), BUILT_IN_TEXT)
