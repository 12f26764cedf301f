"""Random small clusters in which asks may have to preempt, drawn from a seed.

Amounts are small and few, so that ties, full nodes and queues right at their guarantee are the
normal case. Nodes are mostly full, and the ask's side is mostly guaranteed something, so that about
half of the scenes have victims.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.reference import arithmetic as res
from tests.reference import preemption, preemption_parity, preemption_required
from tests.reference.preemption_facts import (
    PREEMPTING,
    ROOT,
    Ask,
    Check,
    Choice,
    Node,
    Queue,
    Reservation,
    Running,
    Scene,
    allocated,
    available,
    fits_headroom,
    path_up,
)
from tests.reference.preemption_reach import leaves

TYPES = ("gpu", "memory", "vcore")
DEPTH = 4
HOUR = 3_600


@dataclass(frozen=True)
class Manner:
    """Which questions an RM answers, and whether asks may reserve a node before they preempt."""

    judges: bool
    refuses: bool
    reserves: bool


@dataclass(frozen=True)
class Sketch:
    """A cluster and the asks that come one after the other, once the one before it has preempted.

    ``blockers``: asks that came ``waited`` seconds before, and may have reserved nodes since.
    """

    seed: int
    scene: Scene
    asks: tuple[Ask, ...]
    manner: Manner
    blockers: tuple[Ask, ...] = ()
    waited: int = 0


def draw(seed: int, *, deep: bool = False) -> Sketch:
    """The cluster of a seed: even ones in our mode, odd ones in that of parity.

    Of three seeds one takes what comes, one the first of a few with a victim, and one the first of
    several with a victim for a queue, or with more than one. ``deep``: the tree has all levels, and
    most queues are guaranteed something, so that guarantees above each other decide.
    """
    found = Painter(seed, 0, deep=deep).draw()
    for attempt in range(1, (1, 6, 40)[seed // 2 % 3]):
        choice = decide(found.scene)
        if choice and choice.victims and (seed // 2 % 3 == 1 or rich(choice)):
            break
        found = Painter(seed, attempt, deep=deep).draw()
    return found


def rich(choice: Choice) -> bool:
    """Whether many have to go, or some for a queue."""
    return bool(choice.for_queue) or len(choice.victims) > 2


class Painter:
    """Draws one cluster."""

    def __init__(self, seed: int, attempt: int, *, deep: bool = False) -> None:
        self.seed = seed
        self.deep = deep
        self.rng = random.Random(f"{seed} {attempt} deep" if deep else f"{seed} {attempt}")
        self.asked: dict[tuple[str, str], int] = {}
        self.types = TYPES[: self.rng.choice((1, 1, 2, 2, 3))]

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) < percent

    def draw(self) -> Sketch:
        queues, nodes = self.queues(), self.nodes()
        ends = leaves(Scene(queues, (), (), Ask("", "", ROOT, {})))
        home = max(ends, key=_depth) if self.deep and self.chance(60) else self.rng.choice(ends)
        count = self.rng.choice((1, 2, 3, 3))
        homes = [home, *(home if self.chance(40) else self.rng.choice(ends) for _ in range(2))]
        asks = [self.ask(number, homes[number], nodes) for number in range(count)]
        running = self.running(nodes, ends, asks[0])
        manner = Manner(self.chance(50), self.chance(30), self.chance(50))
        scene = Scene(queues, nodes, running, asks[0], parity=self.seed % 2 == 1)
        scene = self.favour(scene)
        judge, room = Opinions(self.seed).judge, Opinions(self.seed).room
        scene = replace(scene, judge=judge if manner.judges else None)
        scene = replace(scene, room=room if manner.refuses else None)
        if not manner.reserves or self.chance(30):
            return Sketch(self.seed, scene, tuple(asks), manner)
        blocker = replace(self.ask(9, self.rng.choice(ends), nodes), required="", priority=0)
        waited = self.rng.choice((HOUR - 1, HOUR + 1, 2 * HOUR))
        blocked = replace(scene, ask=blocker)
        if not fits_headroom(blocked) or any(takes(blocked, node) for node in nodes):
            return Sketch(self.seed, scene, tuple(asks), manner)
        return Sketch(self.seed, scene, tuple(asks[:1]), manner, (blocker,), waited)

    # ------------------------------------------------------------------------------- queues

    def queues(self) -> dict[str, Queue]:
        """A tree of 2 to 11 queues below root; at least two of them are leaves."""
        if self.deep:
            return self.deep_queues()
        paths = [ROOT, "root.a", "root.b"]
        if self.chance(50):
            paths += ["root.a.m", "root.a.n"]
        for name in "cdefghij"[: self.rng.randrange(8)]:
            above = self.rng.choice([p for p in paths if p.count(".") < DEPTH])
            paths.append(f"{above}.{name}")
        return {path: self.queue(path) for path in paths}

    def deep_queues(self) -> dict[str, Queue]:
        """A tree of ``DEPTH`` levels below root, with one or two siblings on each."""
        paths = [ROOT, "root.b"]
        spine = ROOT
        for _ in range(DEPTH):
            spine += ".a"
            paths.append(spine)
            if self.chance(70):
                paths.append(f"{spine.rpartition('.')[0]}.c")
        return {path: self.queue(path) for path in paths}

    def queue(self, path: str) -> Queue:
        """One queue; root has neither amounts nor a place among siblings."""
        if path == ROOT:
            return Queue(path, policy="fence" if self.chance(5) else "")
        return Queue(
            path,
            self.guarantee() if self.chance(70 if self.deep else 30) else None,
            self.amounts(4, 30) if self.chance(15) else None,
            self.rng.choice(("default", "fence", "fence", "disabled")) if self.chance(10) else "",
            self.chance(10),
            self.rng.choice((-2, -1, 1, 2, 3)) if self.chance(15) else 0,
        )

    def amounts(self, low: int, high: int) -> dict[str, int]:
        """So much of some types, at least of one."""
        chosen = self.rng.sample(self.types, self.rng.randint(1, len(self.types)))
        return {t: self.rng.randint(low, high) for t in sorted(chosen)}

    def guarantee(self) -> dict[str, int]:
        """What a queue is guaranteed: now and then nothing of a type."""
        found = self.amounts(1, 9)
        zero = self.rng.choice(self.types)
        return {zero: 0, **found} if self.chance(15) else found

    def favour(self, scene: Scene) -> Scene:
        """Mostly, the ask's side is guaranteed about what it needs, on one level or all."""
        if not self.chance(92):
            return scene
        queues = dict(scene.queues)
        path = path_up(scene.ask.queue)[:-1]
        first = self.rng.choice(path) if self.chance(20) else path[0]
        for each in path:
            if each == first or (queues[each].guaranteed and self.chance(85)):
                queues[each] = replace(queues[each], guaranteed=self.enough(scene, each))
            if self.chance(80) and queues[each].policy == "fence":
                queues[each] = replace(queues[each], policy="")
        scene = replace(scene, queues=queues)
        return self.narrow(scene, self.rng.choice(path[1:])) if path[1:] else scene

    def narrow(self, scene: Scene, path: str) -> Scene:
        """Often, a queue above has a maximum that leaves a little too few for the ask."""
        if not self.chance(60):
            return scene
        wanted = scene.ask.resource
        used, own = allocated(scene, path), allocated(scene, scene.ask.queue)
        limit = {
            t: amount + max(own.get(t, 0), used.get(t, 0) - self.rng.randrange(amount + 2))
            for t, amount in wanted.items()
        }
        queue = replace(scene.queues[path], maximum=limit)
        return replace(scene, queues={**scene.queues, path: queue})

    def enough(self, scene: Scene, path: str) -> dict[str, int] | None:
        """What a queue uses and the ask, and some more, now and then a little less."""
        used, wanted = allocated(scene, path), scene.ask.resource
        slack = {
            t: self.rng.choice((0, 1, 2, 4, 8, 8, 16, 16, 30, -1))
            for t in self.types
            if self.chance(90)
        }
        found = {t: max(0, used.get(t, 0) + wanted.get(t, 0) + more) for t, more in slack.items()}
        return found if any(found.values()) else None

    # ------------------------------------------------------------------------ nodes and work

    def nodes(self) -> tuple[Node, ...]:
        """1 to 8 nodes, now and then more than fit one batch of checks."""
        count = self.rng.randint(11, 23) if self.chance(3) else self.rng.randint(1, 8)
        return tuple(self.node(f"n{number}") for number in range(count))

    def node(self, name: str) -> Node:
        """One node; some lack a type, some are overcommitted, some drain."""
        total = {t: self.rng.randint(3, 12) for t in self.types if self.chance(95)}
        occupied = self.amounts(1, 4) if self.chance(15) else {}
        return Node(name, total or {self.types[0]: 5}, occupied, not self.chance(7))

    def running(self, nodes: tuple[Node, ...], ends: list[str], ask: Ask) -> tuple[Running, ...]:
        """Up to 40 allocations, mostly until no node takes the ask any more."""
        found: list[Running] = []
        others = [path for path in ends if path != ask.queue] or ends
        busy = self.rng.sample(others, self.rng.randint(1, min(4, len(others))))
        for node in nodes:
            room = res.subtract(node.total, node.occupied)
            until = 0 if self.chance(10) else 20
            for _ in range(until):
                size = self.amounts(1, 4)
                if not res.fits(room, ask.resource) and self.chance(30):
                    break
                if (res.fits(room, size) or self.chance(3)) and len(found) < 40:
                    room = res.subtract(room, size)
                    where = ask.queue if self.chance(8) else self.rng.choice(busy)
                    found.append(self.work(len(found), where, node.name, size))
        return tuple(found)

    def work(self, number: int, queue: str, node: str, size: Mapping[str, int]) -> Running:
        """One allocation of one of two applications of a queue; those of one ask are as old."""
        app, key = f"{queue}-{self.rng.randrange(2)}", self.key()
        created = self.asked.setdefault((app, key), self.rng.randrange(-5, 0))
        return Running(
            f"id{number}",
            app,
            queue,
            node,
            size,
            self.rng.choice((-1, 0, 0, 0, 1, 2)),
            created,
            key,
            self.chance(10),
            self.chance(12),
            self.chance(6),
        )

    def key(self) -> str:
        """A key: a few are common, as those of asks that want several allocations."""
        return f"key{self.rng.randrange(3 if self.chance(30) else 1_000)}"

    def ask(self, number: int, queue: str, nodes: tuple[Node, ...]) -> Ask:
        """One ask; one of five requires a node."""
        required = self.rng.choice(nodes).name if self.chance(20) else ""
        priority = self.rng.choice((-1, 0, 1, 2, 2, 2, 3, 3))
        size = self.amounts(1, self.rng.choice((2, 4, 6, 9)))
        return Ask(f"{queue}-asks", f"ask{number}", queue, size, priority, required)


