"""The order of requests, and the form of responses (chapter 70 sections 3 and 8).

Streams have no order between them (SI-104), so only orders within one stream are checked.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message

from remuda.conformance.elements import Heard, Kind
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
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import (
    application,
    ask,
    ask_release,
    existing,
    node,
    release,
    resource,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("processing", "Requests and responses")

# Seconds by which two clocks may differ.
_CLOCKS: Final = 24 * 3600


def _one_response(rm: RM, heard: Sequence[Heard], rule: str) -> None:
    """Require that all these elements came in one response."""
    numbers = {each.response for each in heard}
    if len(numbers) > 1:
        came = [f"response {each.response}: {each.text()}" for each in heard]
        raise rm.failure(rule, "all of it in one response", came)


@SUBJECT.check("empty", "empty requests are valid and do nothing", "SI-5")
def _empty(stage: Stage) -> None:
    rm = stage.rm()
    rm.nodes()
    rm.applications()
    rm.asks()
    rm.release()
    rm.send(si.AllocationRequest(releases=si.AllocationReleasesRequest()))
    rm.quiet()


@SUBJECT.check(
    "new-before-remove",
    "of one request applications are added before others are removed",
    "SI-3",
    "SI-30",
)
def _new_before_remove(stage: Stage) -> None:
    rm = stage.rm(apps=["live"])
    remove = [si.RemoveApplicationRequest(applicationID=name) for name in ("live", "fresh")]
    rm.applications(application("live"), application("fresh"), remove=remove)
    rm.expect(accepted("fresh"), rejected("live"), rule="SI-30", any_order=True)
    rm.quiet("SI-30")
    rm.applications(application("live"), application("fresh"))
    rm.expect(accepted("live"), accepted("fresh"), rule="SI-30", any_order=True)


@SUBJECT.check(
    "order-of-lists",
    "of one request allocations come before asks, releases of asks, releases of allocations",
    "SI-3",
)
def _order_of_lists(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.send(
        si.AllocationRequest(
            allocations=[existing("app", "k", "n", vcores(2))],
            asks=[ask("app", "other", vcores(1))],
            releases=si.AllocationReleasesRequest(
                allocationAsksToRelease=[ask_release("app", "other")],
                allocationsToRelease=[release("app", "k-0")],
            ),
        )
    )
    rm.expect(
        known("app", "k", vcores(2), "n", "k-0"),
        released("app", "k"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Completing"),
    )
    rm.fence()


@SUBJECT.check(
    "neighbours",
    "a bad element does not block its neighbours, and rejections of a list come together",
    "SI-4",
)
def _neighbours(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.asks(
        ask("none", "bad1", vcores(1)),
        ask("app", "good", vcores(1)),
        ask("none", "bad2", vcores(1)),
        ask("app", "bad3", vcores(1), 0),
    )
    heard = rm.expect(
        ask_rejected("none", "bad1"),
        ask_rejected("none", "bad2"),
        ask_rejected("app", "bad3"),
        placed("app", "good", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        any_order=True,
    )
    _one_response(rm, heard[:3], "SI-4")


@SUBJECT.check(
    "verdicts-together",
    "the verdicts on applications, and on nodes, of one request come in one response",
    "SI-4",
    "SI-21",
    "NODE-1",
)
def _verdicts_together(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(application("a1"), application("bad", partitionName="none"), application("a2"))
    heard = rm.expect(accepted("a1"), accepted("a2"), rejected("bad"), rule="SI-21", any_order=True)
    _one_response(rm, heard, "SI-21")
    elsewhere = {"si/node-partition": "none"}
    rm.nodes(
        node("n1", vcores(1)),
        node("bad", vcores(1), attributes=elsewhere),
        node("n2", vcores(1), si.NodeInfo.CREATE_DRAIN),
    )
    heard = rm.expect(
        node_accepted("n1"), node_accepted("n2"), node_rejected("bad"), any_order=True
    )
    _one_response(rm, heard, "NODE-1")


@SUBJECT.check(
    "existing-then-rejections",
    "each existing allocation is answered by itself before the rejections of its list",
    "SI-4",
    "SI-42",
)
def _existing_then_rejections(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(
        existing("app", "bad1", "none", vcores(1)),
        existing("app", "k1", "n", vcores(1)),
        existing("none", "bad2", "n", vcores(1)),
        existing("app", "k2", "n", vcores(1)),
    )
    heard = rm.expect(
        known("app", "k1", vcores(1), "n", "k1-0"),
        known("app", "k2", vcores(1), "n", "k2-0"),
        allocation_rejected("app", "bad1"),
        allocation_rejected("none", "bad2"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
        rule="SI-4",
    )
    _one_response(rm, heard[2:4], "SI-4")


@SUBJECT.check(
    "in-order", "requests of one stream are processed in the order they were sent", "SI-2"
)
def _in_order(stage: Stage) -> None:
    rm = stage.rm()
    for number in range(50):
        rm.applications(application(f"app{number}"))
        rm.remove(f"app{number}")
    rm.expect(*(accepted(f"app{number}") for number in range(50)))


@SUBJECT.check("case", "identifiers are case-sensitive", "SI-12")
def _case(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1), "N": vcores(1)}, ["app", "APP"])
    rm.asks(ask("app", "k", vcores(1)), ask("app", "K", vcores(1)))
    rm.expect(
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
        placed("app", "k", vcores(1)),
        placed("app", "K", vcores(1)),
    )


@SUBJECT.check("odd-names", "identifiers are opaque: any text is taken and told as it is", "SI-12")
def _odd_names(stage: Stage) -> None:
    odd = ("a b", "[x]/y.z", "\u00fc\U0001f40e", "'\"\\", "-", "x" * 200)
    rm = stage.rm({name: vcores(1) for name in odd}, odd)
    for name in odd:
        rm.asks(ask(name, name, vcores(1), tags={"yunikorn.apache.org/requiredNode": name}))
        rm.expect(
            updated(name, "Accepted"),
            updated(name, "Starting"),
            placed(name, name, vcores(1), name),
        )


@SUBJECT.check("no-ids", "empty identifiers are rejected", "SI-12", level=Level.REMUDA)
def _no_ids(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.nodes(node("", vcores(1)))
    rm.expect(node_rejected(""))
    rm.applications(application(""))
    rm.expect(rejected(""))
    rm.asks(ask("app", "", vcores(1)))
    rm.expect(ask_rejected("app", ""))
    rm.existing(existing("app", "", "n", vcores(1), UUID="u", allocationID="u"))
    rm.expect(allocation_rejected("app", ""))


@SUBJECT.check("quantities", "quantities have 64 bits", "SI-13")
def _quantities(stage: Stage) -> None:
    huge = {"memory": 2**62}
    rm = stage.rm({"n": {"memory": 2**63 - 1}}, ["app"])
    rm.place("app", "k", huge, "n")


@SUBJECT.check(
    "one-kind",
    "a response holds one kind of list of allocations",
    "SI-75",
)
def _one_kind(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.send(
        si.AllocationRequest(
            allocations=[
                existing("app", "k2", "n", vcores(1)),
                existing("none", "bad", "n", vcores(1)),
            ],
            asks=[ask("none", "bad", vcores(1))],
            releases=si.AllocationReleasesRequest(allocationsToRelease=[release("app", "k-0")]),
        )
    )
    heard = rm.expect(
        known("app", "k2", vcores(1), "n", "k2-0"),
        allocation_rejected("none", "bad"),
        ask_rejected("none", "bad"),
        released("app", "k"),
        updated("app", "Running"),
        any_order=True,
    )[:4]
    for number in {each.response for each in heard}:
        kinds = {each.what for each in heard if each.response == number}
        if len(kinds) > 1:
            came = [f"response {each.response}: {each.text()}" for each in heard]
            raise rm.failure("SI-75", "one kind per response", came)


@SUBJECT.check(
    "complete-allocation",
    "a new allocation says all that its resource manager needs",
    "SI-76",
)
def _complete_allocation(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    policy = si.PreemptionPolicy(allowPreemptSelf=True, allowPreemptOther=True)
    rm.asks(
        ask(
            "app",
            "k",
            {"vcore": 1000, "memory": 0},
            taskGroupName="g",
            Originator=True,
            preemptionPolicy=policy,
        )
    )
    heard = rm.expect(
        placed("app", "k", vcores(1), "n", group="g"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    element = heard[0].element
    assert isinstance(element, si.Allocation)
    if not element.originator or element.preemptionPolicy != policy:
        expected = "originator: true and the preemptionPolicy of the ask"
        raise rm.failure("SI-76", expected, [heard[0].text()])


@SUBJECT.check(
    "replayable-allocation",
    "a new allocation has partition, priority and tags, so that it can be replayed",
    "SI-76",
    "SI-38",
    level=Level.REMUDA,
)
def _replayable_allocation(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    tags = {"kubernetes.io/label/app": "web", "note": "x"}
    rm.asks(ask("app", "k", vcores(1), priority=7, tags=tags))
    heard = rm.expect(
        placed("app", "k", vcores(1), "n"), updated("app", "Accepted"), updated("app", "Starting")
    )
    element = heard[0].element
    assert isinstance(element, si.Allocation)
    found = (element.partitionName, element.priority, dict(element.allocationTags))
    if found != ("default", 7, tags):
        expected = f"partitionName: default, priority: 7, allocationTags: {tags}"
        raise rm.failure("SI-76", expected, [heard[0].text()])


@SUBJECT.check(
    "times",
    "a state comes with its time in nanoseconds, and times of an application do not go back",
    "SI-79",
    "APP-1",
)
def _times(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.asks(ask("app", "k", vcores(1), 2))
    states = ("Accepted", "Starting", "Running")
    heard = rm.expect(
        *(updated("app", state) for state in states),
        placed("app", "k", vcores(1), "n"),
        placed("app", "k", vcores(1), "n", number=1),
    )[:3]
    times = [_time(each.element) for each in heard]
    now = time.time_ns()
    fine = times == sorted(times) and all(abs(each - now) < _CLOCKS * 10**9 for each in times)
    if not fine:
        expected = f"ascending times about {now}, in nanoseconds since 1970"
        raise rm.failure("APP-1", expected, [each.text() for each in heard])


def _time(element: Message) -> int:
    assert isinstance(element, si.UpdatedApplication)
    return element.stateTransitionTimestamp


@SUBJECT.check(
    "many",
    "a request of more than 4 MiB, the limit of many libraries, is read",
    "SI-105",
)
def _many(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    tags = {"text": "x" * 1_000_000}
    rm.asks(*(ask("none", f"k{number}", vcores(1), tags=tags) for number in range(5)))
    rm.expect(*(ask_rejected("none", f"k{number}") for number in range(5)), any_order=True)


@SUBJECT.check(
    "no-resource",
    "a resource that is missing is one of nothing",
    "SI-13",
    "SI-31",
)
def _no_resource(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    without = ask("app", "k", {})
    without.ClearField("resourceAsk")
    rm.asks(without)
    rm.expect(ask_rejected("app", "k"))
    rm.nodes(node("n", None, si.NodeInfo.UPDATE, occupiedResource=resource({})))
    rm.quiet()
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "kinds-apart",
    "the three streams carry their own kind of responses only",
    "SI-7",
    "SI-104",
)
def _kinds_apart(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)})
    rm.close(Kind.NODE)
    rm.start(apps=["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.open(Kind.NODE)
