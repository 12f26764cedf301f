"""The sequences of chapter 70, and how a resource manager comes back (chapter 80 section 4).

If two ways lead to the same result, the results are compared.
"""

from __future__ import annotations

from typing import Any, Final

from remuda.conformance.expectations import (
    accepted,
    allocation_rejected,
    ask_rejected,
    known,
    node_accepted,
    node_rejected,
    placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import (
    application,
    ask,
    existing,
    node,
    release,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("recovery", "Sequences and recovery")

_FORCE: Final = {"application.create.force": "true"}
_UNDRAIN = si.NodeInfo.DRAIN_TO_SCHEDULABLE


@SUBJECT.check(
    "start", "register, node, application, ask: the sequence of a start", "SI-79", "SI-32", "RM-12"
)
def _start(stage: Stage) -> None:
    rm = stage.unregistered()
    rm.register()
    rm.open()
    rm.nodes(node("n1", vcores(2)))
    rm.expect(node_accepted("n1"))
    rm.applications(application("a1"))
    rm.expect(accepted("a1"))
    rm.asks(ask("a1", "k1", vcores(1), 2))
    rm.expect(
        updated("a1", "Accepted"),
        updated("a1", "Starting"),
        placed("a1", "k1", vcores(1), "n1"),
        updated("a1", "Running"),
        placed("a1", "k1", vcores(1), "n1", number=1),
    )


@SUBJECT.check(
    "end",
    "release, node gone, unknown application: the sequences of an end",
    "SI-60",
    "NODE-13",
    "SI-31",
)
def _end(stage: Stage) -> None:
    rm = stage.rm({"n1": vcores(2)}, ["a1"])
    rm.place("a1", "k1", vcores(1), "n1", 2)
    rm.release(release("a1", "k1-0"))
    rm.expect(released("a1", "k1"), rule="SI-60")
    rm.nodes(node("n1", None, si.NodeInfo.DECOMISSION))
    rm.expect(updated("a1", "Completing"), released("a1", "k1", number=1), rule="NODE-13")
    rm.asks(ask("a9", "kx", vcores(1)))
    rm.expect(ask_rejected("a9", "kx"), rule="SI-31")


def _bulk(rm: RM) -> None:
    """Replay nodes drained, applications, allocations, then asks; then undrain."""
    rm.nodes(*(node(n, vcores(4), si.NodeInfo.CREATE_DRAIN) for n in ("n1", "n2")))
    rm.expect(node_accepted("n1"), node_accepted("n2"), any_order=True)
    rm.start(apps=["a1", application("a2", "root.gone", tags=_FORCE)])
    rm.existing(
        existing("a1", "x1", "n1", vcores(2)),
        existing("a2", "x2", "n2", vcores(1)),
        existing("a2", "x3", "n2", vcores(1)),
    )
    rm.expect(
        known("a1", "x1", vcores(2), "n1", "x1-0"),
        known("a2", "x2", vcores(1), "n2", "x2-0"),
        known("a2", "x3", vcores(1), "n2", "x3-0"),
        updated("a1", "Accepted"),
        updated("a1", "Starting"),
        updated("a2", "Accepted"),
        updated("a2", "Starting"),
        updated("a2", "Running"),
        rule="REC-3",
    )


def _by_node(rm: RM) -> None:
    """Replay applications, then nodes with their running allocations."""
    rm.start(apps=["a1", application("a2", "root.gone", tags=_FORCE)])
    runs = {
        "n1": [existing("a1", "x1", "n1", vcores(2))],
        "n2": [existing("a2", "x2", "n2", vcores(1)), existing("a2", "x3", "n2", vcores(1))],
    }
    rm.nodes(*(node(n, vcores(4), existingAllocations=runs[n]) for n in ("n1", "n2")))
    rm.expect(
        node_accepted("n1"),
        node_accepted("n2"),
        updated("a1", "Accepted"),
        updated("a1", "Starting"),
        updated("a2", "Accepted"),
        updated("a2", "Starting"),
        updated("a2", "Running"),
        rule="REC-3",
    )


@SUBJECT.check(
    "bulk",
    "nodes drained, applications, allocations, asks, undrain: nothing is placed before the end",
    "REC-2",
    "REC-3",
    "REC-4",
    "REC-7",
)
def _in_bulk(stage: Stage) -> None:
    rm = stage.rm()
    _bulk(rm)
    rm.asks(ask("a1", "k7", vcores(2)))
    rm.fence("REC-3")
    rm.nodes(node("n1", None, _UNDRAIN))
    rm.expect(placed("a1", "k7", vcores(2), "n1"), updated("a1", "Running"))
    rm.nodes(node("n2", None, _UNDRAIN))


@SUBJECT.check(
    "by-node", "applications, then nodes with what runs on them, then asks", "REC-3", "REC-7"
)
def _node_by_node(stage: Stage) -> None:
    rm = stage.rm()
    _by_node(rm)
    rm.asks(ask("a1", "k7", vcores(3)))
    rm.fence()
    rm.release(release("a2", "x2-0"))
    rm.expect(released("a2", "x2"), placed("a1", "k7", vcores(3), "n2"), updated("a1", "Running"))


@SUBJECT.check(
    "same-end",
    "both ways of recovery end with the same totals of queues and nodes",
    "REC-3",
    needs=[Needs.REST],
)
def _same_end(stage: Stage) -> None:
    found = []
    for replay in (_bulk, _by_node):
        rm = stage.rm()
        replay(rm)
        if replay is _bulk:
            rm.nodes(*(node(n, None, _UNDRAIN) for n in ("n1", "n2")))
        rm.quiet()
        found.append(_totals(stage, rm))
    stage.require(found[0] == found[1], "REC-3", f"after both ways {found[0]}", found[1])
    wanted = {"queue root": vcores(4), "node n1": vcores(2), "node n2": vcores(2)}
    seen = {name: found[0].get(name) for name in wanted}
    stage.require(seen == wanted, "SI-41", f"allocated {wanted}", seen)


def _totals(stage: Stage, rm: RM) -> dict[str, object]:
    """Return the allocated amounts of queues and nodes, by name."""
    partition = "/ws/v1/partition/default"
    totals: dict[str, object] = {}
    waiting: list[dict[str, Any]] = [stage.get(f"{partition}/queues", rm, "REST-29")]
    while waiting:
        queue = waiting.pop()
        totals[f"queue {queue['queuename']}"] = queue.get("allocatedResource")
        waiting += queue.get("children") or ()
    for each in stage.get(f"{partition}/nodes", rm, "REST-31"):
        totals[f"node {each['nodeID']}"] = each.get("allocated")
    return totals


@SUBJECT.check(
    "refused",
    "a node that comes before its application is rejected, and accepted after it",
    "REC-2",
    "NODE-6",
)
def _refused(stage: Stage) -> None:
    rm = stage.rm()
    info = node("n1", vcores(4), existingAllocations=[existing("a9", "x1", "n1", vcores(1))])
    rm.nodes(info)
    rm.expect(node_rejected("n1"))
    rm.start(apps=["a9"])
    rm.nodes(info)
    rm.expect(node_accepted("n1"), updated("a9", "Accepted"), updated("a9", "Starting"))


@SUBJECT.check(
    "twice",
    "what is replayed twice is there once",
    "REC-8",
    "SI-43",
    "SI-34",
    level=Level.REMUDA,
)
def _twice(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(existing("app", "x", "n", vcores(1)))
    rm.expect(
        known("app", "x", vcores(1), "n", "x-0"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.asks(ask("app", "k", vcores(2)))
    rm.expect(placed("app", "k", vcores(2), "n"), updated("app", "Running"))
    rm.nodes(node("n", vcores(4)))
    rm.expect(node_rejected("n"))
    rm.applications(application("app"))
    rm.expect(rejected("app"))
    rm.existing(existing("app", "x", "n", vcores(1)))
    rm.expect(known("app", "x", vcores(1), "n", "x-0"))
    rm.asks(ask("app", "k", vcores(2)))
    rm.fence()
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(placed("app", "k2", vcores(1), "n"))


@SUBJECT.check(
    "allocation-first",
    "an allocation of an unknown application is rejected, and accepted after it",
    "REC-2",
    "SI-40",
)
def _allocation_first(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)})
    rm.existing(existing("app", "x", "n", vcores(1)))
    rm.expect(allocation_rejected("app", "x"))
    rm.start(apps=["app"])
    rm.existing(existing("app", "x", "n", vcores(1)))
    rm.expect(
        known("app", "x", vcores(1), "n", "x-0"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )


@SUBJECT.check(
    "new-life",
    "a resource manager that registers again replays everything and goes on",
    "REC-1",
    "REC-12",
    "REC-13",
    "RM-9",
)
def _new_life(stage: Stage) -> None:
    rm = stage.rm({"n1": vcores(4), "n2": vcores(4)}, ["a1"])
    rm.place("a1", "x1", vcores(2))
    rm.hang_up()
    rm.register(rule="RM-9")
    rm.open()
    _by_node(rm)
    rm.release(release("a1", "x1-0"))
    rm.expect(released("a1", "x1"), updated("a1", "Completing"))
