"""What goes wrong beyond single messages: restarts, broken connections, changes by operators."""

from __future__ import annotations

import random
from collections.abc import Callable

from remuda.core.messages import commands as c
from remuda.core.messages import effects as e
from remuda.core.messages import queries as q
from tests.simulation.faults import configurations
from tests.simulation.faults.clock import SECOND
from tests.simulation.faults.configurations import Layout
from tests.simulation.faults.host import Host
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.workload import Workload


class Mishaps:
    """All that can be done to one RM and its core.

    ``layout``: what its configuration looks like now. ``shims``: all RMs of the core. ``stopped``:
    queues and partitions that an operator stopped.
    """

    def __init__(
        self, shim: Shim, load: Workload, dice: random.Random, layout: Layout, shims: list[Shim]
    ) -> None:
        self.shim = shim
        self.load = load
        self.host: Host = shim.host
        self.clock = shim.clock
        self.dice = dice
        self.counts = shim.counts
        self.layout = layout
        self.shims = shims
        self.stopped: list[tuple[str, str]] = []

    # ------------------------------------------------------------------- connections

    def restart_rm(self) -> None:
        """The RM dies with what it had heard and not done, and comes back."""
        shim = self.shim
        if not shim.up:
            return
        self.counts["RM restarted"] += 1
        if self.shim.phase != "done":
            self.counts["RM restarted during its replay"] += 1
        self.host.note(f"{shim.rm_id} goes down")
        shim.stop()
        self._pause()
        self.clock.after(self.dice.randrange(1, 30 * SECOND), self.come_back)

    def leave(self) -> None:
        """The RM says goodbye and comes back later (RM-19)."""
        shim = self.shim
        if not shim.up or not shim.registered or not is_known(self.host, shim.rm_id):
            return
        self.counts["RM left"] += 1
        shim.stop()
        self.host.handle(c.UnregisterResourceManager(shim.rm_id))
        self.clock.after(self.dice.randrange(1, 20 * SECOND), self.come_back)

    def come_back(self) -> None:
        """The RM is there again."""
        if not self.shim.up:
            self.shim.up = True
            self.shim.register()

    def break_link(self) -> None:
        """The connection breaks for a while: the RM is paused, nothing gets lost (RM-15)."""
        link = self.shim.link
        if not link.open or not self.shim.up or not self.shim.registered:
            return
        self.counts["connection lost"] += 1
        self.host.note(f"{self.shim.rm_id} loses its connection")
        link.cut()
        self._pause()
        life = link.life
        self.clock.after(self.dice.randrange(1, 30 * SECOND), lambda: self._mend(life))

    def _mend(self, life: int) -> None:
        if self.shim.link.life == life:
            self.mend()

    def mend(self) -> None:
        """The connection is back, in time or too late (RM states)."""
        shim = self.shim
        if shim.link.open or not shim.up:
            return
        self.host.note(f"{shim.rm_id} is connected again")
        if not is_known(self.host, shim.rm_id):
            self.counts["connection back too late"] += 1
            shim.register()
            return
        self.counts["connection back in time"] += 1
        self.host.handle(c.ResumeResourceManager(shim.rm_id))
        shim.link.mend()
        shim.flush_soon()

    def _pause(self) -> None:
        if is_known(self.host, self.shim.rm_id):
            self.host.handle(c.PauseResourceManager(self.shim.rm_id))

    def hold(self) -> None:
        """The RM takes no more for a moment; timers go on (EXT-6)."""
        rm_id = self.shim.rm_id
        if is_known(self.host, rm_id):
            self.counts["RM too slow"] += 1
            self.host.handle(c.PauseResourceManager(rm_id, timers=False))
            self.clock.after(self.dice.randrange(1, 10 * SECOND), self.unhold)

    def unhold(self) -> None:
        """It takes answers again."""
        if is_known(self.host, self.shim.rm_id):
            self.host.handle(c.ResumeResourceManager(self.shim.rm_id, timers=False))

    def register_again(self) -> None:
        """The RM, or its partner, begins anew in the middle of everything (RM-9, REC-13)."""
        if self.shim.up:
            self.counts["registered again"] += 1
            self.shim.register()

    def restart_core(self) -> None:
        """The core dies; sooner or later the RMs notice (REC-12)."""
        self.counts["core restarted"] += 1
        self.host.crash()
        for shim in self.shims:
            shim.link.crash()
            self.clock.after(self.dice.randrange(1, 8 * SECOND), self._notice(shim))

    def be_dropped(self) -> None:
        """The core dropped the RM, and goes on with the others (SI-15)."""
        self.counts["dropped after a fault of the core"] += 1
        self.shim.link.crash()
        self.clock.after(self.dice.randrange(1, 8 * SECOND), self._notice(self.shim))

    def _notice(self, shim: Shim) -> Callable[[], None]:
        life = self.host.lives

        def notice() -> None:
            there = shim.up and shim.link.open and self.host.lives == life
            if there and not is_known(self.host, shim.rm_id):
                shim.register()

        return notice

    # --------------------------------------------------------------------- operators

    def reload(self) -> None:
        """Another configuration, or one that must be refused."""
        shim = self.shim
        if not shim.registered or not is_known(self.host, shim.rm_id):
            return
        if self.dice.random() < 0.1:
            self._refused_reload()
            return
        self.layout, what = configurations.change(self.dice, self.layout)
        shim.config = configurations.configuration(self.layout)
        effects = self.host.handle(c.UpdateConfiguration(shim.rm_id, shim.config))
        assert e.ConfigurationAnswered(shim.rm_id, "") in effects
        self.counts[f"reload: {what}"] += 1
        if shim.phase != "done":
            self.counts["reload during a replay"] += 1
        self.load.homes = configurations.homes(self.layout)
        if what == "partition removed":
            self.load.drop_home()

    def _refused_reload(self) -> None:
        """A change that cannot be applied changes nothing (SI-86)."""
        rm_id = self.shim.rm_id
        config = configurations.broken(self.layout)
        (answer,) = self.host.handle(c.UpdateConfiguration(rm_id, config, dry_run=True))
        assert isinstance(answer, e.ConfigurationAnswered)
        if answer.reason:
            self.counts["reload refused"] += 1
            self.host.handle(c.UpdateConfiguration(rm_id, config))

    def stop_something(self) -> None:
        """An operator stops a queue, seldom a partition, and starts it again (OBJ-4)."""
        rm_id = self.shim.rm_id
        if not is_known(self.host, rm_id):
            return
        queue = self.dice.choice(("root.a", "root.b", "root.b.x", "root.c", ""))
        home = self.dice.choice(self.load.homes)
        command = c.ChangeObjectState(rm_id, home, queue, c.STOP)
        # It is noted before, as what waits is looked at with the command.
        self.stopped.append((home, queue))
        answers = [x for x in self.host.handle(command) if isinstance(x, e.ObjectStateAnswered)]
        if answers[0].reason:
            self.stopped.pop()
        else:
            self.counts["queue stopped" if queue else "partition stopped"] += 1
            self.clock.after(self.dice.randrange(1, 15 * SECOND), self.start_everything)

    def start_everything(self) -> None:
        """What was stopped is started, if it is still there."""
        if is_known(self.host, self.shim.rm_id):
            for home, queue in self.stopped:
                self.host.handle(c.ChangeObjectState(self.shim.rm_id, home, queue, c.START))
        self.stopped.clear()


def is_known(host: Host, rm_id: str) -> bool:
    """Whether the core has such an RM."""
    found = host.scheduler.view(q.ConfigurationsQuery())
    assert isinstance(found, tuple)
    return rm_id in [view.rm_id for view in found if isinstance(view, q.ConfigurationView)]
