"""Names of partitions, and that each resource manager has its own (chapter 70 section 2).

Inside the scheduler a name has the rmID in front. On the wire only its own resource manager may
write it so, and the scheduler never does.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import (
    accepted,
    allocation_rejected,
    ask_rejected,
    node_accepted,
    node_rejected,
    placed,
    rejected,
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
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("partitions", "Names of partitions")

_FOR_ALL: Final = """
partitions:
  - {{name: {name}, queues: [{{name: root, submitacl: "*", queues: [{{name: a}}]}}]}}
"""

_TWO: Final = """
partitions:
  - {name: default, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}
  - {name: gpu, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}
"""


@SUBJECT.check(
    "foreign",
    "names of another resource manager's partitions are unknown partitions",
    "RM-22",
    level=Level.REMUDA,
)
def _foreign_partition(stage: Stage) -> None:
    owner, rm = stage.rm(), stage.rm()
    owner.start({"n": vcores(4)}, ["app"])
    owner.place("app", "k", vcores(4), "n")
    theirs = f"[{owner.rm_id}]default"
    rm.nodes(node("n2", vcores(1), attributes={"si/node-partition": theirs}))
    rm.expect(node_rejected("n2"), rule="RM-22")
    rm.applications(application("app2", partitionName=theirs))
    rm.expect(rejected("app2"), rule="RM-22")
    rm.asks(ask("app", "k2", vcores(1), partitionName=theirs))
    rm.expect(ask_rejected("app", "k2"), rule="RM-22")
    rm.release(release("app", "k-0", partitionName=theirs))
    rm.applications(remove=[si.RemoveApplicationRequest(applicationID="app", partitionName=theirs)])
    rm.quiet("RM-22")
    owner.quiet("RM-22")
    owner.release(release("app", "k-0"))
    owner.expect(released("app", "k"), updated("app", "Completing"), rule="RM-22")


@SUBJECT.check("own", "[rmID]default and the empty name both mean the partition default", "RM-21")
def _own_partition(stage: Stage) -> None:
    rm = stage.rm()
    mine = f"[{rm.rm_id}]default"
    rm.nodes(
        node("n1", vcores(1), attributes={"si/node-partition": mine}),
        node("n2", vcores(1), attributes={"si/node-partition": "default"}),
    )
    rm.expect(node_accepted("n1"), node_accepted("n2"), rule="RM-22")
    rm.applications(application("app", partitionName=mine))
    rm.expect(accepted("app"), rule="RM-22")
    rm.place("app", "k", vcores(1), count=2)


@SUBJECT.check(
    "plain-names",
    "every message that goes out has the plain name of the partition",
    "RM-23",
    level=Level.REMUDA,
)
def _plain_names(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(1)))
    heard = rm.expect(
        placed("app", "k", vcores(1), "n"), updated("app", "Accepted"), updated("app", "Starting")
    )
    name = getattr(heard[0].element, "partitionName")  # noqa: B009 - a message of any kind
    if name != "default":
        raise rm.failure("RM-23", "partitionName: default", [heard[0].text()])


@SUBJECT.check("two", "the same names in two partitions are different things", "SI-12", "RM-21")
def _two_partitions(stage: Stage) -> None:
    rm = stage.rm(config=_TWO)
    gpu = {"si/node-partition": "gpu"}
    rm.nodes(node("n", vcores(1)), node("n", vcores(2), attributes=gpu))
    rm.expect(node_accepted("n"), node_accepted("n"), rule="SI-12")
    rm.applications(application("app"), application("app", partitionName="gpu"))
    rm.expect(accepted("app"), accepted("app"), rule="SI-12")
    rm.asks(ask("app", "k", vcores(2), partitionName="gpu"))
    rm.expect(
        updated("app", "Accepted"),
        updated("app", "Starting"),
        placed("app", "k", vcores(2), "n"),
        rule="SI-12",
    )
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(
        updated("app", "Accepted"),
        updated("app", "Starting"),
        placed("app", "k", vcores(1), "n"),
        rule="SI-12",
    )


@SUBJECT.check(
    "of-allocations",
    "a node with an allocation of another partition is rejected",
    "RM-25",
    level=Level.REMUDA,
)
def _allocations_partition(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    allocation = existing("app", "k", "n", vcores(1), partitionName="gpu")
    rm.nodes(node("n", vcores(1), existingAllocations=[allocation]))
    rm.expect(node_rejected("n"), rule="RM-25")
    rm.existing(existing("app", "k", "n", vcores(1)))
    rm.expect(allocation_rejected("app", "k"), rule="RM-25")


@SUBJECT.check(
    "default",
    "a partition may be called Default in the configuration and is default",
    "RM-24",
)
def _default(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"], config=_FOR_ALL.format(name="Default"))
    rm.place("app", "k", vcores(1), "n")
