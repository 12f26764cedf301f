"""Adding and removing applications (chapter 70 section 4).

The reason of a rejection is a free text, so a check only requires that it is not empty.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import (
    accepted,
    node_accepted,
    placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import (
    QUEUES,
    application,
    ask,
    node,
    vcores,
)
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("applications", "Applications")

_FORCE: Final = {"application.create.force": "true"}

_FOR_ANN: Final = """
partitions:
  - name: default
    queues:
      - name: root
        queues:
          - {name: a, submitacl: ann}
"""


def _user(name: str, *groups: str) -> si.UserGroupInformation:
    return si.UserGroupInformation(user=name, groups=groups)


@SUBJECT.check("accepted", "a good application is accepted, and that is all that is said", "SI-21")
def _accepted(stage: Stage) -> None:
    stage.rm(apps=["app"])


@SUBJECT.check("partition", "an application of an unknown partition is rejected", "SI-20")
def _partition(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("app", partitionName="none"))
    rm.expect(rejected("app"))
    rm.start(apps=["app"])


@SUBJECT.check("no-user", "an application without a user is rejected", "SI-24", "SI-20")
def _no_user(stage: Stage) -> None:
    rm = stage.rm()
    without = application("without")
    without.ClearField("ugi")
    rm.applications(without, application("empty", ugi=_user("", "staff")))
    rm.expect(rejected("without"), rejected("empty"), any_order=True)


@SUBJECT.check("groups", "groups that are given are taken as they are", "SI-24")
def _groups(stage: Stage) -> None:
    rm = stage.rm(config=_FOR_ANN.replace("ann", '" odd.group"'))
    rm.applications(
        application("in", ugi=_user("nobody-knows-me", "odd.group")),
        application("out", ugi=_user("nobody-knows-me", "other")),
    )
    rm.expect(accepted("in"), rejected("out"), any_order=True)


@SUBJECT.check(
    "twice", "a second application of the same ID is rejected, the first goes on", "SI-20"
)
def _twice(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.applications(application("app", "root.b"))
    rm.expect(rejected("app"))
    rm.place("app", "k", vcores(1), "n")
    rm.applications(application("app"))
    rm.expect(rejected("app"))


@SUBJECT.check("no-queue", "an application for a queue that does not exist is rejected", "SI-20")
def _no_queue(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("app", "root.none"))
    rm.expect(rejected("app"))


@SUBJECT.check("no-access", "who may not submit to the queue is rejected", "SI-20")
def _no_access(stage: Stage) -> None:
    rm = stage.rm(config=_FOR_ANN)
    rm.applications(application("hers"), application("his", ugi=_user("bob", "staff")))
    rm.expect(accepted("hers"), rejected("his"), any_order=True)


@SUBJECT.check("no-leaf", "an application for a queue with children is rejected", "SI-20")
def _no_leaf(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("app", "root.parent"), application("fine", "root.parent.leaf"))
    rm.expect(accepted("fine"), rejected("app"), any_order=True)


@SUBJECT.check(
    "draining-queue",
    "an application for a queue that is drained is rejected, those in it go on",
    "SI-20",
    "OBJ-3",
    level=Level.REMUDA,
    needs=[Needs.EXTENSION],
)
def _draining_queue(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [application("old", "root.b")])
    without = QUEUES.replace(
        "          - name: b\n            properties: {application.sort.policy: fifo}\n", ""
    )
    answer = stage.call(
        stage.endpoint.extension.UpdateConfiguration,
        si.UpdateConfigurationRequest(rmID=rm.rm_id, config=without),
        "SI-85",
    )
    stage.require(answer.success and answer.changed, "SI-85", "success and changed", answer)
    rm.applications(application("new", "root.b"))
    rm.expect(rejected("new"), rule="OBJ-3")
    rm.place("old", "k", vcores(1), "n")


@SUBJECT.check(
    "node-order",
    "the tag node.sort.policy is fair, binpacking, or the application is rejected",
    "SI-20",
    level=Level.REMUDA,
)
def _node_order(stage: Stage) -> None:
    rm = stage.rm()
    tags = ("fair", "binpacking", "", "Fair")
    rm.applications(
        *(application(f"app{n}", tags={"node.sort.policy": tag}) for n, tag in enumerate(tags))
    )
    rm.expect(
        accepted("app0"), accepted("app1"), accepted("app2"), rejected("app3"), any_order=True
    )


@SUBJECT.check(
    "again", "an ID that was rejected or removed may be submitted again", "SI-23", "SI-29"
)
def _again(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("app", "root.none"))
    rm.expect(rejected("app"))
    rm.start(apps=["app"])
    rm.remove("app")
    rm.start(apps=["app"])


@SUBJECT.check(
    "forced",
    "a forced application that no rule can place is accepted",
    "SI-25",
    "SI-26",
)
def _forced(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)})
    rm.start(
        apps=[
            application("app", "root.none", tags=_FORCE),
            application("tag", "root.none", tags={"Application.Create.FORCE": "True"}),
        ]
    )
    rm.place("app", "k", vcores(1), "n")
    rm.place("tag", "k", vcores(1), "n")


@SUBJECT.check(
    "forced-nobody",
    "a forced application needs no user",
    "SI-25",
    "SI-24",
    level=Level.REMUDA,
)
def _forced_nobody(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)})
    without = application("app", "root.none", tags=_FORCE)
    without.ClearField("ugi")
    rm.start(apps=[without])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "recovery-queue", "the recovery queue is there for forced applications only", "SI-25"
)
def _recovery_queue(stage: Stage) -> None:
    rm = stage.rm()
    rm.start(apps=[application("forced", "root.none", tags=_FORCE)])
    rm.applications(
        application("app", "root.@recovery@"),
        application("no", "root.none", tags={"application.create.force": "false"}),
    )
    rm.expect(rejected("app"), rejected("no"), any_order=True)


@SUBJECT.check(
    "removed",
    "what a removed application had is released in one response, and its room is free",
    "SI-29",
)
def _removed(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app", "next"])
    rm.place("app", "k", vcores(1), "n", count=2)
    rm.asks(ask("app", "waits", vcores(1), 3))
    rm.quiet()
    rm.remove("app")
    heard = rm.expect(
        released("app", "k"),
        released("app", "k", number=1),
        updated("app", "Completing"),
        any_order=True,
    )
    if heard[0].response != heard[1].response:
        came = [f"response {each.response}: {each.text()}" for each in heard[:2]]
        raise rm.failure("SI-29", "both in one AllocationResponse", came)
    rm.place("next", "k", vcores(1), "n", count=2)
    rm.start(apps=["app"])


@SUBJECT.check(
    "removed-waiting",
    "the asks of a removed application are gone, and only its states are reported",
    "SI-29",
    "APP-8",
)
def _removed_waiting(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.remove("app")
    rm.expect(updated("app", "Completing"), updated("app", "Completed"), rule="APP-8")
    rm.start({"n": vcores(1)})
    rm.fence()


@SUBJECT.check(
    "removed-unknown",
    "removing an unknown application, or from an unknown partition, is ignored",
    "SI-29",
)
def _removed_unknown(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.applications(
        remove=[
            si.RemoveApplicationRequest(applicationID="none"),
            si.RemoveApplicationRequest(applicationID="app", partitionName="none"),
            si.RemoveApplicationRequest(),
        ]
    )
    rm.quiet()


@SUBJECT.check(
    "rejected-listed",
    "a rejected application is kept with its reason",
    "SI-22",
    needs=[Needs.REST],
)
def _rejected_listed(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("app", "root.none"))
    reason = getattr(rm.expect(rejected("app"))[0].element, "reason")  # noqa: B009
    path = "/ws/v1/partition/default/applications/rejected"
    listed = stage.get(path, rm, "REST-82")
    found = [
        (each.get("applicationState"), each.get("rejectedMessage"), bool(each.get("finishedTime")))
        for each in listed
        if each.get("applicationID") == "app"
    ]
    wanted = [("Rejected", reason, True)]
    stage.require(found == wanted, "SI-22", f"app, Rejected, {reason!r}, finished", found, path)


@SUBJECT.check(
    "in-order",
    "of a queue served first come, first served the earlier application goes first",
    "SI-21",
    "QUE-40",
)
def _in_order(stage: Stage) -> None:
    rm = stage.rm(apps=["first", "second"])
    rm.asks(ask("second", "k", vcores(1)))
    rm.expect(updated("second", "Accepted"))
    rm.asks(ask("first", "k", vcores(1)))
    rm.expect(updated("first", "Accepted"))
    rm.nodes(node("n", vcores(1)))
    rm.expect(
        node_accepted("n"), placed("first", "k", vcores(1), "n"), updated("first", "Starting")
    )
