"""The shares of queues, with what each is owed and since when, for both edges (EXT-60, EXT-61)."""

from __future__ import annotations

from remuda.core.messages.rows import rows
from remuda.core.messages.share_queries import FairSharesQuery, FairShareView
from remuda.edges.questions import fair_shares as shapes
from remuda.edges.questions.asking import Ask, viewed
from remuda.edges.questions.refusals import QUEUE_NOT_FOUND, Cause, UnansweredError
from remuda.telemetry.fair_shares import FairShares


async def shares_after(
    shares: FairShares, ask: Ask, partition: str, rm_id: str, path: str
) -> list[shapes.FairShare]:
    """Return the next queues of a partition by path, after one; none is left if it is empty.

    Raises: UnansweredError. Rules: EXT-60.
    """
    since = shares.below_since(rm_id, partition)
    found = await viewed(ask, FairSharesQuery(partition, path, rm_id=rm_id))
    return [shapes.fair_share(each, since.get(each.path, 0)) for each in rows(FairShareView, found)]


async def share_of(
    shares: FairShares, ask: Ask, partition: str, rm_id: str, queue: str
) -> shapes.FairShareHistory:
    """Return one queue with its samples of the last hour.

    Raises: UnansweredError. Rules: EXT-61.
    """
    query = FairSharesQuery(partition, queue=queue.lower(), rm_id=rm_id)
    for view in rows(FairShareView, await viewed(ask, query)):
        since = shares.below_since(rm_id, partition).get(view.path, 0)
        samples = shares.samples(rm_id, partition, view.path)
        return shapes.with_samples(shapes.fair_share(view, since), samples)
    raise UnansweredError(Cause.NOT_FOUND, QUEUE_NOT_FOUND)
