"""Allocations that exist already (chapter 70 section 6), and what others run (CYC-29).

They are reported by identity or, without one, by key. Checks see from outside whether they count:
others cannot get their room until they end.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import (
    allocation_rejected,
    known,
    node_accepted,
    placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
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

SUBJECT: Final = Subject("existing", "Existing allocations")


def _recovered(rm: RM, app: str, key: str, cores: int, node_: str = "n") -> None:
    """Report the first allocation of an application."""
    rm.existing(existing(app, key, node_, vcores(cores)))
    rm.expect(
        known(app, key, vcores(cores), node_, f"{key}-0"),
        updated(app, "Accepted"),
        updated(app, "Starting"),
        rule="SI-42",
    )


@SUBJECT.check(
    "accepted",
    "each is answered by a new allocation with its identity, and counts as one that was placed",
    "SI-41",
    "SI-42",
    "SI-35",
    "APP-6",
)
def _accepted(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(
        existing("app", "k1", "n", vcores(1), UUID="u1", allocationID="u1"),
        existing("app", "k2", "n", vcores(2), UUID="k2", allocationID="k2"),
    )
    rm.expect(
        known("app", "k1", vcores(1), "n", "u1"),
        known("app", "k2", vcores(2), "n", "k2"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
    )
    rm.asks(ask("app", "k3", vcores(2)))
    rm.fence("SI-41")
    rm.release(release("app", "u1"))
    gone = released("app", "k1", identity="u1")
    rm.expect(gone, placed("app", "k3", vcores(2), "n"))


@SUBJECT.check("one-name", "either name of the identity is understood", "SI-61", "SI-110")
def _one_name(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(
        existing("app", "k1", "n", vcores(1), UUID="u1", allocationID=""),
        existing("app", "k2", "n", vcores(1), UUID="", allocationID="u2"),
    )
    rm.expect(
        known("app", "k1", vcores(1), "n", "u1"),
        known("app", "k2", vcores(1), "n", "u2"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "rejected", "of unknown partition, node or application, or without a name: rejected", "SI-40"
)
def _rejected(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(
        existing("app", "partition", "n", vcores(1), partitionName="none"),
        existing("app", "node", "none", vcores(1)),
        existing("none", "application", "n", vcores(1)),
        existing("app", "", "n", vcores(1), UUID="", allocationID=""),
    )
    rm.expect(
        allocation_rejected("app", "partition"),
        allocation_rejected("app", "node"),
        allocation_rejected("none", "application"),
        allocation_rejected("app", ""),
        any_order=True,
    )
    rm.place("app", "k", vcores(4), "n")


@SUBJECT.check(
    "rejected-ours",
    "a placeholder without a group, and negative amounts, are rejected",
    "SI-40",
    level=Level.REMUDA,
)
def _rejected_ours(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(
        existing("app", "group", "n", vcores(1), placeholder=True),
        existing("app", "negative", "n", {"vcore": -1000, "memory": 1}),
    )
    rm.expect(
        allocation_rejected("app", "group"), allocation_rejected("app", "negative"), any_order=True
    )
    rm.place("app", "k", vcores(4), "n")


@SUBJECT.check(
    "two-names",
    "one with two different identities is rejected",
    "SI-40",
    "SI-61",
    level=Level.REMUDA,
)
def _two_names(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(existing("app", "k", "n", vcores(1), UUID="u1", allocationID="u2"))
    rm.expect(allocation_rejected("app", "k"))
    rm.place("app", "k", vcores(4), "n")


@SUBJECT.check(
    "by-key",
    "without an identity its key is one, also of what the scheduler named itself",
    "SI-40",
    "SI-43",
    level=Level.REMUDA,
)
def _by_key(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.place("app", "k", vcores(2), "n")
    rm.existing(existing("app", "k", "n", vcores(2), UUID="", allocationID=""))
    rm.expect(known("app", "k", vcores(2), "n", "k-0"))
    rm.existing(existing("app", "x", "n", vcores(1), UUID="", allocationID=""))
    rm.expect(known("app", "x", vcores(1), "n", "x"), updated("app", "Running"))
    rm.asks(ask("app", "waits", vcores(2)))
    rm.fence()
    rm.release(release("app", allocationKey="x"))
    rm.expect(released("app", "x", identity="x"), placed("app", "waits", vcores(2), "n"))


@SUBJECT.check(
    "limits", "the maximum of the queue does not refuse it, and new ones wait", "SI-41", "REC-5"
)
def _limits(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(8)}, [application("app", "root.small")])
    _recovered(rm, "app", "k", 6)
    rm.asks(ask("app", "k2", vcores(1)))
    rm.fence("REC-5", queue="root.small")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "k2", vcores(1), "n"), updated("app", "Running"))


@SUBJECT.check(
    "too-large", "a node may be over-allocated by what exists", "SI-41", level=Level.REMUDA
)
def _too_large(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    _recovered(rm, "app", "k", 6)
    rm.asks(ask("app", "k2", vcores(1)))
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "k2", vcores(1), "n"), updated("app", "Running"))


@SUBJECT.check(
    "twice", "sent again it is answered again and counted once", "SI-43", level=Level.REMUDA
)
def _twice(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    _recovered(rm, "app", "k", 2)
    rm.existing(existing("app", "k", "n", vcores(2)))
    rm.expect(known("app", "k", vcores(2), "n", "k-0"))
    rm.asks(ask("app", "k2", vcores(2)), ask("app", "k3", vcores(1)))
    rm.expect(placed("app", "k2", vcores(2), "n"), updated("app", "Running"))
    rm.fence()


@SUBJECT.check(
    "elsewhere", "what is known on one node is rejected on another", "SI-43", level=Level.REMUDA
)
def _elsewhere(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4), "m": vcores(4)}, ["app"])
    _recovered(rm, "app", "k", 4)
    rm.existing(existing("app", "k", "m", vcores(4)))
    rm.expect(allocation_rejected("app", "k"))
    rm.asks(ask("app", "k2", vcores(4)))
    rm.expect(placed("app", "k2", vcores(4), "m"), updated("app", "Running"))


@SUBJECT.check(
    "resized",
    "sent again with another size it is resized in place",
    "SI-43",
    "CYC-28",
    level=Level.REMUDA,
)
def _resized(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    _recovered(rm, "app", "k", 3)
    rm.asks(ask("app", "k2", vcores(3)))
    rm.fence()
    rm.existing(existing("app", "k", "n", vcores(1)))
    rm.expect(
        known("app", "k", vcores(1), "n", "k-0"),
        placed("app", "k2", vcores(3), "n"),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "waiting-ask",
    "an ask that waits under the same key becomes the allocation",
    "SI-44",
    level=Level.REMUDA,
)
def _waiting_ask(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.asks(ask("app", "k", vcores(5)))
    rm.expect(updated("app", "Accepted"))
    rm.existing(existing("app", "k", "n", vcores(5)))
    rm.expect(known("app", "k", vcores(5), "n", "k-0"), updated("app", "Starting"))
    rm.start({"m": vcores(8)})
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"))


@SUBJECT.check("draining", "a node that is drained takes what exists", "SI-40", "REC-3")
def _draining(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.nodes(node("n", vcores(4), si.NodeInfo.CREATE_DRAIN))
    rm.expect(node_accepted("n"))
    _recovered(rm, "app", "k", 2)


@SUBJECT.check("completing", "it sets an application running that is completing", "SI-41", "APP-4")
def _completing(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    _recovered(rm, "app", "k", 1)
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"))
    rm.existing(existing("app", "k2", "n", vcores(1)))
    rm.expect(known("app", "k2", vcores(1), "n", "k2-0"), updated("app", "Running"))


def _foreign(key: str, node_: str, cores: int) -> si.Allocation:
    return existing("", key, node_, vcores(cores), allocationTags={"foreign": "default"})


@SUBJECT.check(
    "foreign",
    "what others run takes room on its node, whatever occupied amount is reported",
    "CYC-29",
    "NODE-17",
    level=Level.REMUDA,
)
def _foreign_allocations(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(_foreign("theirs", "n", 3))
    rm.expect(known("", "theirs", vcores(3), "n", "theirs-0"))
    rm.asks(ask("app", "k", vcores(2)))
    rm.expect(updated("app", "Accepted"))
    rm.fence()
    rm.release(release("", "theirs-0", allocationKey="theirs"))
    rm.expect(placed("app", "k", vcores(2), "n"), updated("app", "Starting"))
