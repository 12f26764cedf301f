"""Managers, readers and the scheduler at the same time: nobody waits for ever, sums agree."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pytest

from remuda.core.messages import queries as q
from remuda.core.messages.application_views import ApplicationView
from remuda.edges.inproc import InProcessScheduler
from remuda.si.pb import si_pb2 as si
from tests.unit.edges.cluster import Rm, application, asks, nodes, registering, start

SECONDS = 60.0
ROUNDS = 20
EACH = 10


@contextmanager
def meanwhile(*works: Callable[[], object]) -> Iterator[None]:
    """Do things on threads of their own; on leaving, all of them have ended without an error."""
    failures: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []


@pytest.mark.remuda_rule("SEED-228", "RM-9", "RM-10", "RM-11")
def test_a_manager_that_starts_anew_again_and_again_holds_up_no_other(
    scheduler: InProcessScheduler,
) -> None:
    steady, restless = Rm(), [Rm() for _ in range(ROUNDS)]
    start(scheduler, steady, "n1")

    def start_anew() -> None:
        for rm in restless:
            scheduler.register_resource_manager(registering("other"), rm)
            scheduler.update_node(nodes("n1", rm_id="other"))
            scheduler.update_application(application(rm_id="other"))
            scheduler.update_allocation(asks("k0", "k1", rm_id="other"))

    with meanwhile(start_anew):
        for number in range(ROUNDS):
            scheduler.update_allocation(asks(f"k{number}", vcore=100))
    scheduler.wait_idle()
    assert [entry.allocationKey for entry in steady.placed] == [f"k{n}" for n in range(ROUNDS)]
    assert restless[-1].log == [
        "accepted n1",
        "accepted a",
        "a Accepted",
        "a Starting",
        "new k0 on n1",
        "a Running",
        "new k1 on n1",
    ]
    partitions = scheduler.core.query(q.PartitionsQuery()).result(SECONDS)
    assert isinstance(partitions, tuple)
    allocated = {p.rm_id: p.allocated for p in partitions if isinstance(p, q.PartitionView)}
    assert allocated == {"rm": {"vcore": 2_000}, "other": {"vcore": 2_000}}


@pytest.mark.remuda_rule("SEED-223", "SEED-228", "SI-2", "QUE-2", "LIM-30")
def test_while_others_read_and_work_comes_and_goes_every_answer_adds_up(
    scheduler: InProcessScheduler,
) -> None:
    rm, done = Rm(), threading.Event()
    start(scheduler, rm, "n1", "n2", "n3")
    answers: Counter[str] = Counter()

    def read() -> None:
        while not done.is_set():
            answers["queues"] += adds_up(queues(scheduler))
            answers["nodes"] += node_sums(scheduler) is not None

    def work(name: str) -> None:
        for number in range(ROUNDS):
            keys = [f"{name}-{number}-{each}" for each in range(EACH)]
            scheduler.update_allocation(asks(*keys, vcore=10))
            scheduler.update_allocation(releases(keys[: EACH // 2]))

    with meanwhile(read, read):
        with meanwhile(lambda: work("x"), lambda: work("y")):
            pass
        scheduler.wait_idle()
        done.set()
    assert min(answers["queues"], answers["nodes"]) > 0
    scheduler.wait_idle()
    (app,) = applications(scheduler)
    root = queues(scheduler)
    assert root.allocated == app.used == node_sums(scheduler) == user_usage(scheduler)
    assert root.allocated["vcore"] == 10 * len(app.allocations)
    still_asked = root.pending.get("vcore", 0) // 10
    assert len(app.allocations) + still_asked + len(released(rm)) == 2 * ROUNDS * EACH


def releases(keys: Iterable[str]) -> si.AllocationRequest:
    """Let go what the keys have, wanted or placed."""
    gone = [
        si.AllocationRelease(applicationID="a", allocationKey=key, terminationType=si.STOPPED_BY_RM)
        for key in keys
    ]
    wanted = si.AllocationReleasesRequest(allocationsToRelease=gone)
    return si.AllocationRequest(rmID="rm", releases=wanted)


def released(rm: Rm) -> list[str]:
    """What the manager was told has ended."""
    return [line for line in rm.log if line.startswith("released ")]


def queues(scheduler: InProcessScheduler) -> q.QueueView:
    found = scheduler.core.query(q.QueuesQuery("default", "rm")).result(SECONDS)
    assert isinstance(found, q.QueueView)
    return found


def adds_up(queue: q.QueueView) -> bool:
    """Whether every parent uses and wants what its children do together."""
    if not queue.children:
        return True
    for kind in ("vcore", "memory"):
        assert queue.allocated.get(kind, 0) == sum(
            child.allocated.get(kind, 0) for child in queue.children
        )
        assert queue.pending.get(kind, 0) == sum(
            child.pending.get(kind, 0) for child in queue.children
        )
    return all(adds_up(child) for child in queue.children)


def node_sums(scheduler: InProcessScheduler) -> dict[str, int]:
    """What runs on all nodes; on each it is the sum of its allocations."""
    found = scheduler.core.query(q.NodesQuery("default", "rm")).result(SECONDS)
    assert isinstance(found, tuple)
    total: Counter[str] = Counter()
    for node in found:
        assert isinstance(node, q.NodeView)
        used = sum(allocation.resource["vcore"] for allocation in node.allocations)
        assert node.allocated.get("vcore", 0) == used
        total.update(node.allocated)
    return dict(total)


def applications(scheduler: InProcessScheduler) -> list[ApplicationView]:
    found = scheduler.core.query(q.ApplicationsQuery("default", "", "rm")).result(SECONDS)
    assert isinstance(found, tuple)
    return [view for view in found if isinstance(view, ApplicationView)]


def user_usage(scheduler: InProcessScheduler) -> object:
    found = scheduler.core.query(q.UsageQuery("default", False, "rm")).result(SECONDS)
    assert isinstance(found, tuple)
    (user,) = found
    assert isinstance(user, q.UsageView)
    return user.queues.used
