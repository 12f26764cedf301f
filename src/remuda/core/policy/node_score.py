"""How nodes are scored for the two node orders (rules: NOD-15 to NOD-19)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from remuda.config.schema import NODE_SORT_BINPACKING
from remuda.core.model.node import Node
from remuda.core.model.vectors import ResourceTypes

DEFAULT_WEIGHTS: Final[Mapping[str, float]] = {"memory": 1.0, "vcore": 1.0}


def effective_weights(weights: Mapping[str, float]) -> Mapping[str, float]:
    """Return the weights in force, sorted by type; none given means the default. Rules: NOD-17."""
    chosen = weights or DEFAULT_WEIGHTS
    return dict(sorted(chosen.items()))


def score_weights(
    node: Node, types: ResourceTypes, weights: Mapping[str, float]
) -> tuple[tuple[int, float, int], ...]:
    """Return (type index, weight, total) for what counts in a node's score, by type name.

    Types the node has none of, or that weigh nothing, are left out. Rules: NOD-17, NOD-19.
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
    """Return the weighted share of a node that is in use; others' use counts. Rules: NOD-16.

    Types come in a fixed order, so that equal nodes get equal bits (NOD-18).
    """
    available = node.available.amounts
    weighted = 0.0
    weight_sum = 0.0
    for index, weight, have in node.weights:
        weighted += weight * (1.0 - available[index] / have)
        weight_sum += weight
    return weighted / weight_sum if weight_sum else 0.0


def packed(node: Node) -> float:
    """Return the weighted share of a node that is free, so that full nodes come first."""
    return 1.0 - usage(node)


def scorer(policy: str) -> Callable[[Node], float]:
    """Return the score of a policy, smallest first. Rules: NOD-16.

    ``fair`` serves the least used node first, ``binpacking`` the most used one.
    """
    return packed if policy == NODE_SORT_BINPACKING else usage
