"""The JSON shapes of shares and of what queues are owed (EXT-60, EXT-61)."""

from __future__ import annotations

from collections.abc import Iterable

from remuda.core.messages.share_queries import FairShareView
from remuda.edges.questions.shapes import Shape, amounts, plain
from remuda.telemetry.fair_shares import ShareSample


class ShareTerm(Shape, kw_only=True):
    """One type in a share: usage, what it is divided by, and the ratio."""

    resource: str
    used: int
    divisor: int
    ratio: float


class FairShare(Shape, kw_only=True):
    """One queue. ``belowSince``: since when it is owed something, absent: it is not."""

    queue_name: str
    is_leaf: bool
    allocated: dict[str, int] = amounts()
    pending: dict[str, int] = amounts()
    guaranteed: dict[str, int] = amounts()
    maximum: dict[str, int] = amounts()
    share: float
    terms: list[ShareTerm]
    priority: int
    owed: dict[str, int] = amounts()
    below_since: int = 0


class SharePoint(Shape, kw_only=True):
    """The share at one moment, and the largest part of a guarantee that was owed."""

    timestamp: int
    share: float
    owed: float


class FairShareHistory(Shape, kw_only=True):
    """One queue now, and its samples, oldest first."""

    queue: FairShare
    samples: list[SharePoint]


def fair_share(view: FairShareView, below_ns: int) -> FairShare:
    """Return the shape of a queue; ``below_ns``: since when it is owed. Rules: EXT-60."""
    return FairShare(
        queue_name=view.path,
        is_leaf=view.leaf,
        allocated=plain(view.allocated),
        pending=plain(view.pending),
        guaranteed=plain(view.guaranteed),
        maximum=plain(view.maximum),
        share=view.share,
        terms=[
            ShareTerm(
                resource=each.resource, used=each.used, divisor=each.divisor, ratio=each.ratio
            )
            for each in view.terms
        ],
        priority=view.priority,
        owed=plain(view.owed),
        below_since=below_ns,
    )


def with_samples(queue: FairShare, samples: Iterable[ShareSample]) -> FairShareHistory:
    """Return the shape of one queue with its samples. Rules: EXT-61."""
    return FairShareHistory(
        queue=queue,
        samples=[
            SharePoint(timestamp=each.taken_ns, share=each.share, owed=each.owed)
            for each in samples
        ],
    )
