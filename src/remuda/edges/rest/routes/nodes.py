"""The routes about single nodes and about how full they are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from remuda.core.messages.node_queries import NodeLoadsQuery, NodeLoadsView, NodeQuery
from remuda.core.messages.queries import NodeView
from remuda.edges.questions.reach import DEFAULT_PARTITION, Reach
from remuda.edges.rest.requests.asking import Asked, Views, ask_partitions, ask_rows
from remuda.edges.rest.requests.endpoint import Endpoint
from remuda.edges.rest.requests.errors import NODE_NOT_FOUND, PARTITION_NOT_FOUND, ApiError
from remuda.edges.rest.requests.paging import paged
from remuda.edges.rest.shapes import dao
from remuda.edges.rest.shapes.utilisation import dominant_utilization, partition_utilization


async def node(views: Views, asked: Asked) -> object:
    """One node. Implements: REST-32."""
    query = NodeQuery(asked.partition, asked.path["node"], asked.rm_id)
    for view in await ask_rows(views, query, NodeView):
        return dao.node(view)
    raise ApiError(404, NODE_NOT_FOUND)


async def node_utilization(views: Views, asked: Asked) -> object:
    """How full the nodes of the partition ``default`` are of what is used most.

    Implements: REST-44.
    """
    found = await _loads(views, NodeLoadsQuery(DEFAULT_PARTITION, asked.rm_id))
    if found is None:
        raise ApiError(500, PARTITION_NOT_FOUND)
    return await asyncio.to_thread(dominant_utilization, found)


async def node_utilizations(views: Views, asked: Asked) -> object:
    """How full the nodes of partitions are of each type. Implements: REST-45. Rules: EXT-32."""
    utilizations: list[object] = []
    for view in await ask_partitions(views):
        if not asked.sees(view.name):
            continue
        found = await _loads(views, NodeLoadsQuery(view.name, view.rm_id))
        if found is not None:
            dressed = asyncio.to_thread(partition_utilization, view.rm_id, view.name, found)
            utilizations.append(await dressed)
    return utilizations


async def _loads(views: Views, query: NodeLoadsQuery) -> NodeLoadsView | None:
    found = await asyncio.wrap_future(views.query(query))
    assert found is None or isinstance(found, NodeLoadsView)
    return found


NODE_ROUTES: Final[Mapping[str, Endpoint]] = {
    "/ws/v1/partition/{partition}/node/{node}": Endpoint(node, reach=Reach.PARTITION),
    "/ws/v1/scheduler/node-utilization": Endpoint(node_utilization, reach=Reach.PARTITION),
    "/ws/v1/scheduler/node-utilizations": Endpoint(
        paged(node_utilizations), reach=Reach.PARTITIONS
    ),
}
