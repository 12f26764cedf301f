"""Every queue property: its values, its default, its inheritance and its purpose.

All code reads a property through its entry here, so a value that ``validate`` warns of counts as
not given at run time. The manual's table and what an editor offers are generated from the same
entries. Any other key is legal and kept, and no value is refused (PRP-1, PRP-2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from remuda.base.duration import parse_duration
from remuda.base.go_text import parse_int32, parse_uint64
from remuda.base.message import message

T = TypeVar("T")

# What words mean that are read, in lower case.
FIFO: Final = "fifo"
FAIR: Final = "fair"
STATEAWARE: Final = "stateaware"
ENABLED: Final = "enabled"
DISABLED: Final = "disabled"
DEFAULT: Final = "default"
FENCE: Final = "fence"
QUOTA: Final = "quota"
GREEDY: Final = "greedy"


@message
class Property(Generic[T]):
    """One queue property; ``used_on`` and ``inherited`` are those of the table in section 8.

    ``parse``: returns the value of a text, None if it has none. ``default``: the text of the
    default value. ``choices``: the texts an editor may offer; other texts are legal. ``alias``: an
    earlier name, read where the present one is missing.
    """

    name: str
    parse: Callable[[str], T | None]
    values: str
    default: str
    used_on: str
    inherited: str
    meaning: str
    rules: tuple[str, ...]
    example: str
    choices: tuple[str, ...] = ()
    alias: str = ""

    def read(self, properties: Mapping[str, str]) -> T:
        """Return the value in the merged properties of a queue.

        Implements: PRP-1, PRP-2. Rules: QUE-18.
        """
        text = properties.get(self.name)
        if text is None and self.alias:
            text = properties.get(self.alias)
        value = None if text is None else self.parse(text)
        if value is None:
            value = self.parse(self.default)
            assert value is not None, self.name
        return value


# --------------------------------------------------------------------------------------- values


def _sort_policy(text: str) -> str | None:
    """Take these words; the empty text is the default. Rules: PRP-6."""
    if text == "":
        return FIFO
    return text if text in (FIFO, FAIR, STATEAWARE) else None


def _word(*words: str) -> Callable[[str], str | None]:
    """Take these words, in any case."""
    return lambda text: text.lower() if text.lower() in words else None


def _policy(*words: str) -> Callable[[str], str | None]:
    """Take these words, in any case; the empty text is the first of them."""
    read = _word(*words)
    return lambda text: read(text or words[0])


def _delay(text: str) -> int | None:
    """Take a duration above zero, in nanoseconds."""
    return _delay_or_off(text) or None


def _delay_or_off(text: str) -> int | None:
    """Take a duration in nanoseconds, zero for off."""
    nanoseconds = parse_duration(text)
    return None if nanoseconds is None or nanoseconds < 0 else nanoseconds


# ---------------------------------------------------------------------------------- properties

_BOTH: Final = "leaf and parent"

SORT_POLICY: Final = Property(
    "application.sort.policy",
    _sort_policy,
    f"`fifo`, `fair`, `{STATEAWARE}`",
    FIFO,
    "leaf",
    "yes",
    "which application is served first: the oldest, or the one that uses least of its share; "
    "with `stateaware` the oldest, and only one application at a time starts",
    ("PRP-6", "QUE-18", "QUE-19"),
    "application.sort.policy: fair",
    choices=(FIFO, FAIR, STATEAWARE),
)

SORT_PRIORITY: Final = Property(
    "application.sort.priority",
    _word(ENABLED, DISABLED),
    "`enabled`, `disabled`, in any case",
    ENABLED,
    _BOTH,
    "yes",
    "whether priorities come before the sort policy",
    ("QUE-18",),
    "application.sort.priority: disabled",
    choices=(ENABLED, DISABLED),
)

PRIORITY_POLICY: Final = Property(
    "priority.policy",
    _policy(DEFAULT, FENCE),
    "`default`, `fence`, in any case",
    DEFAULT,
    _BOTH,
    "no",
    "`fence`: priorities below do not count outside this queue",
    ("PRP-5", "QUE-18"),
    "priority.policy: fence",
    choices=(DEFAULT, FENCE),
)

PRIORITY_OFFSET: Final = Property(
    "priority.offset",
    parse_int32,
    "a whole number of 32 bits, with or without sign",
    "0",
    _BOTH,
    "no",
    "added to the priority of everything below",
    ("PRP-5", "QUE-18"),
    'priority.offset: "100"',
)

PREEMPTION_POLICY: Final = Property(
    "preemption.policy",
    _policy(DEFAULT, FENCE, DISABLED),
    "`default`, `fence`, `disabled`, in any case",
    DEFAULT,
    _BOTH,
    "only `disabled`",
    "where preemption may look for victims",
    ("PRP-5", "QUE-18"),
    "preemption.policy: disabled",
    choices=(DEFAULT, FENCE, DISABLED),
)

PREEMPTION_DELAY: Final = Property(
    "preemption.delay",
    _delay,
    "a duration above 0",
    "30s",
    "leaf",
    "yes",
    "how long an ask waits before it may preempt",
    ("PRP-1", "QUE-18"),
    "preemption.delay: 1m30s",
)

BACKOFF: Final = Property(
    "application.unschedasks.backoff",
    parse_uint64,
    "a whole number, 0 for off",
    "0",
    "leaf",
    "yes",
    "how many asks of an application may find no node before it backs off",
    ("CYC-33", "QUE-18"),
    'application.unschedasks.backoff: "5"',
)

BACKOFF_DELAY: Final = Property(
    "application.unschedasks.backoff.delay",
    _delay,
    "a duration above 0",
    "30s",
    "leaf",
    "yes",
    "how long the back-off lasts; none of its asks is tried then",
    ("CYC-33", "QUE-18"),
    "application.unschedasks.backoff.delay: 10s",
)

GANG_ADMISSION: Final = Property(
    "application.gang.admission",
    _word(QUOTA, GREEDY),
    "`quota`, `greedy`, in any case",
    QUOTA,
    "leaf",
    "yes",
    "whether a gang waits until the quotas have room for all of it, or takes it piece by piece",
    ("GANG-4", "QUE-18"),
    "application.gang.admission: greedy",
    choices=(QUOTA, GREEDY),
)

QUOTA_PREEMPTION_DELAY: Final = Property(
    "quota.preemption.delay",
    _delay_or_off,
    "a duration, 0 for off",
    "0",
    _BOTH,
    "yes",
    "how long a queue may stay above a lowered max",
    ("PRP-1", "QUE-18", "PRE-63"),
    "quota.preemption.delay: 5m",
    alias="preemption.quota.delay",
)

# In the order of the manual. Their values have different types, so the type is `Any`.
QUEUE_PROPERTIES: Final[tuple[Property[Any], ...]] = (
    SORT_POLICY,
    SORT_PRIORITY,
    PRIORITY_POLICY,
    PRIORITY_OFFSET,
    PREEMPTION_POLICY,
    PREEMPTION_DELAY,
    BACKOFF,
    BACKOFF_DELAY,
    GANG_ADMISSION,
    QUOTA_PREEMPTION_DELAY,
)

# By each name that counts.
BY_NAME: Final[Mapping[str, Property[Any]]] = {
    name: one for one in QUEUE_PROPERTIES for name in (one.name, one.alias) if name
}
