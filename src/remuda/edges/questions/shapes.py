"""What the shapes of all answers have in common, whichever edge sends them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from remuda.core.messages.ask_views import NodeSummaryView
from remuda.insight.explanation import NodeCounts


class Shape(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Base of all shapes: camel-case keys, values equal to their default left out."""


def amounts() -> dict[str, int]:
    """Declare a resource map that is left out while it is empty."""
    return msgspec.field(default_factory=dict)


def plain(resource: Mapping[str, int] | None) -> dict[str, int]:
    """Return a resource map of the core as one of an answer; not set is empty."""
    return dict(resource) if resource else {}


class NodeSummary(Shape, kw_only=True):
    """Why how many nodes did not take an ask (REST-127). ``reasons``: text of the RM -> nodes."""

    total: int
    draining: int = 0
    reserved: int = 0
    too_small: int = 0
    no_room: int = 0
    refused: int = 0
    reasons: dict[str, int] = msgspec.field(default_factory=dict)


def node_summary(view: NodeSummaryView | NodeCounts) -> NodeSummary:
    """Return why how many nodes did not take an ask. Rules: REST-127."""
    return NodeSummary(
        total=view.total,
        draining=view.draining,
        reserved=view.reserved,
        too_small=view.too_small,
        no_room=view.no_room,
        refused=view.refused,
        reasons=dict(view.reasons),
    )
