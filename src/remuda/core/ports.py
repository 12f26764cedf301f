"""The one question the core may ask outward (SI-80).

It is synchronous and free of side effects; whoever supplies it records the answers, so that a
replay can give the same ones.
"""

from __future__ import annotations

from typing import Protocol


class Predicates(Protocol):
    """Asks the owner of an allocation whether it may go to a node."""

    def __call__(self, rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        """Return "" when the node is acceptable, else the RM's reason."""
        ...


def always_true(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
    """The answer for RMs without predicates: every node is acceptable (SI-106)."""
    return ""
