"""Takes lanes out of their order that nothing stops, but of which an answer is still to come."""

from __future__ import annotations

from remuda.core.model.partition import Partition
from remuda.core.model.request import Lane


def set_aside(partition: Partition, lane: Lane, listed: dict[int, Lane]) -> None:
    """Set a lane aside among those that await an answer, or are postponed. Rules: EXT-14, EXT-17.

    Nothing stopped it, and nothing is said of it.
    """
    lane.parked = True
    lane.listed = listed
    listed[lane.number] = lane
    lane.ranking.drop(lane.shape.number)
    partition.unsettled[lane.leaf.path] = lane.leaf
