"""What comes in masses, makes no sense, or concerns time: floods, absurd requests, set clocks."""

from __future__ import annotations

import random
from typing import Final

from remuda.core.messages import commands as c
from remuda.core.messages.commands import Command
from tests.simulation.faults.clock import MINUTE, SECOND, START
from tests.simulation.faults.shim import Shim
from tests.simulation.faults.truth import Node, Task
from tests.simulation.faults.workload import SIZES, Workload

HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

# Where somebody may set the wall clock: beyond 31 bits of seconds, and 63 bits of nanoseconds.
YEAR_2038: Final = 2**31 * SECOND + SECOND - START
YEAR_2262: Final = 2**63 - START
SETTINGS: Final = (-DAY, -HOUR, 0, HOUR, DAY, YEAR_2038, YEAR_2262)

# How many asks and nodes come at once; more asks than the core keeps (SI-14).
ASKS: Final = 40
MACHINES: Final = 20

# How many times an RM registers at once.
REGISTRATIONS: Final = 10

NOBODY: Final = "nobody"
MOST: Final = 2**63 - 1


class Excesses:
    """All of that, for one RM and its core."""

    def __init__(self, shim: Shim, load: Workload, dice: random.Random) -> None:
        self.shim = shim
        self.load = load
        self.host = shim.host
        self.clock = shim.clock
        self.counts = shim.counts
        self.dice = dice

    def set_clock(self) -> None:
        """Somebody sets the wall clock; no timer may notice (CYC-34)."""
        self.counts["wall clock set"] += 1
        self.host.set_wall_clock(self.dice.choice(SETTINGS))

    def stand_still(self) -> None:
        """The machine is stopped for a while; then all comes at once that came meanwhile."""
        self.counts["machine stood still"] += 1
        self.host.note("the machine stands still")
        self.clock.stand_still(self.dice.choice((SECOND, 10 * SECOND, MINUTE, 10 * MINUTE)))

    def flood_asks(self) -> None:
        """An application asks for more than the core keeps, and thinks better of it (SI-14)."""
        live = self.load.truth.live()
        if not live:
            return
        self.counts["flood of asks"] += 1
        app = self.dice.choice(live)
        tasks = [self.load.add_task(app, SIZES[-1]) for _ in range(ASKS)]
        for task in tasks:
            self.shim.send_ask(task)
        self.clock.after(self.dice.randrange(1, 5 * SECOND), lambda: self._drop(tasks))

    def _drop(self, tasks: list[Task]) -> None:
        for task in tasks:
            if task.waiting():
                task.gone = True
                if (task.app.name, task.key) in self.shim.asked:
                    self.shim.release_ask(task)

    def flood_nodes(self) -> None:
        """Many nodes come, and go a moment later (I16)."""
        self.counts["flood of nodes"] += 1
        nodes: list[Node] = []
        for _ in range(MACHINES):
            name = f"node-{self.load.number()}"
            node = Node(name, self.dice.choice(self.load.homes), {"vcore": 1, "memory": 2})
            self.load.truth.nodes[name] = node
            nodes.append(node)
            if self.shim.registered:
                self.shim.send_node(node)
        self.clock.after(self.dice.randrange(1, 2 * SECOND), lambda: self._lose(nodes))

    def _lose(self, nodes: list[Node]) -> None:
        for node in nodes:
            if self.load.truth.nodes.get(node.name) is node:
                self.load.lose(node)

    def register_often(self) -> None:
        """The RM registers again and again (RM-9)."""
        if self.shim.up:
            self.counts["storm of registrations"] += 1
            for _ in range(REGISTRATIONS):
                self.shim.register()

    def be_absurd(self) -> None:
        """The RM sends something that makes no sense; it is refused and changes nothing (SI-4)."""
        if self.shim.registered:
            self.counts["absurd request"] += 1
            self.shim.link.request(self.dice.choice(absurdities(self.shim.rm_id)))


def absurdities(rm_id: str) -> list[Command]:
    """Requests about things that are not there, and with values that nobody means."""
    huge, negative = {"vcore": MOST}, {"vcore": -MOST - 1}
    ask = c.Ask(NOBODY, "no-task", huge)
    return [
        c.UpdateAllocations(rm_id, asks=(ask, c.Ask("", "", {}), c.Ask(NOBODY, "x", negative))),
        c.UpdateAllocations(rm_id, allocations=(c.ExistingAllocation(ask, "no-id", "no-node"),)),
        c.UpdateAllocations(rm_id, allocations=(c.ExistingAllocation(ask, "", ""),)),
        c.UpdateAllocations(rm_id, ask_releases=(c.AskRelease(NOBODY, "no-task", "nowhere"),)),
        c.UpdateAllocations(
            rm_id, releases=(c.AllocationRelease("", "no-id", termination_type=99),)
        ),
        c.UpdateNodes(rm_id, (c.NodeUpdate("no-node", 99, huge),)),
        c.UpdateNodes(rm_id, (c.NodeUpdate("", c.CREATE, negative),)),
        c.UpdateNodes(rm_id, (c.NodeUpdate("no-node", c.UPDATE, negative),)),
        c.UpdateApplications(
            rm_id, new=(c.NewApplication("", "root.a..b", "nowhere", "\u202e" * 300),)
        ),
        c.UpdateApplications(rm_id, remove=(c.ApplicationRemoval(NOBODY, "../../etc"),)),
    ]
