"""Works out anew what is noted for reports and histograms (part of ``check``)."""

from __future__ import annotations

from remuda.core.invariants.require import require
from remuda.core.model.partition import Partition


def check_outstanding(partition: Partition) -> None:
    """The asks to report are those that were tried, want more and were never reported.

    Rules: CYC-30.
    """
    outstanding = partition.outstanding
    listed: list[int] = []
    for path, asks in outstanding.leaves.items():
        right = partition.queue(path) is asks.leaf and len(asks.by_amounts) > 0
        require(right, partition, f"{path} is no leaf with asks to report")
        for number, equal in asks.by_amounts.items():
            alike = all(each.amounts.number == number for each in equal.values())
            require(alike and len(equal) > 0, partition, f"{path}: unlike asks to report")
            listed += equal
    wanted: list[int] = []
    for application in partition.applications.values():
        for request in application.requests.values():
            waits = request.pending > 0 and request.attempted and not request.required_node()
            right = request.outstanding == (waits and not request.reported)
            require(right, partition, f"ask {request.ask.allocation_key} is to be reported, or not")
            if request.outstanding:
                wanted.append(request.number)
    require(sorted(listed) == sorted(wanted), partition, "the asks to report are not listed")
    idle = not outstanding.leaves or not (outstanding.changed or outstanding.all_changed)
    require(idle or outstanding.timer_set, partition, "nobody will look for asks to report")


def check_utilisation(partition: Partition) -> None:
    """Every node that did not change lately stands in the right tenths. Rules: NOD-22."""
    wrong = partition.utilisation.faults(partition.nodes)
    require(not wrong, partition, f"nodes in wrong tenths: {wrong}")
