"""The shapes P1 to P10: the cost of preemption with success, without, and for many asks.

All have 5,000 nodes that are full of 100,000 allocations of some queues; the other queues are below
their guarantee and use nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias

from remuda.bench.clusters.full_cluster import FullCluster
from remuda.bench.preemption.attempts import AttemptShape
from remuda.bench.preemption.crowd import CrowdShape
from remuda.bench.preemption.repeats import RepeatShape

PreemptionShape: TypeAlias = AttemptShape | RepeatShape | CrowdShape

_FULL: Final = FullCluster()
_NOTHING_TO_GIVE: Final = replace(_FULL, due=1.0)

PREEMPTION: Final[tuple[PreemptionShape, ...]] = (
    AttemptShape("P1", _FULL, fruitful=True),
    AttemptShape("P2", replace(_FULL, spare=True), fruitful=True),
    AttemptShape("P3", replace(_FULL, leaves=100), fruitful=True),
    AttemptShape("P4", replace(_FULL, opted_out=True), fruitful=True),
    AttemptShape("P5", replace(_FULL, owed=1), fruitful=False),
    AttemptShape("P6", replace(_FULL, priority=10), fruitful=False),
    AttemptShape("P7", _NOTHING_TO_GIVE, fruitful=False),
    AttemptShape("P8", replace(_FULL, spare=True, lacking="gpu"), fruitful=False),
    RepeatShape("P9", _NOTHING_TO_GIVE),
    CrowdShape("P10", _FULL),
)
