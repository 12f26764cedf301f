"""The values of columns that are not simply a key of the HTTP API; ``kinds`` uses them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda.base.reason_text import reason_text
from remuda.cli.viewing.columns import Row

# The priority of an object without waiting asks (REST-70, REST-77).
NO_PRIORITY: Final = -2_147_483_648

READY: Final = "Ready"
NOT_READY: Final = "NotReady"
DRAINING: Final = "Draining"


def length(name: str) -> Callable[[Row], int]:
    """Return what counts the elements of a list."""
    return lambda row: len(row.get(name) or ())


def labels(name: str) -> Callable[[Row], Mapping[str, str]]:
    """Return what takes the texts by which ``--selector`` selects."""
    return lambda row: row.get(name) or {}


def node_state(row: Row) -> str:
    """Return the state of a node: whether it takes new allocations, and if not why."""
    if not row.get("schedulable", True):
        return DRAINING
    return READY if row.get("ready", True) else NOT_READY


def drained_by(row: Row) -> str:
    """Return who drains a node, empty if nobody does. An operator is named before the RM."""
    if row.get("schedulable", True):
        return ""
    return "operator" if row.get("drainedByOperator") else "manager"


def highest_use(row: Row) -> int | None:
    """Return the highest percentage in use of any resource type, None without capacity."""
    return max((row.get("utilized") or {}).values(), default=None)


def queue_priority(row: Row) -> int | None:
    """Return the priority of a queue, None while nothing waits in it."""
    return _priority(row.get("currentPriority"))


def highest_priority(row: Row) -> int | None:
    """Return the highest priority of the asks of an application, None if none waits."""
    return _priority(row.get("maxRequestPriority", 0))


def priority(row: Row) -> int:
    """Return the priority of an ask or allocation, a text in the HTTP API."""
    try:
        return int(row.get("priority") or 0)
    except ValueError:
        return 0


def ask_name(row: Row) -> str:
    """Return the name of an ask: its application, a slash and its key."""
    return f"{row.get('applicationID', '')}/{row.get('allocationKey', '')}"


def allocation_name(row: Row) -> str:
    """Return the name of an allocation: its application, a slash and its ID."""
    return f"{row.get('applicationID', '')}/{row.get('allocationID', '')}"


def reservation_name(row: Row) -> str:
    """Return the name of a reservation: its node, application and ask."""
    return f"{row.get('nodeID', '')}/{ask_name(row)}"


def partition_name(row: Row) -> str:
    """Return the name of a partition; several RMs may have one of that name."""
    return str(row.get("name", ""))


def number_name(row: Row) -> str:
    """Return the number of a preemption."""
    return str(row.get("number", ""))


def id_name(row: Row) -> str:
    """Return the number of an event record."""
    return str(row.get("id", ""))


def waits_for(row: Row) -> str:
    """Return the gate that stopped an ask when it was tried last, and the object there."""
    finding = row.get("finding") or {}
    return reason_text(str(finding.get("gate", "")), str(finding.get("subject", "")))


def ask_state(row: Row) -> str:
    """Return the gate that stopped an ask, as ``--state`` compares it."""
    return str((row.get("finding") or {}).get("gate", "untried"))


def allocation_state(row: Row) -> str:
    """Return whether an allocation is a real one, a placeholder, or being preempted."""
    if row.get("preempted"):
        return "Preempted"
    return "Placeholder" if row.get("placeholder") else "Running"


def share(row: Row) -> float | None:
    """Return a share with three digits."""
    number = row.get("share")
    return float(f"{number:.3g}") if isinstance(number, int | float) else None


def key_priority(row: Row) -> int | None:
    """Return a priority as the parent of a queue sees it, None while nothing waits in it."""
    return _priority(row.get("priority"))


def timestamp_name(row: Row) -> str:
    """Return the time of a sample, in nanoseconds."""
    return str(row.get("timestamp", ""))


def groups_of_user(row: Row) -> list[str]:
    """Return the groups that count a user's applications."""
    return sorted(set((row.get("groups") or {}).values()))


def running_below(row: Row) -> int:
    """Return the number of applications that run in the tree of a user or group."""
    found: set[str] = set()
    stack = [row.get("queues") or {}]
    while stack:
        queue = stack.pop()
        found.update(queue.get("runningApplications") or ())
        stack.extend(queue.get("children") or ())
    return len(found)


def _priority(number: object) -> int | None:
    return number if isinstance(number, int) and number != NO_PRIORITY else None
