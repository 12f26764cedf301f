"""All numbers of pods by domain that some class or term needs, and who they are about.

Pods with the same namespace and labels are one ``Profile``: whether it matches a tally is worked
out once, not once a pod. Indexes by pairs of label and value find the tallies of a new profile,
the profiles of a new tally, and the anti-affinity terms of running pods that concern a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Generic, TypeVar

from remuda_kubernetes.predicates.counts import (
    Domains,
    NodeRule,
    NodeSet,
    PodMatcher,
    Tally,
)
from remuda_kubernetes.predicates.keys import DecisiveKeys, HeldTerm
from remuda_kubernetes.predicates.nodes import NodeState
from remuda_kubernetes.predicates.selection import Labels, Pair
from remuda_kubernetes.predicates.wakes import Wakes

T = TypeVar("T")

_NO_LABELS: Final[Mapping[str, str]] = {}
_ProfileKey = tuple[str, tuple[Pair, ...], bool]


class PairIndex(Generic[T]):
    """Things that can only match what has one of some labels, by these labels.

    A thing may name several such sets of labels; it stands under the one that fewest others chose.
    """

    def __init__(self) -> None:
        self._by_pair: dict[Pair, dict[T, None]] = {}
        self._others: dict[T, None] = {}
        self._chosen: dict[T, tuple[Pair, ...]] = {}

    def add(self, item: T, alternatives: Iterable[tuple[Pair, ...]]) -> None:
        """Add a thing; without alternatives it can match anything."""
        chosen = self._narrowest(alternatives)
        if chosen is None:
            self._others[item] = None
            return
        self._chosen[item] = chosen
        self._put(item, chosen)

    def add_under_all(self, item: T, pairs: tuple[Pair, ...]) -> None:
        """Add a thing under each of its own labels."""
        self._chosen[item] = pairs
        self._put(item, pairs)

    def _put(self, item: T, pairs: tuple[Pair, ...]) -> None:
        for pair in pairs:
            self._by_pair.setdefault(pair, {})[item] = None

    def discard(self, item: T) -> None:
        """Remove a thing."""
        self._others.pop(item, None)
        for pair in self._chosen.pop(item, ()):
            items = self._by_pair[pair]
            del items[item]
            if not items:
                del self._by_pair[pair]

    def __bool__(self) -> bool:
        """Whether there is anything in it."""
        return bool(self._others or self._chosen)

    def _narrowest(self, alternatives: Iterable[tuple[Pair, ...]]) -> tuple[Pair, ...] | None:
        by_pair = self._by_pair
        return min(
            alternatives,
            key=lambda pairs: sum(len(by_pair.get(pair, ())) for pair in pairs),
            default=None,
        )

    def at_narrowest(self, alternatives: Iterable[tuple[Pair, ...]]) -> Iterator[T] | None:
        """Return the things under the smallest set of labels; None: there is no such set."""
        pairs = self._narrowest(alternatives)
        if pairs is None:
            return None
        return (item for pair in pairs for item in self._by_pair.get(pair, ()))

    def candidates(self, pairs: Iterable[Pair]) -> Iterator[T]:
        """Return all things that something with these labels may match."""
        for pair in pairs:
            yield from self._by_pair.get(pair, ())
        yield from self._others


class Profile:
    """Pods with the same namespace and labels; ``deleted``: their deletion was asked for.

    ``by_node``: how many are on each node. ``tallies``: those that count them.
    """

    __slots__ = ("by_node", "deleted", "labels", "namespace", "pairs", "tallies")

    def __init__(self, namespace: str, pairs: tuple[Pair, ...], *, deleted: bool) -> None:
        self.namespace = namespace
        self.pairs = pairs
        self.labels = dict(pairs)
        self.deleted = deleted
        self.by_node: dict[str, int] = {}
        self.tallies: list[Tally] = []


class _Held:
    """An anti-affinity term of running pods, with where the pods that have it are."""

    __slots__ = ("domains", "tally", "term")

    def __init__(self, term: HeldTerm, tally: Tally, domains: Domains) -> None:
        self.term = term
        self.tally = tally
        self.domains = domains


class Topology:
    """The tallies, topologies and profiles of a cluster.

    ``matched``: how many times a selector was held against labels, to measure work. ``keys``: the
    labels that anti-affinity terms look at. ``held_version`` changes when the set of anti-affinity
    terms of running pods does.
    """

    def __init__(self, nodes: Mapping[str, NodeState], wakes: Wakes) -> None:
        self.matched = 0
        self.keys = DecisiveKeys()
        self.held_version = 0
        self._nodes = nodes
        self._wakes = wakes
        self._namespaces: dict[str, Labels] = {}
        self._sets: dict[NodeRule, NodeSet] = {}
        self._tallies: dict[PodMatcher, Tally] = {}
        self._tallies_by_pair: PairIndex[Tally] = PairIndex()
        self._profiles: dict[_ProfileKey, Profile] = {}
        self._profiles_by_pair: PairIndex[Profile] = PairIndex()
        self._held: dict[HeldTerm, _Held] = {}
        self._held_by_pair: PairIndex[_Held] = PairIndex()

    # ------------------------------------------------------------------------------- pods

    def profile(self, namespace: str, labels: Labels, *, deleted: bool) -> Profile:
        """Return the profile of a pod; it is kept as long as pods of it are on nodes."""
        pairs = tuple(sorted(labels.items()))
        found = self._profiles.get((namespace, pairs, deleted))
        return found or Profile(namespace, pairs, deleted=deleted)

    def place(self, profile: Profile, node: str) -> Profile:
        """Count a pod on a node. Returns the profile under which it is counted."""
        key = (profile.namespace, profile.pairs, profile.deleted)
        known = self._profiles.get(key)
        if known is None:
            known = self._profiles[key] = profile
            self._profiles_by_pair.add_under_all(profile, profile.pairs)
            profile.tallies = [
                tally
                for tally in self._tallies_by_pair.candidates(profile.pairs)
                if self._matches(tally.matcher, profile)
            ]
        known.by_node[node] = known.by_node.get(node, 0) + 1
        for tally in known.tallies:
            tally.change(node, 1)
        return known

    def displace(self, profile: Profile, node: str) -> None:
        """Count a pod no longer."""
        left = profile.by_node[node] - 1
        if left:
            profile.by_node[node] = left
        else:
            del profile.by_node[node]
        for tally in profile.tallies:
            tally.change(node, -1)
        # A pod that is only tried away comes back: what was noted about it has to stay.
        if not profile.by_node and not self._wakes.quiet:
            del self._profiles[profile.namespace, profile.pairs, profile.deleted]
            self._profiles_by_pair.discard(profile)

    def _matches(self, matcher: PodMatcher, profile: Profile) -> bool:
        self.matched += 1
        if matcher.alive and profile.deleted:
            return False
        its_labels = self.namespace_labels(profile.namespace)
        return matcher.matches(profile.namespace, its_labels, profile.labels)

    # --------------------------------------------------------------------- numbers of pods

    def acquire(self, matcher: PodMatcher, rule: NodeRule) -> Domains:
        """Return the numbers of some pods in the domains of a topology, kept until released.

        Cost: nothing if they are kept already; else one match for each profile that may match, and
        one step a node.
        """
        tally = self._tallies.get(matcher)
        if tally is None:
            tally = self._tallies[matcher] = Tally(matcher)
            self._tallies_by_pair.add(tally, _alternatives(matcher))
            for profile in self._around(matcher):
                if self._matches(matcher, profile):
                    self._join(profile, tally)
        return self._domains(tally, rule)

    def release(self, domains: Domains) -> None:
        """Give numbers back; what nobody else needs is forgotten."""
        tally = domains.tally
        self._leave(domains)
        if not tally.domains:
            del self._tallies[tally.matcher]
            self._tallies_by_pair.discard(tally)
            for profile in self._around(tally.matcher):
                if tally in profile.tallies:
                    profile.tallies.remove(tally)

    def _around(self, matcher: PodMatcher) -> Iterable[Profile]:
        """Return all profiles that may match."""
        found = self._profiles_by_pair.at_narrowest(_alternatives(matcher))
        return self._profiles.values() if found is None else found

    @staticmethod
    def _join(profile: Profile, tally: Tally) -> None:
        profile.tallies.append(tally)
        for node, number in profile.by_node.items():
            tally.change(node, number)

    def _domains(self, tally: Tally, rule: NodeRule) -> Domains:
        nodes = self._sets.get(rule)
        if nodes is None:
            nodes = self._sets[rule] = NodeSet(rule, self._nodes.values())
        found = tally.domains.get(nodes)
        if found is None:
            found = Domains(tally, nodes, self._wakes)
            tally.domains[nodes] = nodes.domains[tally] = found
        found.users += 1
        return found

    def _leave(self, domains: Domains) -> None:
        domains.users -= 1
        if domains.users:
            return
        tally, nodes = domains.tally, domains.nodes
        del tally.domains[nodes]
        del nodes.domains[tally]
        if not nodes.domains:
            del self._sets[nodes.rule]

    # ----------------------------------------------- anti-affinity terms of running pods

    def hold(self, term: HeldTerm, node: str) -> None:
        """Count a pod that has an anti-affinity term and runs on a node."""
        held = self._held.get(term)
        if held is None:
            namespaces, selector, key = term
            tally = Tally(PodMatcher(((namespaces, selector),)))
            held = _Held(term, tally, self._domains(tally, NodeRule(key)))
            self._held[term] = held
            self.keys.add(term)
            self._held_by_pair.add(held, selector.alternatives())
            self.held_version += 1
        held.tally.change(node, 1)

    def unhold(self, term: HeldTerm, node: str) -> None:
        """Count it no longer."""
        held = self._held[term]
        held.tally.change(node, -1)
        if not held.tally.by_node and not self._wakes.quiet:
            del self._held[term]
            self.keys.discard(term)
            self._held_by_pair.discard(held)
            self._leave(held.domains)
            self.held_version += 1

    def held_against(self, namespace: str, labels: Labels) -> list[tuple[str, Domains]]:
        """Return the terms of running pods that keep a pod away, as topology key and numbers."""
        its_labels = self.namespace_labels(namespace)
        found = []
        for held in self._held_by_pair.candidates(labels.items()):
            self.matched += 1
            if held.tally.matcher.matches(namespace, its_labels, labels):
                found.append((held.term[2], held.domains))
        return found

    # ------------------------------------------------------------------ nodes, namespaces

    def node_changed(self, node: NodeState) -> None:
        """Take the labels and taints of a new or changed node."""
        for rule, nodes in self._sets.items():
            nodes.update(node.name, rule.domain(node))

    def node_gone(self, name: str) -> None:
        """Leave out a node; the pods on it were displaced before."""
        for nodes in self._sets.values():
            nodes.update(name, None)

    def namespace_labels(self, namespace: str) -> Labels:
        """Return the labels of a namespace; none if it is not known."""
        return self._namespaces.get(namespace, _NO_LABELS)

    def set_namespace(self, name: str, labels: Labels | None) -> bool:
        """Take the labels of a namespace; None: it is gone. Returns whether they changed."""
        if self.namespace_labels(name) == (labels or _NO_LABELS):
            return False
        if labels:
            self._namespaces[name] = dict(labels)
        else:
            del self._namespaces[name]
        self.held_version += 1
        tallies = [each for each in self._tallies.values() if each.matcher.by_labels_of_namespaces]
        for profile in self._profiles.values() if tallies else ():
            if profile.namespace == name:
                self._match_again(profile, tallies)
        return True

    def _match_again(self, profile: Profile, tallies: list[Tally]) -> None:
        for tally in tallies:
            matches = self._matches(tally.matcher, profile)
            if matches == (tally in profile.tallies):
                continue
            if matches:
                self._join(profile, tally)
                continue
            profile.tallies.remove(tally)
            for node, number in profile.by_node.items():
                tally.change(node, -number)


def _alternatives(matcher: PodMatcher) -> list[tuple[Pair, ...]]:
    return [each for _, selector in matcher.terms for each in selector.alternatives()]
