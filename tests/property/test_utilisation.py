"""The histogram of how full nodes are is that of the nodes there are, after any command.

It is kept up to date from notes of what changed (NOD-22), so it is asked for at any time: after
every command, or only now and then.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest

from remuda.core.messages import node_queries as nq
from remuda.core.messages import queries as q
from remuda.core.scheduler import Scheduler
from tests.reference.driver import apply
from tests.reference.tastes import refuse_some
from tests.reference.workloads import record

Tenths = dict[str, tuple[tuple[str, ...], ...]]


def homes(scheduler: Scheduler) -> list[tuple[str, str]]:
    """Name and RM of every partition that can be named."""
    found = scheduler.view(q.PartitionsQuery())
    assert isinstance(found, tuple)
    views = [view for view in found if isinstance(view, q.PartitionView)]
    return [(view.name, view.rm_id) for view in views if view.state != "Draining"]


def worked_out(scheduler: Scheduler, name: str, rm_id: str) -> Tenths:
    """The histogram of the nodes as they are shown: NOD-22 word for word."""
    nodes = scheduler.view(q.NodesQuery(name, rm_id))
    assert isinstance(nodes, tuple)
    found: dict[str, tuple[list[str], ...]] = {}
    for node in nodes:
        assert isinstance(node, q.NodeView)
        for kind, total in node.capacity.items():
            if total > 0:
                share = min(Fraction(node.allocated.get(kind, 0), total), Fraction(1))
                tenth = max(ceil(10 * share) - 1, 0)
                tenths = found.setdefault(kind, tuple([] for _ in range(10)))
                tenths[tenth].append(node.node_id)
    return {kind: tuple(tuple(sorted(ids)) for ids in tenths) for kind, tenths in found.items()}


def check_run(seed: int, every: int) -> int:
    """One history; returns how many different histograms were compared."""
    scheduler = Scheduler(refuse_some)
    seen: set[str] = set()
    for number, given in enumerate(record(seed, 60).inputs):
        apply(scheduler, given)
        if number % every:
            continue
        for name, rm_id in homes(scheduler):
            view = scheduler.view(nq.UtilisationQuery(name, rm_id))
            assert isinstance(view, nq.UtilisationView)
            expected = worked_out(scheduler, name, rm_id)
            assert dict(view.types) == expected
            seen.add(repr(expected))
    return len(seen)


@pytest.mark.remuda_rule("NOD-22")
@pytest.mark.parametrize("every", [1, 7])
def test_the_histogram_is_that_of_the_nodes_there_are(every: int) -> None:
    compared = [check_run(seed, every) for seed in range(5000, 5015)]
    assert sum(compared) > 15
