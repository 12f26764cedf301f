"""The route about the scheduler as a whole: its start time and its RMs (REST-23)."""

from __future__ import annotations

import asyncio
from typing import Final

from remuda.core.messages.health_queries import PartitionCountsQuery, PartitionCountsView
from remuda.core.messages.rows import rows
from remuda.edges.questions.reach import Reach
from remuda.edges.questions.shapes import Shape
from remuda.edges.rest.requests.asking import Asked, Views
from remuda.edges.rest.requests.endpoint import Endpoint, Routes
from remuda.edges.rest.requests.paging import paged
from remuda.runtime.roster import RmStatus, Roster

# What every cluster is called unless it is named (REST-56).
CLUSTER_NAME: Final = "kubernetes"


class Cluster(Shape, kw_only=True):
    """One partition of the cluster (REST-56)."""

    start_time: int
    rm_build_information: list[dict[str, str]]
    partition: str
    cluster_name: str


class Clusters:
    """The answer about the cluster as a whole.

    Args:
        roster: knows the RMs.
        start_ns: when the scheduler started, Unix nanoseconds.
        name: what the cluster is called.

    Rules: REST-23, REST-56.
    """

    def __init__(self, roster: Roster, start_ns: int, name: str = CLUSTER_NAME) -> None:
        self._roster = roster
        self._start_ns = start_ns
        self._name = name

    async def shown(self, views: Views) -> list[Cluster]:
        """Return one element for each partition, with the RM that it belongs to (REST-56)."""
        view = await asyncio.wrap_future(views.query(PartitionCountsQuery()))
        partitions = rows(PartitionCountsView, view)
        builds = {each.rm_id: _build(each) for each in self._roster.all()}
        return [
            Cluster(
                start_time=self._start_ns,
                rm_build_information=[builds[each.rm_id]] if each.rm_id in builds else [],
                partition=each.name,
                cluster_name=self._name,
            )
            for each in partitions
        ]

    async def answer(self, views: Views, asked: Asked) -> object:
        """One element for each partition the caller may see. Implements: REST-23. Rules: EXT-32."""
        return [each for each in await self.shown(views) if asked.sees(each.partition)]

    def routes(self) -> Routes:
        """Return the route."""
        return {"/ws/v1/clusters": Endpoint(paged(self.answer), reach=Reach.PARTITIONS)}


def _build(status: RmStatus) -> dict[str, str]:
    """Return what an RM said of itself when it registered, with its ID. Implements: REST-56."""
    told = {name: status.build_info[name] for name in sorted(status.build_info)}
    return {**told, "rmId": status.rm_id}
