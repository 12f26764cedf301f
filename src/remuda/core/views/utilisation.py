"""Answers the question how full the nodes are (rules: NOD-22)."""

from __future__ import annotations

from remuda.core.messages.queries import UtilisationView
from remuda.core.model.partition import Partition
from remuda.core.model.utilisation import BUCKETS


def utilisation_view(partition: Partition) -> UtilisationView:
    """Return the histogram of a partition, after a look at the nodes that changed.

    Rules: NOD-22. Cost: those, and the number of nodes times types for the copy.
    """
    utilisation = partition.utilisation
    utilisation.renew(partition.nodes)
    names = partition.types.names
    found = {
        names[index]: tuple([utilisation.members(index, number) for number in range(BUCKETS)])
        for index in utilisation.types()
    }
    return UtilisationView(dict(sorted(found.items())))
