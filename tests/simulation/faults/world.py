"""A core, one or two RMs, their links and everything that goes wrong; one run from one seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages.effects import Effect
from tests.port import one_by_one
from tests.simulation.faults import configurations
from tests.simulation.faults.clock import MINUTE, Clock
from tests.simulation.faults.excesses import Excesses
from tests.simulation.faults.host import CHECKED, Host
from tests.simulation.faults.link import Link
from tests.simulation.faults.mishaps import Mishaps, is_known
from tests.simulation.faults.profiles import Profile, draw, milder, stream
from tests.simulation.faults.reactions import hear
from tests.simulation.faults.shim import TICK, Shim
from tests.simulation.faults.taste import picky, picky_about_victims
from tests.simulation.faults.verdict import agree, nothing_left
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

# How often the core fails, per action.
FAULTS: Final = 0.01


class World:
    """Everything of one run."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self.seed = seed
        self.profile = profile
        self.counts: Counter[str] = Counter()
        self.clock = Clock()
        self.dice = stream(seed, "world")
        self.fault_dice = stream(seed, "faults of the core")
        self.host = Host(
            self.clock,
            stream(seed, "host"),
            self.counts,
            one_by_one(picky),
            picky_about_victims,
            judge=picky,
        )
        self.host.on_fault = self._failed
        self.shims: list[Shim] = []
        self.loads: list[Workload] = []
        self.mishaps: list[Mishaps] = []
        self.excesses: list[Excesses] = []
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
        load = Workload(
            shim, stream(self.seed, f"{rm_id}/work"), stream(self.seed, f"{rm_id}/who"), profile
        )
        load.homes = configurations.homes(layout)
        for _ in range(3):
            load.add_node()
        for _ in range(2):
            load.new_app()
        shim.register()
        self.shims.append(shim)
        self.loads.append(load)
        self.mishaps.append(Mishaps(shim, load, self.dice, layout, self.shims))
        self.excesses.append(Excesses(shim, load, self.dice))
        self.clock.after(TICK, lambda: self._tick(shim))

    def _failed(self, rm_id: str) -> None:
        """The core dropped an RM after a fault of its own; sooner or later the RM notices."""
        for mishaps in self.mishaps:
            if mishaps.shim.rm_id == rm_id:
                mishaps.be_dropped()

    def _deliver(self, command: c.Command) -> None:
        self.host.handle(command)

    def _tick(self, shim: Shim) -> None:
        shim.tick()
        self.clock.after(TICK, lambda: self._tick(shim))

    def run(self) -> Counter[str]:
        """Faults and work, then rest, then the verdict; raises AssertionError."""
        try:
            for _ in range(self.profile.actions):
                self.clock.run(self.clock.now + self.dice.randrange(2 * self.profile.pace))
                self._act()
                if self.fault_dice.random() < FAULTS * self.profile.restarts:
                    self.host.fail_after(self.fault_dice.randrange(1, 60))
            self.host.left = 0
            self._settle()
            agree(self.host, self.shims)
            self.host.note("everything ends")
            for load in self.loads:
                load.end_everything()
            self.clock.run(self.clock.now + REST)
            self.host.check()
            nothing_left(self.host, self.shims)
        except Exception as fault:
            what = f"{type(fault).__name__}: {fault}"
            text = f"World({self.seed}, {self.profile}).run(): {what}"
            raise AssertionError(f"{text}\n{self.host.told()}") from fault
        return self.counts

    def _act(self) -> None:
        profile = self.profile
        number = self.dice.randrange(len(self.shims))
        load, mishaps, excesses = self.loads[number], self.mishaps[number], self.excesses[number]
        choices: tuple[tuple[Callable[[], None], float], ...] = (
            (load.act, 30),
            (load.churn, 6 * profile.churn),
            (mishaps.restart_rm, 0.7 * profile.restarts),
            (mishaps.restart_core, 0.5 * profile.restarts),
            (mishaps.leave, 0.2 * profile.restarts),
            (mishaps.register_again, 0.7 * profile.restarts),
            (mishaps.reload, 2 * profile.reloads),
            (mishaps.stop_something, 0.5 * profile.reloads),
            (mishaps.break_link, profile.pauses),
            (mishaps.hold, 0.5 * profile.pauses),
            (excesses.flood_asks, 0.5 * profile.floods),
            (excesses.flood_nodes, 0.5 * profile.floods),
            (excesses.register_often, 0.3 * profile.floods),
            (excesses.set_clock, profile.jumps),
            (excesses.stand_still, 0.5 * profile.jumps),
            (excesses.be_absurd, 2 * profile.absurd),
        )
        weights = [weight for _, weight in choices]
        (what,) = self.dice.choices([what for what, _ in choices], weights)
        what()

    def _settle(self) -> None:
        """No fault any more: everything arrives, everybody is back, every timer runs out."""
        self.host.note("no fault from here on")
        for mishaps in self.mishaps:
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


def run(seed: int, *, gangs: bool, checked: int = CHECKED) -> Counter[str]:
    """The run of a seed; what was seen in it. Raises AssertionError with a history.

    ``checked``: after how many inputs everything is checked from scratch. What failed is tried
    again with less that goes wrong, and the mildest run that fails is told.
    """
    profile = draw(seed, gangs=gangs)
    try:
        world = World(seed, profile)
        world.host.checked = checked
        return world.run()
    except AssertionError as fault:
        raise mildest(seed, profile, fault) from None


def mildest(seed: int, profile: Profile, fault: AssertionError) -> AssertionError:
    """The failure of the mildest run of a seed that still fails."""
    for candidate in milder(profile):
        try:
            World(seed, candidate).run()
        except AssertionError as milder_fault:
            return mildest(seed, candidate, milder_fault)
    return fault


def carrier(shim: Shim) -> Callable[[Effect, bool], None]:
    """What takes the answers for an RM to its link."""

    def carry(effect: Effect, known: bool) -> None:
        if not isinstance(effect, NOT_SENT):
            shim.link.answer(effect, known=known)

    return carry
