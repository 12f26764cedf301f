"""The order of ``remuda top``: what has the largest share of the cluster comes first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Final

from remuda.cli.viewing.columns import Row

# Rows that are shown at most.
MOST: Final = 1_000

_USED: Final = ("allocatedResource", "usedResource", "allocated")
_NAMES: Final = ("queuename", "applicationID", "nodeID", "userName")


def capacity_of(partition: Row) -> Mapping[str, int]:
    """Return the amounts of all nodes of a partition."""
    found = (partition.get("capacity") or {}).get("capacity")
    return found if isinstance(found, Mapping) else {}


def share(row: Row, capacity: Mapping[str, int]) -> float:
    """Return the largest share of a resource type of the cluster that a row uses.

    For a node it is the share of its own capacity.
    """
    whole = row.get("capacity") or capacity
    used = next((row[name] for name in _USED if row.get(name)), None)
    if used is None:
        used = (row.get("queues") or {}).get("resourceUsage") or {}
    return max((used[name] / whole[name] for name in used if whole.get(name, 0) > 0), default=0.0)


def ranked(
    rows: Iterable[Row], capacity: Mapping[str, int], most: int = MOST, *, turned: bool = False
) -> list[Row]:
    """Return the rows with the largest shares, the largest first and then by name.

    ``turned``: those with the smallest shares, the smallest first.
    """

    def rank(row: Row) -> tuple[float, str]:
        found = share(row, capacity)
        return found if turned else -found, next(
            (str(row[key]) for key in _NAMES if key in row), ""
        )

    return heapq.nsmallest(most, rows, key=rank)
