"""A configuration that changes while everything runs, as far as the wire shows it (chapter 70).

The call belongs to remuda.v1; its consequences are checked through the three streams.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import (
    accepted,
    node_accepted,
    node_rejected,
    placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import QUEUES, application, ask, node, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import extension_pb2 as ext
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("configuration", "Changes of the configuration")

_NEEDS: Final = [Needs.EXTENSION]

_QUEUE_B: Final = "          - name: b\n            properties: {application.sort.policy: fifo}\n"
_WITHOUT_B: Final = QUEUES.replace(_QUEUE_B, "")

_ONE: Final = """
partitions:
  - {name: default, queues: [{name: root, submitacl: "*", queues: [{name: a}]}]}
"""
_TWO: Final = f"""{_ONE.rstrip()}
  - {{name: gpu, queues: [{{name: root, submitacl: "*", queues: [{{name: a}}]}}]}}
"""
_SECOND_BAD: Final = f"""{_ONE.replace("a}", "a}, {name: b}").rstrip()}
  - {{name: gpu, queues: [{{name: root, queues: [{{name: a}}, {{name: a}}]}}]}}
"""
_GPU: Final = {"si/node-partition": "gpu"}


def _update(stage: Stage, rm: RM, config: str) -> ext.UpdateConfigurationResponse:
    """Send a configuration and return the answer."""
    return stage.call(
        stage.endpoint.extension.UpdateConfiguration,
        si.UpdateConfigurationRequest(rmID=rm.rm_id, config=config),
        "SI-85",
    )


def _change(stage: Stage, rm: RM, config: str) -> None:
    """Put a configuration in force, which has to succeed."""
    answer = _update(stage, rm, config)
    fine = answer.success and answer.changed
    stage.require(fine, "SI-85", "success: true, changed: true", answer, "UpdateConfiguration")


def _refuse(stage: Stage, rm: RM, config: str, rule: str) -> None:
    """Try to put a configuration in force, which has to fail."""
    answer = _update(stage, rm, config)
    fine = not answer.success and bool(answer.reason)
    stage.require(fine, rule, "success: false with a reason", answer, "UpdateConfiguration")


@SUBJECT.check(
    "unregistered",
    "who did not register changes nothing",
    "SI-85",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _unregistered(stage: Stage) -> None:
    request = si.UpdateConfigurationRequest(rmID=f"{stage.prefix}-none", config=QUEUES)
    stage.refusal(stage.endpoint.extension.UpdateConfiguration, request, "SI-85")


@SUBJECT.check("same", "the same text again succeeds and changes nothing", "SI-85", needs=_NEEDS)
def _same(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    answer = _update(stage, rm, QUEUES)
    fine = answer.success and not answer.changed
    stage.require(fine, "SI-85", "success: true, changed: false", answer, "UpdateConfiguration")
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check("invalid", "an invalid text is refused, and all stays", "SI-85", needs=_NEEDS)
def _invalid(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [application("app", "root.b")])
    for config in ("partitions: [", _WITHOUT_B.replace("- name: small", "- name: a")):
        _refuse(stage, rm, config, "SI-85")
    rm.start(apps=[application("app2", "root.b")])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "all-or-nothing",
    "a fault in the second partition keeps the first as it is",
    "SI-86",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _all_or_nothing(stage: Stage) -> None:
    rm = stage.rm(config=_TWO)
    _refuse(stage, rm, _SECOND_BAD, "SI-86")
    rm.applications(application("app", "root.b"))
    rm.expect(rejected("app"))
    rm.start(apps=["app"])


@SUBJECT.check(
    "in-force",
    "when it is answered, all of it is in force: new queues, new limits",
    "SI-85",
    "SI-88",
    "RLD-21",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _in_force(stage: Stage) -> None:
    small = "root.small"
    rm = stage.rm({"n": vcores(8)}, [application("app", small)], config=_WITHOUT_B)
    rm.place("app", "k", vcores(4), "n")
    rm.asks(ask("app", "k2", vcores(2)))
    rm.fence(queue=small)
    _change(stage, rm, QUEUES.replace("max: {vcore: 4}", "max: {vcore: 6}"))
    rm.expect(placed("app", "k2", vcores(2), "n"), updated("app", "Running"), rule="RLD-21")
    rm.start(apps=[application("new", "root.b")])
    _change(stage, rm, QUEUES.replace("max: {vcore: 4}", "max: {vcore: 1}"))
    rm.asks(ask("app", "k3", vcores(1)))
    rm.fence("RLD-21", queue=small)
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), rule="RLD-21")
    rm.fence("RLD-21", queue=small)


@SUBJECT.check(
    "queue-back",
    "a queue that was left out and comes back takes applications again",
    "OBJ-2",
    "OBJ-3",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _queue_back(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [application("old", "root.b")])
    _change(stage, rm, _WITHOUT_B)
    rm.applications(application("new", "root.b"))
    rm.expect(rejected("new"), rule="OBJ-3")
    _change(stage, rm, QUEUES)
    rm.start(apps=[application("new", "root.b")])
    rm.place("old", "k", vcores(1), "n")


@SUBJECT.check(
    "partition-comes",
    "a new partition takes nodes and applications",
    "SI-87",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _partition_comes(stage: Stage) -> None:
    rm = stage.rm(config=_ONE)
    rm.nodes(node("n", vcores(1), attributes=_GPU))
    rm.expect(node_rejected("n"))
    _change(stage, rm, _TWO)
    rm.nodes(node("n", vcores(1), attributes=_GPU))
    rm.expect(node_accepted("n"))
    rm.applications(application("app", partitionName="gpu"))
    rm.expect(accepted("app"))


@SUBJECT.check(
    "partition-goes",
    "with a partition its applications fail, what ran is released, and its name is unknown",
    "OBJ-9",
    "APP-11",
    "SI-78",
    "SI-87",
    level=Level.REMUDA,
    needs=_NEEDS,
)
def _partition_goes(stage: Stage) -> None:
    rm = stage.rm({"d": vcores(1)}, ["stays"], config=_TWO)
    rm.nodes(node("n", vcores(1), attributes=_GPU))
    rm.expect(node_accepted("n"))
    rm.applications(application("app", partitionName="gpu"))
    rm.expect(accepted("app"))
    rm.asks(ask("app", "k", vcores(1), partitionName="gpu"))
    rm.expect(
        updated("app", "Accepted"), updated("app", "Starting"), placed("app", "k", vcores(1), "n")
    )
    _change(stage, rm, _ONE)
    gone = released("app", "k")
    rm.expect(
        updated("app", "Failing", "PartitionRemoved"),
        updated("app", "Failed"),
        type(gone)(gone.what, {**gone.fields, "partitionName": "gpu"}),
    )
    rm.nodes(node("n", vcores(1), attributes=_GPU))
    rm.expect(node_rejected("n"))
    rm.applications(application("app", partitionName="gpu"))
    rm.expect(rejected("app"))
    rm.place("stays", "k", vcores(1), "d")
