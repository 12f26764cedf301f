"""The routes about shares of queues and what these are owed (rules: EXT-60, EXT-61)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from remuda.core.messages.share_queries import FairSharesQuery, FairShareView
from remuda.edges.rest.requests.asking import Asked, Views, ask_rows, require_partition
from remuda.edges.rest.requests.endpoint import Endpoint, Routes
from remuda.edges.rest.requests.errors import QUEUE_NOT_FOUND, ApiError, check_queue_path
from remuda.edges.rest.requests.paging import paged
from remuda.edges.rest.requests.reach import Reach
from remuda.edges.rest.shapes import fair_shares as shapes
from remuda.telemetry.fair_shares import FairShares


def fair_share_routes(shares: FairShares) -> Routes:
    """Return the routes over the shares of queues and their samples.

    Rules: EXT-60, EXT-61.
    """
    return {
        "/ws/v1/partition/{partition}/fairshare": Endpoint(
            paged(partial(_fair_shares, shares)), reach=Reach.PARTITION
        ),
        "/ws/v1/partition/{partition}/queue/{queue}/fairshare": Endpoint(
            partial(_fair_share, shares), reach=Reach.QUEUE
        ),
    }


async def _fair_shares(shares: FairShares, views: Views, asked: Asked) -> object:
    """All queues of a partition by path, with what each is owed (EXT-60)."""
    rm_id = (await require_partition(views, asked)).rm_id
    since = shares.below_since(rm_id, asked.partition)
    found: list[shapes.FairShare] = []
    while some := await _after(views, asked, found[-1].queue_name if found else ""):
        found += [shapes.fair_share(each, since.get(each.path, 0)) for each in some]
    return found


async def _fair_share(shares: FairShares, views: Views, asked: Asked) -> object:
    """One queue, with its samples of the last hour (EXT-61)."""
    rm_id = (await require_partition(views, asked)).rm_id
    path = asked.path["queue"]
    check_queue_path(path)
    query = FairSharesQuery(asked.partition, queue=path.lower(), rm_id=asked.rm_id)
    for view in await ask_rows(views, query, FairShareView):
        since = shares.below_since(rm_id, asked.partition).get(view.path, 0)
        samples = shares.samples(rm_id, asked.partition, view.path)
        return shapes.with_samples(shapes.fair_share(view, since), samples)
    raise ApiError(404, QUEUE_NOT_FOUND)


async def _after(views: Views, asked: Asked, path: str) -> Sequence[FairShareView]:
    return await ask_rows(
        views, FairSharesQuery(asked.partition, path, rm_id=asked.rm_id), FairShareView
    )
