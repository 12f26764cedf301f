"""Every queue property, in one table: its values, who inherits it, what it means.

The manual's table and what an editor offers are generated from here. Any other key is legal and
kept, and an invalid value means the default (PRP-1, PRP-2), so this table refuses nothing.
"""

from __future__ import annotations

from typing import Final

from remuda.base.message import message


@message
class Property:
    """One queue property; ``used_on`` and ``inherited`` are those of the table in section 8.

    ``choices``: what an editor may offer; other texts are legal and mean the default (PRP-2).
    """

    name: str
    values: str
    default: str
    used_on: str
    inherited: str
    meaning: str
    rules: tuple[str, ...]
    example: str
    choices: tuple[str, ...] = ()
    built: bool = True


_BOTH: Final = "leaf and parent"

QUEUE_PROPERTIES: Final = (
    Property(
        "application.sort.policy",
        "`fifo`, `fair`, `stateaware` (the same as `fifo`)",
        "`fifo`",
        "leaf",
        "yes",
        "which application is served first: the oldest, or the one that uses least of its share",
        ("PRP-6", "QUE-18", "QUE-19"),
        "application.sort.policy: fair",
        choices=("fifo", "fair"),
    ),
    Property(
        "application.sort.priority",
        "`enabled`, `disabled`, in any case",
        "`enabled`",
        _BOTH,
        "yes",
        "whether priorities come before the sort policy",
        ("QUE-18",),
        "application.sort.priority: disabled",
        choices=("enabled", "disabled"),
    ),
    Property(
        "priority.policy",
        "`default`, `fence`, in any case",
        "`default`",
        _BOTH,
        "no",
        "`fence`: priorities below do not count outside this queue",
        ("PRP-5", "QUE-18"),
        "priority.policy: fence",
        choices=("default", "fence"),
    ),
    Property(
        "priority.offset",
        "a whole number of 32 bits, with or without sign",
        "0",
        _BOTH,
        "no",
        "added to the priority of all that is below",
        ("PRP-5", "QUE-18"),
        'priority.offset: "100"',
    ),
    Property(
        "preemption.policy",
        "`default`, `fence`, `disabled`, in any case",
        "`default`",
        _BOTH,
        "only `disabled`",
        "how far preemption looks for room",
        ("PRP-5", "QUE-18"),
        "preemption.policy: disabled",
        choices=("default", "fence", "disabled"),
        built=False,
    ),
    Property(
        "preemption.delay",
        "a duration above 0",
        "30s",
        "leaf",
        "yes",
        "how long an ask waits before room is taken for it",
        ("PRP-1", "QUE-18"),
        "preemption.delay: 1m30s",
        built=False,
    ),
    Property(
        "application.unschedasks.backoff",
        "a whole number",
        "0: off",
        "leaf",
        "yes",
        "asks that fit nowhere before the application has to wait",
        ("QUE-18",),
        'application.unschedasks.backoff: "5"',
        built=False,
    ),
    Property(
        "application.unschedasks.backoff.delay",
        "a duration above 0",
        "30s",
        "leaf",
        "yes",
        "how long it then waits",
        ("QUE-18",),
        "application.unschedasks.backoff.delay: 10s",
        built=False,
    ),
    Property(
        "application.gang.admission",
        "`quota`, `greedy`, in any case",
        "`quota`",
        "leaf",
        "yes",
        "whether a gang waits until the quotas have room for all of it, or takes it piece by piece",
        ("GANG-4", "QUE-18"),
        "application.gang.admission: greedy",
        choices=("quota", "greedy"),
        built=False,
    ),
    Property(
        "quota.preemption.delay",
        "a duration above 0; also written `preemption.quota.delay`",
        "0: off",
        _BOTH,
        "yes",
        "how long a queue may stay above a lowered max",
        ("QUE-18",),
        "quota.preemption.delay: 5m",
        built=False,
    ),
)
