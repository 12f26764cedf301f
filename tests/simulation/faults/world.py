"""A core, one or two RMs, their links and everything that goes wrong; one run from one seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from tests.port import one_by_one
from tests.simulation.faults import configurations
from tests.simulation.faults.clock import MINUTE, Clock
from tests.simulation.faults.excesses import Excesses
from tests.simulation.faults.host import CHECKED, Host
from tests.simulation.faults.leftovers import check_leftovers
from tests.simulation.faults.link import Link
from tests.simulation.faults.mishaps import Mishaps, is_known
from tests.simulation.faults.profiles import Profile, draw, stream
from tests.simulation.faults.reactions import hear
from tests.simulation.faults.room import check_no_room
from tests.simulation.faults.script import ACTS, Cast, Script, Steps, drawn
from tests.simulation.faults.shim import TICK, Shim
from tests.simulation.faults.shrink import BUDGET, Finding, place_of, shrink
from tests.simulation.faults.taste import picky, picky_about_victims
from tests.simulation.faults.verdict import agree, homes_of, nothing_left
from tests.simulation.faults.workload import Workload

# How long after the last fault everything has come to rest: longer than any timer that matters
# (Starting 5 min, rm.confirmTimeout below), twice over.
REST: Final = 15 * MINUTE

# What is an answer to a call and goes over no link, or is for nobody on the other side.
NOT_SENT: Final = (
    e.RegistrationAnswered,
    e.ConfigurationAnswered,
    e.ObjectStateAnswered,
    e.ResourceManagerStopped,
    e.ResourceManagerFailed,
)

# In one of so many worlds it is counted in the end what the core keeps.
COUNTED: Final = 4

# Events for so many steps at least; more means that the simulation does not come to rest.
STEPS: Final = 500


class World:
    """Everything of one run. ``done``: how many steps it took so far."""

    def __init__(self, seed: int, profile: Profile, steps: Steps | None = None) -> None:
        self.seed = seed
        self.profile = profile
        self.steps = drawn(seed, profile) if steps is None else steps
        self.done = 0
        self.counts: Counter[str] = Counter()
        self.clock = Clock()
        self.dice = stream(seed, "world")
        self.clock.limit *= 1 + len(self.steps) // STEPS
        self.all_dice = [self.dice, stream(seed, "host")]
        self.host = Host(
            self.clock,
            self.all_dice[-1],
            self.counts,
            one_by_one(picky),
            picky_about_victims,
            judge=picky,
        )
        self.host.on_fault = self._failed
        self.host.on_idle = self._look_for_room
        self.shims: list[Shim] = []
        self.casts: list[Cast] = []
        for rm_id in ("east", "west") if profile.twins else ("east",):
            self._join(rm_id)

    def _join(self, rm_id: str) -> None:
        """One more RM, with some machines and work to begin with."""
        profile = self.profile
        layout = configurations.first(self.dice, due=profile.preempts)
        dice = stream(self.seed, rm_id)
        shim = Shim(rm_id, self.host, dice)
        shim.config = configurations.configuration(layout)
        shim.extra = {
            "rm.confirmTimeout": dice.choice(("20s", "40s", "60s")),
            "rm.pauseTimeout": dice.choice(("10s", "60s", "-1s")),
            "application.enforceExecutionTimeout": dice.choice(("true", "false")),
        }
        shim.predicates = profile.predicates
        shim.judges = profile.predicates and profile.judges
        shim.insists = profile.lost > 0
        shim.forgiving = profile.stale
        link_dice = stream(self.seed, f"{rm_id}/link")
        shim.link = Link(self.clock, link_dice, profile, self.counts)
        shim.link.to_core = self._deliver
        shim.link.to_rm = lambda effect: hear(shim, effect)
        self.host.carriers[rm_id] = carrier(shim)
        work_dice = stream(self.seed, f"{rm_id}/work")
        quarrels = stream(self.seed, f"{rm_id}/who")
        self.all_dice += [dice, link_dice, work_dice, quarrels]
        load = Workload(shim, work_dice, quarrels, profile)
        load.homes = configurations.homes(layout)
        for _ in range(3):
            load.add_node()
        for _ in range(2):
            load.new_app()
        shim.register()
        self.shims.append(shim)
        mishaps = Mishaps(shim, load, self.dice, layout, self.shims)
        self.casts.append(Cast(load, mishaps, Excesses(shim, load, self.dice)))
        self.clock.after(TICK, lambda: self._tick(shim))

    def _failed(self, rm_id: str) -> None:
        """The core dropped an RM after a fault of its own; sooner or later the RM notices."""
        for cast in self.casts:
            if cast.mishaps.shim.rm_id == rm_id:
                cast.mishaps.be_dropped()

    def _look_for_room(self) -> None:
        """Raise if the core has nothing to do, although there is room for something that waits."""
        scheduler, witness = self.host.scheduler, self.host.witness
        for shim, cast in zip(self.shims, self.casts, strict=True):
            if shim.rm_id in witness.paused | witness.slow or cast.mishaps.stopped:
                continue
            for home in homes_of(scheduler, shim.rm_id):
                check_no_room(scheduler, shim, home)

    def _deliver(self, command: c.Command) -> None:
        self.host.handle(command)

    def _tick(self, shim: Shim) -> None:
        shim.tick()
        self.clock.after(TICK, lambda: self._tick(shim))

    def run(self) -> Counter[str]:
        """Faults and work, then rest, then the verdict; raises AssertionError."""
        try:
            for step in self.steps:
                self.done += 1
                self.clock.run(self.clock.now + step.wait)
                self._throw_dice(step.dice)
                ACTS[step.what](self.casts[step.rm % len(self.casts)])
                if step.fails:
                    self.host.fail_after(step.fails)
            self.host.left = 0
            self._throw_dice(self.seed)
            self._settle()
            agree(self.host, self.shims)
            self.host.note("everything ends")
            for cast in self.casts:
                cast.load.end_everything()
            self.clock.run(self.clock.now + REST)
            self.host.check()
            nothing_left(self.host, self.shims)
            if self.seed % COUNTED == 0:
                check_leftovers(self.host, self.shims)
        except Exception as fault:
            what = f"{type(fault).__name__}: {fault}"
            text = f"seed {self.seed}, {self.profile}, step {self.done}: {what}"
            raise AssertionError(f"{text}\n{self.host.told()}") from fault
        return self.counts

    def _throw_dice(self, seed: int) -> None:
        """Let all chance from here on depend on a number alone, and not on what was before."""
        for number, dice in enumerate(self.all_dice):
            dice.seed(seed + number)

    def _settle(self) -> None:
        """No fault any more: everything arrives, everybody is back, every timer runs out."""
        self.host.note("no fault from here on")
        for cast in self.casts:
            mishaps = cast.mishaps
            mishaps.shim.link.calm = True
            mishaps.come_back()
            mishaps.mend()
            mishaps.unhold()
            mishaps.start_everything()
        self.clock.run(self.clock.now + 2 * MINUTE)
        for shim in self.shims:
            if shim.link.gaps or not is_known(self.host, shim.rm_id):
                self.counts["registered in the end"] += 1
                shim.register()
        if not self.profile.strict:
            self.clock.run(self.clock.now + MINUTE)
            for shim in self.shims:
                shim.refresh()
        self.clock.run(self.clock.now + REST)
        self.host.check()


class WorldError(AssertionError):
    """A world fails. ``script``: the shortest script that was found of what fails there."""

    def __init__(self, text: str, script: str) -> None:
        super().__init__(text)
        self.script = script


def run(seed: int, *, gangs: bool, checked: int = CHECKED, budget: float = BUDGET) -> Counter[str]:
    """The run of a seed; what was seen in it.

    ``checked``: after how many inputs everything is checked from scratch. ``budget``: how many
    seconds of processor time may be spent to shorten what fails. Raises: WorldError with a short
    script and its history.
    """
    script = Script(seed, draw(seed, gangs=gangs), ())
    script = replace(script, steps=drawn(seed, script.profile))
    found = attempt(script, checked=checked)
    if isinstance(found, Counter):
        return found
    short, finding = shrink(script, failing, budget) if failing(script) else (script, found)
    raise WorldError(finding.text, f"# {finding.place}\n{short.text()}")


def attempt(script: Script, *, checked: int = 0) -> Counter[str] | Finding:
    """What was seen in the world of a script, or how it failed."""
    world = World(script.seed, script.profile, script.steps)
    world.host.checked = checked
    try:
        return world.run()
    except AssertionError as fault:
        return Finding(place_of(fault.__cause__ or fault), str(fault), world.done)


def failing(script: Script) -> Finding | None:
    """How the world of a script fails if everything is checked after every input, None: not."""
    found = attempt(script)
    return found if isinstance(found, Finding) else None


def carrier(shim: Shim) -> Callable[[Effect, bool], None]:
    """What takes the answers for an RM to its link."""

    def carry(effect: Effect, known: bool) -> None:
        if not isinstance(effect, NOT_SENT):
            shim.link.answer(effect, known=known)

    return carry