def _depth(path: str) -> int:
    return path.count(".")


class Opinions:
    """What the RM of a seed says: of each node and list of victims always the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def number(self, *about: object) -> int:
        return zlib.crc32(repr((self.seed, *about)).encode())

    def judge(self, check: Check) -> tuple[bool, int]:
        """Mostly the start index, else more victims, now and then more than there are, or no."""
        number = self.number(check.node, check.victims)
        if number % 5 == 0:
            return False, check.start
        more = (0, 0, 0, 1, 1, 2, 9, -1)[number // 5 % 8]
        return True, check.start + more

    def room(self, node: str) -> bool:
        """Two of three nodes would take the ask."""
        return self.number(node) % 3 > 0


# -------------------------------------------------------------------------- the model's answer


def decide(scene: Scene) -> Choice | None:
    """What comes of an ask, None: it needs no preemption at all."""
    tried = fits_headroom(scene)
    if scene.ask.required:
        return decide_required(scene, tried)
    if tried and any(takes(scene, node) for node in scene.nodes):
        return None
    scene = replace(scene, tried=tried)
    return preemption_parity.choose(scene) if scene.parity else preemption.choose(scene)


def takes(scene: Scene, node: Node) -> bool:
    """Whether a node would take the ask as it is; reserved ones are closed (RSV-7)."""
    fits = res.fits(available(scene, node), scene.ask.resource)
    return (
        fits
        and node.schedulable
        and not node.reservations
        and (scene.room is None or scene.room(node.name))
    )


def decide_required(scene: Scene, fits: bool) -> Choice | None:
    """The same if the ask requires a node. Rules: PRE-40, CYC-14."""
    node = next(one for one in scene.nodes if one.name == scene.ask.required)
    shared = any(
        reservation.preempting or reservation.required for reservation in node.reservations
    )
    if shared or res.fits(available(scene, node), scene.ask.resource):
        return None
    if not fits or not res.fits(node.total, scene.ask.resource):
        return Choice(reason="not reserved")
    return preemption_required.choose(scene)


def after(scene: Scene, choice: Choice) -> Scene:
    """The scene with a preemption that stands: victims marked, its node reserved, room promised."""
    ask, gone = scene.ask, choice.victims
    reservation = Reservation(ask.app, ask.key, ask.priority, bool(ask.required), preempting=True)
    return replace(
        scene,
        running=tuple(
            replace(one, state=PREEMPTING) if one in gone else one for one in scene.running
        ),
        nodes=tuple(
            replace(node, reservations=(reservation,)) if node.name == choice.node else node
            for node in scene.nodes
        ),
        promised=(*scene.promised, (ask.queue, ask.resource)),
    )
