"""How nodes are scored for the two node orders (rules: NOD-15 to NOD-19)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda.core.model.node import Node
from remuda.core.model.vectors import ResourceTypes

DEFAULT_WEIGHTS: Final[Mapping[str, float]] = {"memory": 1.0, "vcore": 1.0}


def effective_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weights in force, sorted by type; none given means the default. Rules: NOD-17."""
    chosen = weights or DEFAULT_WEIGHTS
    return dict(sorted(chosen.items()))


def usage(node: Node, types: ResourceTypes, weights: Mapping[str, float]) -> float:
    """Return the weighted share of a node that is in use; others' use counts. Rules: NOD-16.

    Types the node has none of, or that weigh nothing, are left out. Types are taken in the order
    of their names, so that equal nodes get equal bits (NOD-18, NOD-19).
    """
    total = node.total.resource
    available = node.available.amounts
    weighted = 0.0
    weight_sum = 0.0
    for name, weight in weights.items():
        have = total.get(name, 0)
        if have <= 0 or weight == 0:
            continue
        weighted += weight * (1.0 - available[types.known(name)] / have)
        weight_sum += weight
    return weighted / weight_sum if weight_sum else 0.0


def scorer(
    policy: str, types: ResourceTypes, weights: Mapping[str, float]
) -> Callable[[Node], float]:
    """Return the score of a policy, smallest first. Rules: NOD-16.

    ``fair`` serves the least used node first, ``binpacking`` the most used one.
    """
    chosen = effective_weights(weights)
    if policy == "binpacking":
        return lambda node: 1.0 - usage(node, types, chosen)
    return lambda node: usage(node, types, chosen)
