"""What a pod demands of other pods: affinity, anti-affinity and even spreading.

Sources: the documentation of Kubernetes, "Assigning Pods to Nodes" (inter-pod affinity, namespace
selector, matchLabelKeys, mismatchLabelKeys) and "Pod Topology Spread Constraints".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from remuda_kubernetes.objects.pods import (
    Pod,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from remuda_kubernetes.predicates.counts import Namespaces, NodeRule, PodMatcher
from remuda_kubernetes.predicates.keys import HeldTerm
from remuda_kubernetes.predicates.selection import (
    NodeChoice,
    Selector,
    compile_selector,
    key_requirements,
)

_HARD: Final = "DoNotSchedule"
_HONOR: Final = "Honor"
_IGNORE: Final = "Ignore"


@dataclass(frozen=True, slots=True)
class Spread:
    """One constraint: the pods counted, the topology, and how uneven they may be.

    ``self_match``: 1 if the pod itself is one of the counted pods, else 0.
    """

    matcher: PodMatcher
    rule: NodeRule
    max_skew: int
    min_domains: int
    self_match: int


@dataclass(frozen=True, slots=True)
class Affinity:
    """The pods of which one must be in the same domain, and the keys of the topologies."""

    matcher: PodMatcher
    keys: tuple[str, ...]


def _required(affinity: PodAffinity | None) -> tuple[PodAffinityTerm, ...]:
    return (affinity.required or ()) if affinity is not None else ()


def anti_affinity(pod: Pod) -> tuple[HeldTerm, ...]:
    """Return the terms of pods that must not be in the same domain."""
    affinity = pod.spec.affinity
    if affinity is None or affinity.pod_anti_affinity is None:
        return ()
    terms = _required(affinity.pod_anti_affinity)
    return tuple((*_term(pod, each), each.topology_key) for each in terms)


def affinity(pod: Pod) -> Affinity | None:
    """Return the pods that must be near: those that match all terms together."""
    wanted = pod.spec.affinity
    terms = _required(wanted.pod_affinity) if wanted is not None else ()
    if not terms:
        return None
    matcher = PodMatcher(tuple(_term(pod, each) for each in terms))
    return Affinity(matcher, tuple(dict.fromkeys(each.topology_key for each in terms)))


def _term(pod: Pod, term: PodAffinityTerm) -> tuple[Namespaces, Selector]:
    """Return the namespaces and the selector of a term.

    No namespaces and no selector of them mean that of the pod; an empty selector means all.
    """
    more = key_requirements(term.match_label_keys, term.mismatch_label_keys, pod.labels)
    selector = compile_selector(term.label_selector, more)
    if term.namespace_selector is None:
        names = tuple(sorted(set(term.namespaces or (pod.namespace,))))
        return Namespaces(names), selector
    names = tuple(sorted(set(term.namespaces or ())))
    return Namespaces(names, compile_selector(term.namespace_selector)), selector


def spreads(
    pod: Pod,
    choice: NodeChoice | None,
    constraints: Iterable[TopologySpreadConstraint],
    selector: Selector | None = None,
) -> tuple[Spread, ...]:
    """Return the constraints that must hold.

    ``choice``: the nodes that the pod's selector and affinity allow. ``selector``: what default
    constraints count, which have no selector of their own.
    """
    hard = [each for each in constraints if each.when_unsatisfiable == _HARD]
    required = tuple(sorted({each.topology_key for each in hard}))
    found = []
    for each in hard:
        counted = selector
        if counted is None:
            more = key_requirements(each.match_label_keys, None, pod.labels)
            counted = compile_selector(each.label_selector, more)
        within = Namespaces((pod.namespace,))
        found.append(
            Spread(
                PodMatcher(((within, counted),), alive=True),
                NodeRule(
                    each.topology_key,
                    required,
                    choice if (each.node_affinity_policy or _HONOR) == _HONOR else None,
                    (pod.spec.tolerations or ())
                    if (each.node_taints_policy or _IGNORE) == _HONOR
                    else None,
                ),
                each.max_skew,
                each.min_domains or 1,
                int(counted.matches(pod.labels)),
            )
        )
    return tuple(found)


def decisive_keys(pod: Pod) -> set[str]:
    """Return the keys of the pod's own labels that its own terms look at."""
    keys: set[str] = set()
    wanted = pod.spec.affinity
    terms: list[PodAffinityTerm | TopologySpreadConstraint] = []
    if wanted is not None:
        terms += (*_required(wanted.pod_affinity), *_required(wanted.pod_anti_affinity))
    terms += pod.spec.topology_spread_constraints or ()
    for each in terms:
        keys.update(compile_selector(each.label_selector).keys())
        keys.update(each.match_label_keys or ())
        if isinstance(each, PodAffinityTerm):
            keys.update(each.mismatch_label_keys or ())
    return keys
