"""Answers the question how full the nodes are (rules: NOD-22, REST-86 to REST-88).

The histogram is of exact shares, for whoever asks every second. The REST API shows whole
percent.
"""

from __future__ import annotations

from remuda.core.messages.node_queries import NodeLoadsView, UtilisationView
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


def node_loads(partition: Partition) -> NodeLoadsView:
    """Return what each node has, and what is allocated of it. Rules: REST-86, REST-88.

    Cost: nodes; who asks works out percentages by himself.
    """
    return NodeLoadsView(
        types=tuple(partition.types.names),
        nodes=tuple(
            [
                (node_id, node.total.need, tuple(node.allocated.amounts))
                for node_id, node in partition.nodes.items()
            ]
        ),
        capacity=partition.types.resource(partition.capacity),
        allocated=partition.types.resource(partition.root.allocated),
    )
