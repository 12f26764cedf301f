"""The JSON shape of the changes that would place an ask (EXT-63, EXT-65)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from remuda.base.duration import SECOND
from remuda.edges.questions.answers import Answer
from remuda.edges.questions.shapes import Shape
from remuda.insight.ways_out import WayOut


class Way(Shape, kw_only=True):
    """A change with which the ask is placed. ``after``: in so many seconds."""

    kinds: list[str]
    text: str
    cost: int
    node_id: str
    after: float
    preempted: list[str] = msgspec.field(default_factory=list)
    later: list[str] = msgspec.field(default_factory=list)
    hidden: int = 0


class WaysOut(Answer, kw_only=True):
    """The changes that place an ask, cheapest first."""

    application_id: str
    allocation_key: str
    waits: bool
    within: float
    ways: list[Way]


def ways_out(
    ask: tuple[str, str],
    ways: Sequence[WayOut] | None,
    within_ns: int,
    *,
    version: int,
    wall_ns: int,
) -> WaysOut:
    """Return the ways out of an ask, by its application and key; None: it does not wait.

    Rules: EXT-63.
    """
    name = "/".join(ask)
    if ways is None:
        first = f"{name} does not wait"
    else:
        many = {0: "no change of those that were tried", 1: "1 change"}
        first = f"{many.get(len(ways), f'{len(ways)} changes')} would place {name}"
    return WaysOut(
        state_version=version,
        timestamp=wall_ns,
        text=[first, *[f"  {way}" for way in ways or ()]],
        application_id=ask[0],
        allocation_key=ask[1],
        waits=ways is not None,
        within=within_ns / SECOND,
        ways=[
            Way(
                kinds=list(way.kinds),
                text=way.text,
                cost=way.cost,
                node_id=way.node_id,
                after=way.after_seconds,
                preempted=list(way.preempted),
                later=list(way.later),
                hidden=way.hidden,
            )
            for way in ways or ()
        ],
    )
