"""A cluster in a word: ``10xmemory=1000,vcore=4000`` is ten equal nodes.

Most questions to a simulator start with "and what if the cluster were ...", and writing a file
of nodes for each is tedious.
"""

from __future__ import annotations

import re
from typing import Final

from remuda.base.errors import UsageError
from remuda.sim.workload import NodeSpec

NODES_LIMIT: Final = 1_000_000
AMOUNT_LIMIT: Final = (1 << 63) - 1

_SHAPE: Final = re.compile(r"([0-9]+)x([^=,]+=.*)", re.DOTALL)
_AMOUNT: Final = re.compile(r"([^=,\s]+)=([0-9]{1,19})")


def looks_like_shape(text: str) -> bool:
    """Return whether a --nodes value is meant as a shape and not as a file."""
    return _SHAPE.fullmatch(text) is not None


def parse_shape(text: str) -> tuple[NodeSpec, ...]:
    """Return the nodes of a shape, named in an order that sorts like their numbers.

    Raises: UsageError.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise UsageError(f"--nodes: '{text}' is no shape such as 10xmemory=1000,vcore=4000")
    digits, amounts = match.groups()
    count = int(digits) if len(digits) < 19 else NODES_LIMIT + 1
    if not 1 <= count <= NODES_LIMIT:
        raise UsageError(f"--nodes: '{text}' has {digits} nodes, not 1 to {NODES_LIMIT}")
    capacity = _amounts(text, amounts)
    width = max(4, len(str(count)))
    return tuple(NodeSpec(f"node-{number:0{width}}", capacity) for number in range(1, count + 1))


def _amounts(text: str, amounts: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in amounts.split(","):
        match = _AMOUNT.fullmatch(part)
        if match is None or int(match[2]) > AMOUNT_LIMIT:
            raise UsageError(f"--nodes: '{part}' in '{text}' is not RESOURCE=AMOUNT")
        if match[1] in found:
            raise UsageError(f"--nodes: '{text}' names resource '{match[1]}' twice")
        found[match[1]] = int(match[2])
    return found
