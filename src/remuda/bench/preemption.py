"""The shapes P1 to P10: what preemption costs where it helps, where it does not, and for a crowd.

All have 5,000 nodes that are full of 100,000 allocations of queues that give; the others are owed
room and use nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeAlias

from remuda.bench.attempts import AttemptShape
from remuda.bench.crowd import CrowdShape
from remuda.bench.full_cluster import FullCluster
from remuda.bench.repeats import RepeatShape

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
