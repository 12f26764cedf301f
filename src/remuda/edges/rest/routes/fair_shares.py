"""The routes about shares of queues and what these are owed (rules: EXT-60, EXT-61)."""

from __future__ import annotations

from functools import partial

from remuda.edges.questions.fair_shares import FairShare
from remuda.edges.questions.reach import Reach
from remuda.edges.questions.shares import share_of, shares_after
from remuda.edges.rest.requests.asking import Asked, Views, require_partition
from remuda.edges.rest.requests.endpoint import Endpoint, Routes
from remuda.edges.rest.requests.errors import check_queue_path
from remuda.edges.rest.requests.paging import paged
from remuda.edges.rest.requests.unanswered import answering
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
    found: list[FairShare] = []
    with answering():
        while True:
            last = found[-1].queue_name if found else ""
            some = await shares_after(shares, views.query, asked.partition, rm_id, last)
            if not some:
                return found
            found += some


async def _fair_share(shares: FairShares, views: Views, asked: Asked) -> object:
    """One queue, with its samples of the last hour (EXT-61)."""
    rm_id = (await require_partition(views, asked)).rm_id
    path = asked.path["queue"]
    check_queue_path(path)
    with answering():
        return await share_of(shares, views.query, asked.partition, rm_id, path)
