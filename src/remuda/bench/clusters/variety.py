"""Unequal nodes and asks that nevertheless all fit, for S10, W4, W5 and M1 to M9.

An ask has a size of 1 to 4 units and prefers one of four types: it wants its size of that type and
half of it of the others. That makes 16 kinds. Nodes have four sizes; a node has the same number of
units of every type, and the largest has eight times as many as the smallest. No ask takes more than
its size of any type. So an ask finds no node only if every node has less free than the size of the
ask, that is at most 3 units. Therefore all asks fit in any order if the nodes together have the
sizes of all asks and 3 units more for each node. The nodes have that, rounded up to whole units of
the smallest node: with S10's numbers 8, 16, 32 and 64 units, 300,000 together for asks of 250,000.

In S10, W4 and W5 the kinds come in turn. In mixed shapes (M1 to M9) each ask has a kind drawn at
random, all 16 with the same chance, by one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Final

from remuda.base.resources import Resource

# Types, and what one unit is of each; even, because asks want halves.
UNITS: Final = {"memory": 10, "vcore": 100, "ephemeral-storage": 40, "example.com/gpu": 2}

ASK_SIZES: Final = (1, 2, 3, 4)
NODE_SIZES: Final = (1, 2, 4, 8)
KINDS: Final = len(ASK_SIZES) * len(UNITS)

# No divisor in common with the kinds, so that an application has all pairs of the two.
PRIORITIES: Final = 5


# By which the kinds of mixed shapes are drawn.
_SEED: Final = 20


def kind_of(number: int, applications: int) -> int:
    """Return the kind of an ask; each application has all kinds in turn."""
    return (number // applications + number % applications) % KINDS


@cache
def drawn_kinds(asks: int) -> Sequence[int]:
    """Return the kind of each ask of a mixed shape, drawn at random; equal in every run."""
    return Random(_SEED).choices(range(KINDS), k=asks)  # noqa: S311 - no secret


def priority_of(number: int, applications: int) -> int:
    """Return the priority of an ask, 0 to 4; each application has all of them in turn."""
    return number // applications % PRIORITIES


def wanted(kind: int) -> Resource:
    """Return what an ask of a kind wants."""
    leaning, size = divmod(kind, len(ASK_SIZES))
    return {
        name: ASK_SIZES[size] * unit // (1 if place == leaning else 2)
        for place, (name, unit) in enumerate(UNITS.items())
    }


def capacities(nodes: int, kinds: Sequence[int]) -> list[Resource]:
    """Return the capacity of each of the four kinds of nodes, so that all asks fit in any order.

    Node *i* is of kind *i* modulo 4. ``kinds``: the kind of each ask.
    """
    sizes = sum(ASK_SIZES[kind % len(ASK_SIZES)] for kind in kinds)
    needed = sizes + nodes * (max(ASK_SIZES) - 1)
    parts = sum(NODE_SIZES[number % len(NODE_SIZES)] for number in range(nodes))
    smallest = max(-(-needed // parts), *ASK_SIZES)
    return [{name: smallest * size * unit for name, unit in UNITS.items()} for size in NODE_SIZES]
