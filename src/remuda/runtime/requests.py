"""The requests of resource managers, and how much of a bounded queue each takes."""

from __future__ import annotations

from typing import TypeAlias

from remuda.core.messages.commands import UpdateAllocations, UpdateApplications, UpdateNodes

Request: TypeAlias = UpdateApplications | UpdateAllocations | UpdateNodes


def weight(request: Request) -> int:
    """How many elements a request carries, plus one for itself."""
    if isinstance(request, UpdateAllocations):
        return (
            1
            + len(request.asks)
            + len(request.allocations)
            + len(request.releases)
            + len(request.ask_releases)
        )
    if isinstance(request, UpdateApplications):
        return 1 + len(request.new) + len(request.remove)
    return 1 + sum(1 + len(node.existing) for node in request.nodes)
