"""What happens in a world as a plain text, so that a run can be kept, shortened and repeated.

A world is drawn from its seed: one step after another, each with dice of its own for everything
that is left to chance until the next one. So a step that is left out changes little of what the
others do. In the text a line is a step: seconds since the one before, the RM, what happens, the
seed of the dice, and ``fails=N`` if the core fails inside after N reports from then on.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Final, TypeAlias

from tests.simulation.faults.clock import SECOND
from tests.simulation.faults.excesses import Excesses
from tests.simulation.faults.mishaps import Mishaps
from tests.simulation.faults.profiles import Profile, stream
from tests.simulation.faults.workload import ACTIONS, CHURN, Workload

RMS: Final = ("east", "west")

# How often the core fails, per step.
FAULTS: Final = 0.01

# Of how many things that happen so many are ordinary ones, and ones that happen to nodes.
ORDINARY: Final = 30
CHURNING: Final = 6


@dataclass(frozen=True)
class Step:
    """One thing that happens, ``wait`` nanoseconds after the one before.

    ``rm``: the number of the RM. ``dice``: the seed of all chance until the next step. ``fails``:
    after how many reports the core fails, 0: not.
    """

    wait: int
    rm: int
    what: str
    dice: int
    fails: int = 0


Steps: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class Script:
    """A world: how it begins, and what happens in it."""

    seed: int
    profile: Profile
    steps: Steps

    def text(self) -> str:
        """Return it as lines, which ``read`` reads."""
        profile = json.dumps(asdict(self.profile))
        return "\n".join([f"seed {self.seed}", f"profile {profile}", *map(line_of, self.steps), ""])


def read(text: str) -> Script:
    """Return a script; empty lines and those that begin with # say nothing.

    Raises: ValueError, TypeError or KeyError if it is none.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    (name, seed), (other, profile) = lines[0].split(maxsplit=1), lines[1].split(maxsplit=1)
    if (name, other) != ("seed", "profile"):
        raise ValueError(f"no script: {lines[:2]}")
    steps = tuple([_step_of(line) for line in lines[2:]])
    return Script(int(seed), Profile(**json.loads(profile)), steps)


def line_of(step: Step) -> str:
    """Return the line of a step."""
    seconds, rest = divmod(step.wait, SECOND)
    fails = f" fails={step.fails}" if step.fails else ""
    return f"{seconds}.{rest:09} {RMS[step.rm]} {step.what} {step.dice}{fails}"


def _step_of(line: str) -> Step:
    wait, rm, what, dice, *more = line.split()
    seconds, _, rest = wait.partition(".")
    fails = int(more[0].removeprefix("fails=")) if more else 0
    if what not in ACTS:
        raise KeyError(what)
    return Step(int(seconds) * SECOND + int(rest), RMS.index(rm), what, int(dice), fails)


# ------------------------------------------------------------------------- what happens


@dataclass(frozen=True)
class Cast:
    """What steps happen to: all of one RM."""

    load: Workload
    mishaps: Mishaps
    excesses: Excesses


Act: TypeAlias = Callable[[Cast], None]


def _by_load(action: Callable[[Workload], None]) -> Act:
    return lambda cast: action(cast.load)


def _by_mishaps(action: Callable[[Mishaps], None]) -> Act:
    return lambda cast: action(cast.mishaps)


def _by_excesses(action: Callable[[Excesses], None]) -> Act:
    return lambda cast: action(cast.excesses)


ACTS: Final[dict[str, Act]] = {
    **{action.__name__: _by_load(action) for action, _ in ACTIONS},
    **{action.__name__: _by_load(action) for action in CHURN},
    "restart_rm": _by_mishaps(Mishaps.restart_rm),
    "restart_core": _by_mishaps(Mishaps.restart_core),
    "leave": _by_mishaps(Mishaps.leave),
    "register_again": _by_mishaps(Mishaps.register_again),
    "reload": _by_mishaps(Mishaps.reload),
    "stop_something": _by_mishaps(Mishaps.stop_something),
    "break_link": _by_mishaps(Mishaps.break_link),
    "hold": _by_mishaps(Mishaps.hold),
    "flood_asks": _by_excesses(Excesses.flood_asks),
    "flood_nodes": _by_excesses(Excesses.flood_nodes),
    "register_often": _by_excesses(Excesses.register_often),
    "set_clock": _by_excesses(Excesses.set_clock),
    "stand_still": _by_excesses(Excesses.stand_still),
    "be_absurd": _by_excesses(Excesses.be_absurd),
}


def _weights(profile: Profile) -> dict[str, float]:
    """How often what happens."""
    whole = sum([weight for _, weight in ACTIONS])
    found = {action.__name__: ORDINARY * weight / whole for action, weight in ACTIONS}
    for action in CHURN:
        more = CHURNING * profile.churn / len(CHURN)
        found[action.__name__] = found.get(action.__name__, 0.0) + more
    return found | {
        "restart_rm": 0.7 * profile.restarts,
        "restart_core": 0.5 * profile.restarts,
        "leave": 0.2 * profile.restarts,
        "register_again": 0.7 * profile.restarts,
        "reload": 2 * profile.reloads,
        "stop_something": 0.5 * profile.reloads,
        "break_link": profile.pauses,
        "hold": 0.5 * profile.pauses,
        "flood_asks": 0.5 * profile.floods,
        "flood_nodes": 0.5 * profile.floods,
        "register_often": 0.3 * profile.floods,
        "set_clock": profile.jumps,
        "stand_still": 0.5 * profile.jumps,
        "be_absurd": 2 * profile.absurd,
    }


def drawn(seed: int, profile: Profile) -> Steps:
    """Draw what happens in the world of a seed."""
    dice = stream(seed, "steps")
    weights = _weights(profile)
    acts = dice.choices([*weights], [*weights.values()], k=profile.actions)
    return tuple([_drawn(dice, profile, what) for what in acts])


def _drawn(dice: random.Random, profile: Profile, what: str) -> Step:
    fails = dice.randrange(1, 60) if dice.random() < FAULTS * profile.restarts else 0
    rm = dice.randrange(2 if profile.twins else 1)
    return Step(dice.randrange(2 * profile.pace), rm, what, dice.randrange(1_000_000), fails)
