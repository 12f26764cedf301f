"""A fixed piece of work, whose time says how fast this machine is at this moment.

The gate divides the cost of an allocation by the time this takes, so that neither the machine nor
what else it does shows in the quotient. That only works while both slow down together; so this
does what the scheduler does (objects with slots, dictionaries by text, heaps of tuples, bisection,
methods, small texts, records that stay), in about the same proportions and over as much memory.

It shares no code with the product and **must not change**: with it every recorded figure would.
"""

from __future__ import annotations

import heapq
from bisect import insort
from typing import Final

_QUEUES: Final = 10
_APPLICATIONS: Final = 100
# For a scale of one.
_NODES: Final = 1_000
_ASKS: Final = 10_000
_SHARE: Final = _ASKS // _NODES
_TYPES: Final = 2


class _Queue:
    """A queue of queues or applications, served by how much each holds."""

    __slots__ = ("due", "heap", "name", "parent", "usage")

    def __init__(self, name: str, parent: _Queue | None, due: int) -> None:
        self.name = name
        self.parent = parent
        self.due = due
        self.usage = [0] * _TYPES
        self.heap: list[tuple[float, int, str]] = []

    def share(self) -> float:
        """How much of what is due is held."""
        return max([amount / self.due for amount in self.usage])

    def fits(self, amounts: list[int], limit: int) -> bool:
        """Whether so much more stays below a limit, here and above."""
        queue: _Queue | None = self
        while queue is not None:
            for index, amount in enumerate(amounts):
                if queue.usage[index] + amount > limit:
                    return False
            queue = queue.parent
        return True

    def charge(self, amounts: list[int]) -> None:
        """Count so much, here and above."""
        queue: _Queue | None = self
        while queue is not None:
            usage = queue.usage
            for index, amount in enumerate(amounts):
                usage[index] += amount
            queue = queue.parent


class _Node:
    """A node and what is free on it."""

    __slots__ = ("free", "held", "name", "total")

    def __init__(self, name: str) -> None:
        self.name = name
        self.total = [10 * _SHARE, _SHARE]
        self.free = list(self.total)
        self.held: dict[str, _Record] = {}

    def fits(self, amounts: list[int]) -> bool:
        """Whether so much is free."""
        for index, amount in enumerate(amounts):
            if self.free[index] < amount:
                return False
        return True

    def score(self) -> float:
        """How full it is."""
        return sum([1.0 - free / total for free, total in zip(self.free, self.total, strict=True)])


class _Ask:
    """An ask that waits."""

    __slots__ = ("amounts", "application", "key", "order")

    def __init__(self, key: str, application: str, amounts: dict[str, int], order: int) -> None:
        self.key = key
        self.application = application
        self.amounts = [amounts["memory"], amounts["vcore"]]
        self.order = (-0, order, key)


class _Record:
    """What became of an ask."""

    __slots__ = ("ask", "identity", "node")

    def __init__(self, ask: _Ask, node: _Node, identity: str) -> None:
        self.ask = ask
        self.node = node
        self.identity = identity


def calibrate(scale: int = 1) -> int:
    """Do the work, about 0.1 s of it; so many times as much over so many times the memory.

    Returns a sum over what came out.
    """
    root = _Queue("root", None, 1_000_000)
    leaves = {f"root.q{i}": _Queue(f"root.q{i}", root, 1_000 * (i + 1)) for i in range(_QUEUES)}
    homes = {f"app-{i}": f"root.q{i % _QUEUES}" for i in range(_APPLICATIONS)}
    waiting = _taken_in(scale * _ASKS)
    nodes = {name: _Node(name) for name in [f"node-{i:05}" for i in range(scale * _NODES)]}
    order = sorted([(node.score(), name) for name, node in nodes.items()])
    for number, (application, home) in enumerate(homes.items()):
        heapq.heappush(leaves[home].heap, (0.0, number, application))
    for number, (name, leaf) in enumerate(leaves.items()):
        heapq.heappush(root.heap, (leaf.share(), number, name))
    placed: dict[tuple[str, str], _Record] = {}
    events: list[tuple[int, str, str, int]] = []
    while root.heap:
        _, number, name = heapq.heappop(root.heap)
        leaf = leaves[name]
        record = _one(leaf, waiting, nodes, order, len(placed))
        if record is None:
            continue
        placed[record.ask.application, record.ask.key] = record
        events.append((len(events), record.ask.key, record.node.name, 1))
        events.append((len(events), record.ask.application, record.identity, 2))
        heapq.heappush(root.heap, (leaf.share(), number, name))
    return len(placed) + len(events) + sum([len(node.held) for node in nodes.values()])


def _taken_in(count: int) -> dict[str, list[_Ask]]:
    """Read the asks, one list per application, in their order."""
    waiting: dict[str, list[_Ask]] = {f"app-{i}": [] for i in range(_APPLICATIONS)}
    for number in range(count):
        entry = {"key": f"k-{number}", "application": f"app-{number % _APPLICATIONS}"}
        amounts = {name: int(value) for name, value in (("memory", "10"), ("vcore", "1"))}
        ask = _Ask(entry["key"], entry["application"], amounts, number)
        asks = waiting[ask.application]
        if asks and asks[-1].order > ask.order:
            asks.sort(key=lambda each: each.order)
        asks.append(ask)
    for asks in waiting.values():
        asks.reverse()
    return waiting


def _one(
    leaf: _Queue,
    waiting: dict[str, list[_Ask]],
    nodes: dict[str, _Node],
    order: list[tuple[float, str]],
    count: int,
) -> _Record | None:
    """Place the next ask of a leaf on the emptiest node, or find that there is none."""
    while leaf.heap:
        served, number, application = heapq.heappop(leaf.heap)
        asks = waiting[application]
        if not asks:
            continue
        ask = asks.pop()
        if not leaf.fits(ask.amounts, 1_000_000_000):
            continue
        for place, (_, name) in enumerate(order):
            node = nodes[name]
            if node.fits(ask.amounts):
                del order[place]
                break
        else:
            return None
        for index, amount in enumerate(ask.amounts):
            node.free[index] -= amount
        leaf.charge(ask.amounts)
        record = _Record(ask, node, f"{ask.key}-{count}")
        node.held[record.identity] = record
        insort(order, (node.score(), name))
        heapq.heappush(leaf.heap, (served + 1.0, number, application))
        return record
    return None
