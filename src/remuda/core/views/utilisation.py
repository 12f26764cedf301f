"""Answers the question how full the nodes are (rules: NOD-22, REST-86 to REST-88).

The histogram is of exact shares, for whoever asks every second. The REST API shows whole percent.
"""

from __future__ import annotations

from remuda.base.scores import dominant_resource_type, percentage
from remuda.core.messages.node_queries import NodePercentsView
from remuda.core.messages.queries import UtilisationView
from remuda.core.model.partition import Partition
from remuda.core.model.utilisation import BUCKETS
from remuda.core.model.vectors import amount_at


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


def node_percents(partition: Partition) -> NodePercentsView:
    """Return how much of what each node has is allocated, and of what the most.

    A node counts for the types that it has something of. Rules: REST-68, REST-86, REST-88.
    Cost: nodes times types.
    """
    names = partition.types.names
    found: dict[str, list[tuple[str, int]]] = {}
    for node_id, node in sorted(partition.nodes.items()):
        held = node.allocated
        for index, total in node.total.need:
            percent = percentage(amount_at(held, index), total)
            found.setdefault(names[index], []).append((node_id, percent))
    capacity = partition.types.resource(partition.capacity)
    return NodePercentsView(
        types={name: tuple(nodes) for name, nodes in sorted(found.items())},
        dominant=dominant_resource_type(
            partition.types.resource(partition.root.allocated), capacity
        ),
        capacity=any(capacity.values()),
    )
