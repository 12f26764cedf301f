"""What may go wrong in a run, drawn from its seed.

Five moods, by what the protocol has to make good by itself. In the first three nothing may be left
to a resynchronisation: the sides must agree in the end without one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from tests.simulation.faults.clock import SECOND

# No message is lost or comes twice; everything else goes wrong.
CALM: Final = "calm"
# Messages come twice, one copy right behind the other, as after a resend.
STUTTER: Final = "stutter"
# What either side makes good within one registration is lost: SI-69, SI-34, SI-62, REC-8.
LEAKY: Final = "leaky"
# Anything is lost. What nobody can know of is found by sending everything again.
LOSSY: Final = "lossy"
# Like lossy, and copies come a minute later, out of order, even from before a restart.
HARSH: Final = "harsh"

MOODS: Final = (CALM, STUTTER, LEAKY, LOSSY, HARSH)


@dataclass(frozen=True)
class Profile:
    """How often what happens; rates are per message, weights per action.

    ``strict``: both sides must agree in the end without resynchronisation. ``streams``: three
    kinds of messages that overtake one another (SI-104). ``preempts``: asks may preempt others, and
    queues have guarantees; ``judges``: an RM with predicates is asked about victims, too.
    ``repairable``: only those messages get
    lost whose loss is made good. ``stale``: requests from before a registration still arrive.
    """

    mood: str
    actions: int
    pace: int
    slow: int
    streams: bool
    predicates: bool
    gangs: bool
    twins: bool
    preempts: bool = True
    judges: bool = False
    lost: float = 0.0
    doubled: float = 0.0
    echoed: float = 0.0
    repairable: bool = False
    stale: bool = False
    churn: int = 1
    restarts: int = 1
    reloads: int = 1
    pauses: int = 1
    floods: int = 0
    jumps: int = 0
    absurd: int = 0

    @property
    def strict(self) -> bool:
        """Whether nothing may be left to a resynchronisation."""
        return self.mood in (CALM, STUTTER, LEAKY)


RATES: Final = {
    CALM: (0.0, 0.0, 0.0),
    STUTTER: (0.0, 0.06, 0.0),
    LEAKY: (0.05, 0.02, 0.0),
    LOSSY: (0.03, 0.02, 0.0),
    HARSH: (0.02, 0.03, 0.04),
}


def draw(seed: int, *, gangs: bool) -> Profile:
    """The profile of a seed."""
    dice = stream(seed, "profile")
    mood = MOODS[seed % len(MOODS)]
    lost, doubled, echoed = RATES[mood]
    return Profile(
        mood,
        actions=dice.choice((60, 90, 120)),
        pace=dice.choice((1, 2, 4)) * SECOND,
        slow=dice.choice((1, 3, 10)) * SECOND,
        streams=dice.random() < 0.5,
        predicates=dice.random() < 0.5,
        gangs=gangs,
        twins=dice.random() < 0.2,
        lost=lost,
        doubled=doubled,
        echoed=echoed,
        repairable=mood == LEAKY,
        stale=mood == HARSH,
        churn=dice.choice((0, 1, 1, 2)),
        restarts=dice.choice((0, 1, 1, 2)),
        reloads=dice.choice((0, 1, 1)),
        pauses=dice.choice((0, 1, 1)),
        judges=dice.random() < 0.5,
        floods=dice.choice((0, 0, 1)),
        jumps=dice.choice((0, 0, 1)),
        absurd=dice.choice((0, 1)),
    )


def stream(seed: int, name: str) -> random.Random:
    """Dice of their own for each purpose, so that one does not shift another."""
    return random.Random(f"{seed}/{name}")
