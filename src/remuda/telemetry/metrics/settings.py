"""The options of the process for its metrics (rules: KV-6, MET-2, MET-30)."""

from __future__ import annotations

import re
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message

# Which metrics exist with the queue in their name: no one, MET-24 alone, MET-23 and MET-26 too.
NONE: Final = "none"
CONTAINERS: Final = "containers"
ALL: Final = "all"

QUEUE_NAMES: Final = (NONE, CONTAINERS, ALL)

DEFAULT_PREFIX: Final = "yunikorn"

# Users and queues that can be shown one by one.
MOST_USERS: Final = 10_000
MOST_QUEUES: Final = 1_000_000

# Queues that are shown one by one if nothing else is set. Each has up to 1 kB of text.
QUEUES: Final = 10_000

# The name under which what is beyond a bound is shown together; no user or queue can have it.
OTHERS: Final = "(others)"

_PREFIX: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


@message
class MetricsSettings:
    """``prefix``: what every name begins with, before an underscore (MET-2).

    ``queue_names``: one of QUEUE_NAMES (MET-30). ``users``: how many users are shown one by one
    with what they hold, 0: nothing about users (MET-42). ``queues``: how many queues are shown one
    by one (MET-54).
    """

    prefix: str = DEFAULT_PREFIX
    queue_names: str = CONTAINERS
    users: int = 0
    queues: int = QUEUES


def read_metrics_settings(
    prefix: str, queue_names: str, users: int, queues: int
) -> MetricsSettings:
    """Return the settings of the command line. Raises: UsageError.

    Implements: MET-2, MET-30. Rules: KV-6.
    """
    if not _PREFIX.fullmatch(prefix):
        shown = prefix if len(prefix) <= 80 else f"{prefix[:80]}..."
        raise UsageError(
            f"--metrics-prefix: {shown!r} cannot begin the name of a metric; it takes letters,"
            " digits and _, at most 64 and no digit first, for example yunikorn"
        )
    if queue_names not in QUEUE_NAMES:
        choices = ", ".join(QUEUE_NAMES)
        raise UsageError(f"--metrics-queue-names: {queue_names[:80]!r} is not one of {choices}")
    if not 0 <= users <= MOST_USERS:
        raise UsageError(f"--metrics-users: {users} is not between 0 and {MOST_USERS}")
    if not 1 <= queues <= MOST_QUEUES:
        raise UsageError(f"--metrics-queues: {queues} is not between 1 and {MOST_QUEUES}")
    return MetricsSettings(prefix, queue_names, users, queues)
