"""The limits of what resource managers can make the scheduler keep (rules: SI-14).

Messages are bounded where they arrive. These limits bound what stays after many messages. One is
counted for the process. Each other is counted for one partition, or for one application of it, and
is the same for all partitions. The values are an option of the process; a recording has them, so
that a replay refuses the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from remuda.base.errors import UsageError
from remuda.base.message import message

# What limits besides: the memory of the process (EXT-39). It is measured, so it has no value here.
MEMORY: Final = "memory"

# The values in force, by name; every limit has one.
Limits: TypeAlias = Mapping[str, int]


@message
class Limit:
    """One limit. ``bounds`` says what it counts, ``remedy`` how there is room again.

    ``name`` is the key of its setting and its label in the metrics.
    """

    name: str
    default: int
    bounds: str
    remedy: str


MANAGERS: Final = Limit(
    "resource-managers",
    1_000,
    "resource managers in the scheduler",
    "unregister some that are not needed any more",
)
APPLICATIONS: Final = Limit(
    "applications",
    200_000,
    "live applications in a partition",
    "remove applications or wait until some end",
)
NODES: Final = Limit("nodes", 100_000, "nodes in a partition", "remove nodes")
QUEUES: Final = Limit(
    "queues",
    50_000,
    "queues in a partition, configured and dynamic ones together",
    "wait until empty dynamic queues are removed, or place applications in fewer queues",
)
APPLICATION_ASKS: Final = Limit(
    "application-asks",
    1_000_000,
    "waiting asks of one application",
    "wait until some are allocated, or release some",
)
ASKS: Final = Limit(
    "asks",
    2_000_000,
    "waiting asks in a partition",
    "wait until some are allocated, or release some",
)
TAG_CHARACTERS: Final = Limit(
    "tag-characters",
    268_435_456,
    "characters in the tags of applications, asks and allocations of a partition",
    "use shorter tags, or release what is not needed any more",
)

LIMITS: Final[tuple[Limit, ...]] = (
    MANAGERS,
    APPLICATIONS,
    NODES,
    QUEUES,
    APPLICATION_ASKS,
    ASKS,
    TAG_CHARACTERS,
)

DEFAULT_LIMITS: Final[Limits] = {limit.name: limit.default for limit in LIMITS}

# The highest value of a limit: practically none.
HIGHEST: Final = 2**63 - 1

# For schedulers that serve nobody else: the simulator, and recordings from before the limits.
NO_LIMITS: Final[Limits] = {limit.name: HIGHEST for limit in LIMITS}

# Characters of a wrong text that its message shows.
_SHOWN: Final = 80


def read_limits(option: str, texts: Sequence[str]) -> Limits:
    """Return all limits, changed by texts such as ``nodes=5000``; the last one of a name counts.

    Raises: UsageError. Rules: SI-14, KV-6.
    """
    found = dict(DEFAULT_LIMITS)
    for text in texts:
        name, _, value = text.partition("=")
        shown = text[:_SHOWN]
        if name not in found:
            names = ", ".join(DEFAULT_LIMITS)
            raise UsageError(f"{option}: '{shown}' names no limit; the limits are {names}")
        if not (value.isascii() and value.isdecimal()) or not 1 <= _number(value) <= HIGHEST:
            raise UsageError(
                f"{option}: '{shown}' is not NAME=NUMBER with a number from 1 to {HIGHEST},"
                f" for example {name}={DEFAULT_LIMITS[name]}"
            )
        found[name] = int(value)
    return found


def _number(digits: str) -> int:
    """Return a number; too long texts of digits are not read, they count as 0."""
    return int(digits) if len(digits) <= len(str(HIGHEST)) else 0
