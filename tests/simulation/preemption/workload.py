"""Random queues, and random work in them that may preempt each other; everything from one seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Final

from remuda.base.resources import Resource
from remuda.config.schema import QueueConfig
from remuda.core.messages import commands as c
from tests.simulation.preemption.cluster import NEW_KEY, SAME_KEY, Cluster
from tests.unit.core.door import REQUIRED_NODE, SECOND, leaf, parent

TYPES: Final = ("vcore", "memory", "gpu")
SIZES: Final[tuple[Resource, ...]] = (
    {"vcore": 1, "memory": 1},
    {"vcore": 2, "memory": 3},
    {"vcore": 3, "memory": 2},
    {"vcore": 1, "memory": 6},
    {"vcore": 4, "memory": 4, "gpu": 1},
    {"vcore": 1, "memory": 1, "gpu": 2},
)
CAPACITIES: Final[tuple[Resource, ...]] = (
    {"vcore": 8, "memory": 12},
    {"vcore": 10, "memory": 10, "gpu": 2},
    {"vcore": 6, "memory": 16, "gpu": 1},
)
# How long a victim takes to end, in seconds.
DELAYS: Final = (0, 0.5, 5, 40)


class Quarrel:
    """A cluster of some nodes, and things that happen in it, none of them a fault.

    ``required``: some asks have to go to one node; they come before others there (CYC-14).
    """

    def __init__(self, seed: int, *, required: bool) -> None:
        self.dice = dice = random.Random(f"{seed}/quarrel")
        nodes = {f"n{number}": dice.choice(CAPACITIES) for number in range(dice.randint(2, 6))}
        self._room = {name: sum(node.get(name, 0) for node in nodes.values()) for name in TYPES}
        self.leaves: list[str] = []
        self.required = required
        queues = [self._queue("root", f"q{number}", 1) for number in range(dice.randint(2, 4))]
        self.cluster = Cluster(
            *queues,
            nodes=nodes,
            delays=DELAYS,
            seed=seed,
            anew=dice.choice((SAME_KEY, NEW_KEY)),
            properties={"preemption.delay": dice.choice(("1s", "10s", "30s"))},
        )
        self.nodes = sorted(nodes)
        self.apps: list[str] = []
        self._number = 0
        for path in self.leaves:
            self._app(path)

    # ------------------------------------------------------------------------- the queues

    def _queue(self, above: str, name: str, depth: int) -> QueueConfig:
        dice = self.dice
        path = f"{above}.{name}"
        below: tuple[QueueConfig, ...] = ()
        if depth < 3 and dice.random() < 0.4:
            inner = range(dice.randint(2, 3))
            below = tuple(self._queue(path, f"{name}{number}", depth + 1) for number in inner)
        maximum, guaranteed = self._amounts(0.25, 4, 10), self._amounts(0.6, 1, 6)
        if maximum is not None and guaranteed is not None:
            guaranteed = {n: min(x, maximum.get(n, x)) for n, x in guaranteed.items()}
        properties = self._properties()
        if below:
            return parent(
                name, *below, maximum=maximum, guaranteed=guaranteed, properties=properties
            )
        self.leaves.append(path)
        return leaf(name, maximum, guaranteed, {"application.sort.policy": "fifo", **properties})

    def _amounts(self, chance: float, least: int, most: int) -> Resource | None:
        """Tenths of the cluster, of some of the types."""
        if self.dice.random() >= chance:
            return None
        chosen = [name for name in TYPES if self.dice.random() < 0.7]
        found = {n: self._room[n] * self.dice.randint(least, most) // 10 for n in chosen}
        return found or None

    def _properties(self) -> dict[str, str]:
        dice = self.dice
        found: dict[str, str] = {}
        if dice.random() < 0.15:
            found["priority.policy"] = "fence"
        if dice.random() < 0.25:
            found["priority.offset"] = str(dice.choice((-5, 3, 10)))
        if dice.random() < 0.15:
            found["preemption.policy"] = dice.choice(("fence", "disabled"))
        return found

    # --------------------------------------------------------------------------- the work

    def _next(self, word: str) -> str:
        self._number += 1
        return f"{word}-{self._number}"

    def _app(self, path: str) -> str:
        name = self._next("app")
        self.cluster.app(name, path)
        self.apps.append(name)
        return name

    def new_app(self) -> None:
        """An application more."""
        self._app(self.dice.choice(self.leaves))

    def gang(self) -> None:
        """Some placeholders, and the asks that are to take their places later."""
        dice, size = self.dice, self.dice.choice(SIZES)
        members = dice.randint(2, 5)
        name = self._next("gang")
        whole = {kind: amount * members for kind, amount in size.items()}
        self.cluster.app(
            name,
            dice.choice(self.leaves),
            placeholder_ask=whole,
            gang_scheduling_style=dice.choice(("Soft", "Hard")),
        )
        for number in range(2 * members):
            real = number >= members
            self.cluster.ask(
                name,
                self._next("member" if real else "placeholder"),
                size,
                task_group="g",
                placeholder=not real,
                priority=dice.choice((0, 5)),
            )

    def ask(self) -> None:
        """An ask of any kind."""
        dice = self.dice
        tags = {}
        if dice.random() < 0.04 and self.required:
            tags = {REQUIRED_NODE: dice.choice(self.nodes)}
        self.cluster.ask(
            dice.choice(self.apps),
            self._next("task"),
            dice.choice(SIZES),
            priority=dice.choice((0, 0, 0, 5, 9)),
            max_allocations=dice.choice((1, 1, 2, 4)),
            allow_preempt_other=dice.random() < 0.8,
            allow_preempt_self=dice.random() < 0.85,
            originator=dice.random() < 0.1,
            tags=tags,
        )

    def end(self) -> None:
        """Something ends by itself, be it ordered out or not."""
        names = [name for name, each in self.cluster.running.items() if not each.ask.placeholder]
        if names:
            self.cluster.end(self.dice.choice(names))

    def act(self) -> None:
        """One thing happens, and then some time passes."""
        actions: tuple[tuple[Callable[[], None], int], ...] = (
            (self.ask, 12),
            (self.end, 4),
            (self.new_app, 1),
            (self.gang, 1),
        )
        weights = [weight for _, weight in actions]
        (what,) = self.dice.choices([what for what, _ in actions], weights)
        what()
        self.cluster.run(self.dice.choice((0, 1, 1, 5, 30)) * SECOND)

    # ------------------------------------------------------------------- causes of a loss

    def take_back(self) -> None:
        """An ask whose preemption stands is not wanted any more."""
        live = [each.request for each in self.cluster.live() if each.request is not None]
        if live:
            request = self.dice.choice(live)
            app, key = request.application.application_id, request.ask.allocation_key
            release = c.AskRelease(app, key)
            self.cluster.send(c.UpdateAllocations("rm", ask_releases=(release,)))

    def lose_node(self) -> None:
        """The node goes to which somebody is to go; what ran there is not asked for again."""
        nodes = sorted({each.node_id for each in self.cluster.live()})
        if nodes and len(self.nodes) > 1:
            name = self.dice.choice(nodes)
            if name in self.nodes:
                self.nodes.remove(name)
                update = c.NodeUpdate(name, c.DECOMISSION)
                self.cluster.send(c.UpdateNodes("rm", (update,)))
