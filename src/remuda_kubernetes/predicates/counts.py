"""Numbers of pods by domain of a topology, kept up to date with every change.

A ``Tally`` counts the pods that match something, by node. A ``NodeSet`` says to which domain each
node belongs. ``Domains`` joins the two: pods by domain, and the lowest number in any domain. A
question costs one or two look-ups here, however many pods and nodes there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.predicates.nodes import NodeState
from remuda_kubernetes.predicates.selection import Labels, NodeChoice, Selector
from remuda_kubernetes.predicates.taints import Tolerations, first_untolerated
from remuda_kubernetes.predicates.wakes import Wakes

# Why numbers refused a class: too many pods in the domain compared with the lowest, a pod that must
# not be there, no pod although one must be there.
SKEWED: Final = 1
PRESENT: Final = 2
ABSENT: Final = 4


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Namespaces by name, and those whose labels match."""

    names: tuple[str, ...]
    selector: Selector | None = None

    def matches(self, name: str, labels: Labels) -> bool:
        """Whether a namespace with these labels is one of them."""
        return name in self.names or (self.selector is not None and self.selector.matches(labels))


@dataclass(frozen=True, slots=True)
class PodMatcher:
    """The pods that match all of some terms; ``alive``: not those that are being deleted."""

    terms: tuple[tuple[Namespaces, Selector], ...]
    alive: bool = False

    @property
    def by_labels_of_namespaces(self) -> bool:
        """Whether labels of namespaces decide."""
        return any(namespaces.selector is not None for namespaces, _ in self.terms)

    def matches(self, namespace: str, its_labels: Labels, labels: Labels) -> bool:
        """Whether a pod matches, given its namespace, the labels of that, and its own."""
        for namespaces, selector in self.terms:
            if not namespaces.matches(namespace, its_labels) or not selector.matches(labels):
                return False
        return True


@dataclass(frozen=True, slots=True)
class NodeRule:
    """Which nodes make up a topology: its key, and what else a node has to have.

    ``required``: labels that must be there with any value. ``tolerations``: None means that taints
    do not matter.
    """

    key: str
    required: tuple[str, ...] = ()
    choice: NodeChoice | None = None
    tolerations: Tolerations | None = None

    def domain(self, node: NodeState) -> str | None:
        """Return the domain of a node; None: it does not belong to the topology."""
        labels = node.labels
        value = labels.get(self.key)
        if value is None:
            return None
        for key in self.required:
            if key not in labels:
                return None
        if self.choice is not None and not self.choice.matches(labels, node.name):
            return None
        if self.tolerations is not None and first_untolerated(self.tolerations, node.taints):
            return None
        return value


class NodeSet:
    """The nodes of a topology by domain.

    ``value_of``: node -> domain. ``sizes``: domain -> how many nodes.
    """

    __slots__ = ("domains", "rule", "sizes", "some", "value_of")

    def __init__(self, rule: NodeRule, nodes: Iterable[NodeState]) -> None:
        self.rule = rule
        self.value_of: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.some: dict[str, str] = {}
        self.domains: dict[Tally, Domains] = {}
        for node in nodes:
            value = rule.domain(node)
            if value is not None:
                self._enter(node.name, value)

    def update(self, name: str, value: str | None) -> None:
        """Move a node to another domain, or out of the topology, with the pods on it."""
        old = self.value_of.get(name)
        if old == value:
            return
        if value is not None:
            self._enter(name, value)
        else:
            del self.value_of[name]
        if old is not None:
            self._leave(name, old)
        domains_changed = (value is not None and self.sizes[value] == 1) or (
            old is not None and old not in self.sizes
        )
        for tally, domains in self.domains.items():
            number = tally.by_node.get(name, 0)
            if number and old is not None:
                domains.shift(old, -number)
            if number and value is not None:
                domains.shift(value, number)
            if domains_changed:
                domains.changed()

    def _enter(self, name: str, value: str) -> None:
        self.value_of[name] = value
        self.sizes[value] = self.sizes.get(value, 0) + 1
        self.some[value] = name

    def _leave(self, name: str, value: str) -> None:
        left = self.sizes[value] - 1
        if left:
            self.sizes[value] = left
        else:
            del self.sizes[value]
        if self.some.get(value) == name:
            del self.some[value]

    def only_node(self, value: str) -> str | None:
        """Return the node that a domain consists of; None: more than one, or it is not known."""
        return self.some.get(value) if self.sizes.get(value) == 1 else None


