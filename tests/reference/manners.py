"""How workloads are drawn: how large things are, how often something is done."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from remuda.config.schema import Configuration
from tests.reference import configurations, fragments
from tests.reference.model import RESERVATION_DELAY, SECOND

UNUSUAL = ("root.none", "a", "", "root.dyn.x", "root.b.new", "b..", "root.c.d.e", "root.@recovery@")


@dataclass(frozen=True)
class Manner:
    """How a workload is drawn: in the large, or crowded on a few nodes full in pieces.

    ``spare``: what a node has of each type that drains all the time, so that no quota is full.
    """

    draw: Callable[[random.Random], Configuration]
    changed: Callable[[random.Random, Configuration], Configuration]
    managers: tuple[tuple[str, ...], ...]
    users: tuple[int, ...]
    queues: tuple[str, ...]
    nodes: tuple[int, int]
    sizes: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    required: float
    pauses: tuple[int, ...]
    limits: tuple[str, ...]
    weights: tuple[int, ...]
    predicates: float = 0.3
    reservation_delay: int | None = RESERVATION_DELAY
    spare: int = 0


LARGE: Final = Manner(
    configurations.draw,
    configurations.changed,
    managers=(("rm",), ("rm",), ("rm",), ("rm-b", "rm-a")),
    users=(8, 5, 3, 3, 1, 1, 1),
    queues=UNUSUAL,
    nodes=(0, 16),
    sizes=((1, 4),),
    counts=(*[1] * 12, *[2] * 6, *[5] * 4, 0, -1),
    required=0.1,
    pauses=(0, 1, 1_000_000, SECOND, 3 * SECOND),
    limits=(),
    weights=(4, 10, 2, 2, 1, 4, 1, 2, 4, 2, 1, 1),
)
CROWDED: Final = Manner(
    fragments.draw,
    fragments.changed,
    managers=(("rm",),),
    users=(8, 5, 3, 3, 0, 0, 0),
    queues=(),
    nodes=(4, 9),
    sizes=((1, 2), (1, 3), (3, 6), (4, 8)),
    counts=(1, 1, 1, 2, 3),
    required=0.12,
    pauses=(0, 1_000_000, SECOND, 2 * SECOND, 2 * SECOND + 1, 3 * SECOND, 6 * SECOND),
    limits=fragments.LIMITS,
    weights=(3, 9, 4, 3, 3, 6, 1, 2, 7, 3, 1, 1),
)

# Nothing reserves, no predicate refuses, no quota is full, and applications pause.
PATIENT: Final = replace(
    CROWDED,
    draw=fragments.draw_with_pauses,
    required=0.0,
    predicates=0.0,
    reservation_delay=None,
    spare=1_000_000,
    weights=(2, 12, 3, 2, 2, 8, 1, 2, 6, 0, 1, 1),
)
