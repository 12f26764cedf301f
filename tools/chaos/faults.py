"""Which faults happen when, drawn from a seed."""

from __future__ import annotations

from random import Random
from typing import Final

import msgspec

# What may happen, how often in relation to the others, and for how many seconds. A kill leaves the
# killed process away for that long.
_WEIGHTS: Final = {
    "kill-scheduler": (30, 0.0, 0.3),
    "kill-manager": (30, 0.0, 0.3),
    "stop-scheduler": (4, 1.0, 20.0),
    "stop-manager": (4, 1.0, 20.0),
    "end-scheduler": (4, 0.0, 0.3),
    "cut": (5, 0.0, 0.0),
    "stall": (3, 0.2, 3.0),
    "lose": (3, 0.2, 3.0),
    "slow": (3, 0.5, 2.0),
    "delay": (3, 0.5, 2.0),
    "half_close": (3, 0.0, 0.0),
    "truncate": (3, 0.0, 0.5),
    "double": (3, 0.0, 0.5),
    "disk-full": (4, 0.5, 2.0),
    "clock": (4, 0.0, 0.0),
    "memory": (3, 0.5, 2.0),
    "descriptors": (3, 0.5, 2.0),
}
KINDS: Final = tuple(_WEIGHTS)
WIRE: Final = frozenset(
    {"cut", "stall", "lose", "slow", "delay", "half_close", "truncate", "double"}
)
KILLS: Final = ("kill-scheduler", "kill-manager")

# Seconds by which the wall clock is set ahead: an hour and a day to either side, and behind the
# end of 32-bit time.
_STEPS: Final = (0, 3_600, -3_600, 86_400, -86_400, 500_000_000)
# Faults of one round begin within this time.
_SPREAD_SECONDS: Final = 1.5


class Fault(msgspec.Struct, frozen=True):
    """One fault. ``at`` and ``lasting``: seconds. ``manager``: the victim, or whose wire."""

    kind: str
    at: float
    lasting: float
    manager: int = 0
    step: int = 0

    def __str__(self) -> str:
        """Return it in a line for people."""
        victim = f" rm-{self.manager}" if self.kind in WIRE or "manager" in self.kind else ""
        step = f" {self.step:+} s" if self.kind == "clock" else ""
        return f"{self.kind}{victim}{step} at {self.at:.2f} s for {self.lasting:.2f} s"


class Plan(msgspec.Struct, frozen=True):
    """What one world is like. ``kinds``: the faults that happen in it."""

    managers: int
    kinds: tuple[str, ...]
    bindings: tuple[str, ...]
    ways: tuple[str, ...]


def plan(seed: int, only: tuple[str, ...] = ()) -> Plan:
    """Draw a world; rare combinations get whole worlds of their own.

    ``only``: kinds to choose instead of drawing some.
    """
    random = Random(f"world {seed}")  # noqa: S311 - no secrets
    managers = random.randint(2, 4)
    kinds = only or tuple(
        kind for kind in KINDS if random.random() < (0.9 if kind in KILLS else 0.5)
    )
    return Plan(
        managers,
        kinds or KILLS,
        tuple(random.choice(("streams", "session")) for _ in range(managers)),
        tuple(random.choice(("bulk", "node")) for _ in range(managers)),
    )


def draw(world: Plan, seed: int, number: int) -> list[Fault]:
    """Draw the faults of a round, in the order in which they begin.

    No two of one kind have the same victim.
    """
    random = Random(f"round {seed} {number}")  # noqa: S311 - no secrets
    weights = [_WEIGHTS[kind][0] for kind in world.kinds]
    found: dict[tuple[str, int], Fault] = {}
    for _ in range(random.randint(1, 4)):
        kind = random.choices(world.kinds, weights)[0]
        _, least, most = _WEIGHTS[kind]
        own = kind in WIRE or kind.endswith("-manager")
        manager = random.randrange(world.managers) if own else 0
        # Most are short, for many rounds show more than long ones.
        lasting = least + (most - least) * random.random() ** 4
        step = random.choice(_STEPS)
        at = random.random() * _SPREAD_SECONDS
        found[kind, manager] = Fault(kind, round(at, 3), round(lasting, 3), manager, step)
    return sorted(found.values(), key=lambda fault: fault.at)