class Tally:
    """How many pods of a kind are on each node; nodes without one are absent."""

    __slots__ = ("by_node", "domains", "matcher")

    def __init__(self, matcher: PodMatcher) -> None:
        self.matcher = matcher
        self.by_node: dict[str, int] = {}
        self.domains: dict[NodeSet, Domains] = {}

    def change(self, node: str, by: int) -> None:
        """Count pods that came to a node (``by`` > 0) or left it."""
        number = self.by_node.get(node, 0) + by
        if number:
            self.by_node[node] = number
        else:
            del self.by_node[node]
        for nodes, domains in self.domains.items():
            value = nodes.value_of.get(node)
            if value is not None:
                domains.shift(value, by)


class Domains:
    """How many pods of a tally are in each domain of a topology.

    ``counts`` leaves out domains without such pods. ``users``: how many classes or terms need it.
    ``refused``: class -> why these numbers refused it (bits above).
    """

    __slots__ = ("_levels", "_low", "_wakes", "counts", "nodes", "refused", "tally", "users")

    def __init__(self, tally: Tally, nodes: NodeSet, wakes: Wakes) -> None:
        self.tally = tally
        self.nodes = nodes
        self.users = 0
        self.counts: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self._wakes = wakes
        self._levels: dict[int, int] = {}
        self._low = 1
        for node, number in tally.by_node.items():
            value = nodes.value_of.get(node)
            if value is not None:
                self.shift(value, number)

    def refuse(self, name: str, why: int) -> None:
        """Note why these numbers refused a class."""
        self.refused[name] = self.refused.get(name, 0) | why

    def lowest(self) -> int:
        """Return the lowest number of pods in any domain; 0 if there is no domain."""
        if len(self.counts) < len(self.nodes.sizes) or not self.counts:
            return 0
        if self._low not in self._levels:
            self._low = min(self._levels)
        return self._low

    def shift(self, value: str, by: int) -> None:
        """Count pods that came to a domain or left it."""
        if self.refused and not self._wakes.quiet:
            before = self.lowest()
            old = self.counts.get(value, 0)
            self._shift(value, by)
            self._help(value, old, before)
        else:
            self._shift(value, by)

    def _shift(self, value: str, by: int) -> None:
        counts, levels = self.counts, self._levels
        old = counts.get(value, 0)
        new = old + by
        if old:
            if levels[old] == 1:
                del levels[old]
            else:
                levels[old] -= 1
        if new:
            counts[value] = new
            levels[new] = levels.get(new, 0) + 1
            self._low = min(self._low, new)
        else:
            del counts[value]

    def _help(self, value: str, old: int, lowest: int) -> None:
        """Wake what another number of pods in a domain may help."""
        new = self.counts.get(value, 0)
        here = SKEWED if new < old else 0
        if not new:
            here |= PRESENT
        if not old:
            here |= ABSENT
        everywhere = SKEWED if self.lowest() > lowest else 0
        if not self.counts:
            # A pod that matches its own terms may be the first.
            everywhere |= ABSENT
        node = self.nodes.only_node(value)
        if node is None:
            everywhere |= here
        elif any(why & here for why in self.refused.values()):
            self._wakes.wake_node(node)
        self._wake(everywhere)

    def changed(self) -> None:
        """Wake what another number of domains may help."""
        self._wake(SKEWED)

    def _wake(self, why: int) -> None:
        if self._wakes.quiet:
            return
        for name in [name for name, reason in self.refused.items() if reason & why]:
            del self.refused[name]
            self._wakes.wake_class(name)
