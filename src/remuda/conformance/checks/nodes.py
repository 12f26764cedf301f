"""Nodes: every cell of the table of chapter 70, and what a node may take (chapter 70 section 9).

Most actions are not answered when they succeed; the state of the node shows in the asks that it
takes.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import (
    allocation_rejected,
    known,
    node_accepted,
    node_rejected,
    placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import ask, existing, node, release, resource, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("nodes", "Nodes")

_REQUIRED: Final = "yunikorn.apache.org/requiredNode"

_CREATE, _CREATE_DRAIN = si.NodeInfo.CREATE, si.NodeInfo.CREATE_DRAIN
_UPDATE, _DECOMISSION = si.NodeInfo.UPDATE, si.NodeInfo.DECOMISSION
_DRAIN, _UNDRAIN = si.NodeInfo.DRAIN_NODE, si.NodeInfo.DRAIN_TO_SCHEDULABLE
_UNKNOWN = si.NodeInfo.UNKNOWN_ACTION_FROM_RM


def _draining(stage: Stage, cores: int = 4) -> RM:
    """Return a resource manager with an application and a node that is drained."""
    rm = stage.rm(apps=["app"])
    rm.nodes(node("n", vcores(cores), _CREATE_DRAIN))
    rm.expect(node_accepted("n"))
    return rm


@SUBJECT.check("create", "a new node is accepted and takes asks", "NODE-1")
def _create(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "create-drain",
    "a node that is created draining takes no ask before it is schedulable",
    "NODE-1",
    "NODE-11",
)
def _create_drain(stage: Stage) -> None:
    rm = _draining(stage)
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.fence()
    rm.nodes(node("n", None, _UNDRAIN))
    rm.expect(placed("app", "k", vcores(1), "n"), updated("app", "Starting"))


@SUBJECT.check("exists", "a node that exists is rejected, and stays as it is", "NODE-1")
def _exists(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1), "d": vcores(4)}, ["app"])
    rm.nodes(node("d", None, _DRAIN))
    rm.quiet()
    for name in ("n", "d"):
        for action in (_CREATE, _CREATE_DRAIN):
            rm.nodes(node(name, vcores(9), action))
            rm.expect(node_rejected(name))
    rm.asks(ask("app", "large", vcores(2)), ask("app", "k", vcores(1)))
    rm.expect(
        updated("app", "Accepted"), placed("app", "k", vcores(1), "n"), updated("app", "Starting")
    )
    rm.fence()


@SUBJECT.check("partition", "a node of an unknown partition is rejected", "NODE-1")
def _partition(stage: Stage) -> None:
    rm = stage.rm()
    rm.nodes(node("n", vcores(1), attributes={"si/node-partition": "none"}))
    rm.expect(node_rejected("n"))
    rm.start({"n": vcores(1)})


@SUBJECT.check(
    "negative", "a node with a negative amount is rejected", "NODE-1", "NODE-7", level=Level.REMUDA
)
def _negative(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.nodes(
        node("capacity", vcores(-1)),
        node("occupied", vcores(1), occupiedResource=resource(vcores(-1))),
        node("n", vcores(-1), _UPDATE),
    )
    rm.expect(
        node_rejected("capacity"), node_rejected("occupied"), node_rejected("n"), any_order=True
    )
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check("unknown-action", "an action that is not known is ignored", "NODE-1")
def _unknown_action(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.nodes(node("n", vcores(9), _UNKNOWN), node("none", vcores(9), _UNKNOWN))
    rm.asks(ask("app", "k", vcores(2)))
    rm.expect(updated("app", "Accepted"))
    rm.fence()


@SUBJECT.check(
    "absent", "what is to be done with an unknown node is rejected", "NODE-10", level=Level.REMUDA
)
def _absent(stage: Stage) -> None:
    rm = stage.rm()
    for action in (_UPDATE, _DRAIN, _UNDRAIN, _DECOMISSION):
        rm.nodes(node("none", None, action))
        rm.expect(node_rejected("none"))
    elsewhere = {"si/node-partition": "none"}
    rm.nodes(node("none", None, _DRAIN, attributes=elsewhere))
    rm.expect(node_rejected("none"))


@SUBJECT.check("drain", "on a draining node allocations stay and no ask goes there", "NODE-11")
def _drain(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.nodes(node("n", None, _DRAIN))
    rm.quiet()
    rm.asks(ask("app", "k2", vcores(1)))
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"))
    rm.fence()
    rm.nodes(node("n", None, _UNDRAIN))
    rm.expect(placed("app", "k2", vcores(1), "n"), updated("app", "Running"))


@SUBJECT.check("drain-again", "draining a node that is draining changes nothing", "NODE-9")
def _drain_again(stage: Stage) -> None:
    rm = _draining(stage)
    rm.nodes(node("n", None, _DRAIN))
    rm.quiet()
    rm.nodes(node("n", None, _UNDRAIN))
    rm.quiet()
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "undrain-in-vain",
    "making a node schedulable that is schedulable is rejected",
    "NODE-9",
    level=Level.REMUDA,
)
def _undrain_in_vain(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.nodes(node("n", None, _UNDRAIN))
    rm.expect(node_rejected("n"))
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check("required", "an ask that requires a draining node goes there", "NODE-11", "NOD-8")
def _required(stage: Stage) -> None:
    rm = _draining(stage)
    rm.asks(ask("app", "k", vcores(1), tags={_REQUIRED: "n"}))
    rm.expect(
        updated("app", "Accepted"), placed("app", "k", vcores(1), "n"), updated("app", "Starting")
    )


@SUBJECT.check("capacity", "the capacity may change; nothing is evicted", "NODE-7", "NODE-3")
def _capacity(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(2), 2))
    rm.expect(updated("app", "Accepted"))
    rm.nodes(node("n", vcores(4), _UPDATE))
    rm.expect(
        placed("app", "k", vcores(2), "n"),
        placed("app", "k", vcores(2), "n", number=1),
        updated("app", "Starting"),
        updated("app", "Running"),
    )
    rm.nodes(node("n", vcores(3), _UPDATE))
    rm.quiet()
    rm.asks(ask("app", "k2", vcores(1)))
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "k2", vcores(1), "n"))


@SUBJECT.check(
    "occupied", "what others occupy takes room, from creation and by update", "NODE-3", "NODE-7"
)
def _occupied(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.nodes(node("n", vcores(4), occupiedResource=resource(vcores(3))))
    rm.expect(node_accepted("n"))
    rm.asks(ask("app", "k", vcores(2)))
    rm.expect(updated("app", "Accepted"))
    rm.fence()
    rm.nodes(node("n", None, _UPDATE, occupiedResource=resource(vcores(2))))
    rm.expect(placed("app", "k", vcores(2), "n"), updated("app", "Starting"))


@SUBJECT.check(
    "attributes",
    "an update with attributes alone changes no room, and ready=false stops nothing",
    "NODE-7",
    "NODE-8",
    "NODE-12",
)
def _attributes(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.nodes(node("n", vcores(2), attributes={"ready": "false", "si/hostname": "host"}))
    rm.expect(node_accepted("n"))
    rm.place("app", "k", vcores(1), "n")
    rm.nodes(node("n", None, _UPDATE, attributes={"si/rackname": "r", "ready": "odd"}))
    rm.quiet()
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(placed("app", "k2", vcores(1), "n"), updated("app", "Running"))


@SUBJECT.check(
    "existing",
    "a node comes with what runs on it, without a new allocation being told",
    "NODE-6",
    "REC-7",
)
def _existing(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    runs = [existing("app", "k1", "n", vcores(1)), existing("app", "k2", "n", vcores(2))]
    rm.nodes(node("n", vcores(4), existingAllocations=runs))
    rm.expect(
        node_accepted("n"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
    )
    rm.asks(ask("app", "k3", vcores(2)))
    rm.fence()
    rm.release(release("app", "k1-0"))
    rm.expect(released("app", "k1"), placed("app", "k3", vcores(2), "n"))


@SUBJECT.check(
    "existing-bad",
    "a node with one bad allocation is rejected and leaves nothing behind",
    "NODE-6",
)
def _existing_bad(stage: Stage) -> None:
    rm = stage.rm({"m": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "m")
    runs = [
        existing("app", "k1", "n", vcores(1)),
        existing("app", "k2", "n", vcores(1)),
        existing("none", "bad", "n", vcores(1)),
    ]
    rm.nodes(node("n", vcores(4), existingAllocations=runs))
    rm.expect(node_rejected("n"), updated("app", "Running"))
    rm.existing(existing("app", "k3", "n", vcores(1)))
    rm.expect(allocation_rejected("app", "k3"))
    rm.release(release("app", "k1-0"), release("app", "k2-0"))
    rm.quiet()
    rm.start({"n": vcores(4)})
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"))


@SUBJECT.check(
    "existing-bad-only",
    "an application that loses its only allocation with a rejected node completes",
    "NODE-6",
    "APP-8",
)
def _existing_bad_only(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    runs = [existing("app", "k1", "n", vcores(1)), existing("none", "bad", "n", vcores(1))]
    rm.nodes(node("n", vcores(4), existingAllocations=runs))
    rm.expect(
        node_rejected("n"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Completing"),
    )


@SUBJECT.check(
    "decommission",
    "what runs on a node that goes is released, and the ID is free",
    "NODE-13",
    "NODE-14",
)
def _decommission(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app", "other"])
    rm.place("app", "k", vcores(1), "n")
    rm.place("other", "k", vcores(1), "n")
    rm.nodes(node("n", None, _DECOMISSION))
    rm.expect(
        released("app", "k"),
        released("other", "k"),
        updated("app", "Completing"),
        updated("other", "Completing"),
        any_order=True,
    )
    rm.start({"n": vcores(1)})
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(updated("app", "Running"), placed("app", "k2", vcores(1), "n"))


@SUBJECT.check(
    "decommission-waiting",
    "an application that still asks goes on when its node goes",
    "NODE-13",
    "APP-22",
)
def _decommission_waiting(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.asks(ask("app", "k2", vcores(1)))
    rm.quiet()
    rm.nodes(node("n", None, _DECOMISSION))
    rm.expect(released("app", "k"))
    rm.quiet()
    rm.start({"m": vcores(1)})
    rm.expect(placed("app", "k2", vcores(1), "m"), updated("app", "Running"))


@SUBJECT.check(
    "decommission-draining", "a draining node, and one with occupied room, may go", "NODE-14"
)
def _decommission_draining(stage: Stage) -> None:
    rm = _draining(stage)
    rm.existing(existing("app", "k", "n", vcores(1)))
    rm.expect(
        known("app", "k", vcores(1), "n", "k-0"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.nodes(node("n", None, _UPDATE, occupiedResource=resource(vcores(2))))
    rm.nodes(node("n", None, _DECOMISSION))
    rm.expect(released("app", "k"), updated("app", "Completing"))
    rm.nodes(node("n", vcores(1), _CREATE_DRAIN))
    rm.expect(node_accepted("n"))
