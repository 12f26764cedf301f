"""Computes the scores of nodes for the two node orders (rules: chapter 50 part C)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda.config.schema import NODE_SORT_BINPACKING
from remuda.core.model.nodes.node import Node
from remuda.core.model.vectors import ResourceTypes

DEFAULT_WEIGHTS: Final[Mapping[str, float]] = {"memory": 1.0, "vcore": 1.0}


def effective_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weights in force, sorted by type; the default if empty.

    Implements: NOD-17.
    """
    chosen = weights or DEFAULT_WEIGHTS
    return dict(sorted(chosen.items()))


def score_weights(
    node: Node, types: ResourceTypes, weights: Mapping[str, float]
) -> tuple[tuple[int, float, int], ...]:
    """Return (type index, weight, total) for the types in a node's score, by type name.

    Types that the node does not have, or whose weight is 0, are left out. Implements: NOD-19.
    Rules: NOD-17.
    """
    total = node.total.resource
    return tuple(
        [
            (types.known(name), weight, total[name])
            for name, weight in weights.items()
            if weight != 0 and total.get(name, 0) > 0
        ]
    )


def usage(node: Node) -> float:
    """Return the weighted share of a node in use, foreign usage included.

    Types are added in a fixed order, so that equal nodes get exactly equal scores (NOD-18).

    Implements: NOD-16.
    """
    available = node.available.amounts
    weighted = 0.0
    weight_sum = 0.0
    for index, weight, have in node.weights:
        weighted += weight * (1.0 - available[index] / have)
        weight_sum += weight
    return weighted / weight_sum if weight_sum else 0.0


def packed(node: Node) -> float:
    """Return the weighted share of a node that is free; full nodes come first.

    Rules: NOD-16.
    """
    return 1.0 - usage(node)


def scorer(policy: str) -> Callable[[Node], float]:
    """Return the score function of a policy; the smallest score comes first. Rules: NOD-16.

    ``fair`` serves the least used node first, ``binpacking`` the most used one.
    """
    return packed if policy == NODE_SORT_BINPACKING else usage
