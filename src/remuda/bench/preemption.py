"""The shapes P1 to P9: what preemption costs where it helps, where it does not, and for a crowd.

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
    AttemptShape("P2", replace(_FULL, leaves=100), fruitful=True),
    AttemptShape("P3", replace(_FULL, owed=1), fruitful=False),
    AttemptShape("P4", replace(_FULL, priority=10), fruitful=False),
    AttemptShape("P5", _NOTHING_TO_GIVE, fruitful=False),
    AttemptShape("P6", replace(_FULL, lacking="gpu"), fruitful=False),
    AttemptShape("P7", replace(_FULL, opted_out=True), fruitful=True),
    RepeatShape("P8", _NOTHING_TO_GIVE),
    CrowdShape("P9", _FULL),
)

# Names all of them together.
GROUP: Final = "preemption"
