"""Replacements of placeholders by members of a gang, also disturbed ones (chapter 80).

Over the three streams predicates always pass, so a replacement is always on the same node.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.checks.gang_steps import REPLACED, reserve, reserved, swap
from remuda.conformance.elements import OneOf
from remuda.conformance.expectations import (
    known,
    node_accepted,
    placed,
    placeholder_placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import (
    ask,
    ask_release,
    gang,
    node,
    placeholder,
    release,
    vcores,
)
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("gang-swap", "Gang scheduling: replacements")


@SUBJECT.check(
    "more-asks",
    "a real ask beyond the placeholders of its group, or of a group without any, is a normal one",
    "GANG-11",
)
def _more_asks(stage: Stage) -> None:
    rm = reserved(stage, 1)
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.asks(ask("app", "r2", vcores(1), taskGroupName="g"))
    rm.expect(placed("app", "r2", vcores(1), "n", group="g"), updated("app", "Running"))
    rm.asks(ask("app", "h1", vcores(1), taskGroupName="h"), ask("app", "free", vcores(1)))
    rm.expect(placed("app", "h1", vcores(1), "n", group="h"), placed("app", "free", vcores(1), "n"))


@SUBJECT.check(
    "smaller", "what a member needs less than its placeholder is free for others", "GANG-17"
)
def _smaller(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2)), "other"])
    reserve(rm, 1, vcores(2))
    rm.asks(ask("other", "k", vcores(1)))
    rm.expect(updated("other", "Accepted"))
    swap(rm, "r1", "p1")
    rm.expect(
        placed("app", "r1", vcores(1), "n", group="g"),
        placed("other", "k", vcores(1), "n"),
        updated("other", "Starting"),
    )


@SUBJECT.check(
    "too-small",
    "placeholders smaller than the member have to be released; then it is placed like any ask",
    "GANG-15",
    "SI-112",
    level=Level.REMUDA,
)
def _too_small(stage: Stage) -> None:
    rm = reserved(stage, 2)
    rm.asks(ask("app", "r1", vcores(2), taskGroupName="g"))
    rm.expect(released("app", "p1", si.TIMEOUT), released("app", "p2", si.TIMEOUT), any_order=True)
    rm.fence()
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.fence()
    rm.release(release("app", "p2-0", si.TIMEOUT))
    rm.expect(placed("app", "r1", vcores(2), "n", group="g"), updated("app", "Running"))


@SUBJECT.check(
    "of-one",
    "a gang of one is never Completing during the swap",
    "APP-9",
    level=Level.REMUDA,
)
def _of_one(stage: Stage) -> None:
    rm = reserved(stage, 1)
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.quiet("APP-9")
    rm.release(release("app", "r1-0"))
    rm.expect(released("app", "r1"), updated("app", "Completing"))


@SUBJECT.check(
    "confirmed-twice", "a second confirmation of a replacement is ignored", "SI-62", "GANG-27"
)
def _confirmed_twice(stage: Stage) -> None:
    rm = reserved(stage, 1)
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.release(release("app", "p1-0", REPLACED))


@SUBJECT.check(
    "confirmed-otherwise",
    "another type of confirmation completes the swap as well",
    "SI-66",
    level=Level.REMUDA,
)
def _confirmed_otherwise(stage: Stage) -> None:
    for type_ in (si.TIMEOUT, si.PREEMPTED_BY_SCHEDULER, si.STOPPED_BY_RM):
        rm = reserved(stage, 1)
        rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
        rm.expect(released("app", "p1", REPLACED))
        rm.release(release("app", "p1-0", type_))
        answer = [released("app", "p1")] if type_ == si.STOPPED_BY_RM else []
        rm.expect(*answer, placed("app", "r1", vcores(1), "n", group="g"), rule="SI-66")


@SUBJECT.check(
    "ask-withdrawn",
    "releasing the ask cancels its replacement; the placeholder goes, and nothing comes",
    "SI-53",
    level=Level.REMUDA,
)
def _ask_withdrawn(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [gang("app", vcores(1)), "other"])
    reserve(rm, 1)
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(released("app", "p1", REPLACED))
    rm.release(ask_release("app", "r1"))
    rm.quiet()
    rm.release(release("app", "p1-0", REPLACED))
    rm.expect(updated("app", "Completing"), rule="APP-8")
    rm.place("other", "k", vcores(1), "n")


@SUBJECT.check(
    "unlinked",
    "PLACEHOLDER_REPLACED for a placeholder that nothing replaces removes it without answer",
    "SI-65",
    level=Level.REMUDA,
)
def _unlinked(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2)), "other"])
    reserve(rm, 2)
    rm.release(release("app", "p1-0", REPLACED))
    rm.quiet()
    rm.place("other", "k", vcores(1), "n")


@SUBJECT.check(
    "node-lost",
    "when the node goes during a replacement the placeholder is released and the ask waits again",
    "GANG-18",
)
def _node_lost(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [gang("app", vcores(1))])
    reserve(rm, 1)
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(released("app", "p1", REPLACED))
    rm.nodes(node("n", None, si.NodeInfo.DECOMISSION))
    rm.expect(released("app", "p1"))
    rm.release(release("app", "p1-0", REPLACED))
    rm.quiet("SI-62")
    rm.nodes(node("m", vcores(1)))
    identity = OneOf(("r1-0", "r1-1", "r1"))
    rm.expect(
        node_accepted("m"),
        known("app", "r1", vcores(1), "m", identity, group="g"),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "removed",
    "an application that is removed during a replacement leaves its nodes free",
    "SI-29",
    "GANG-19",
    level=Level.REMUDA,
)
def _removed(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2)), "other"])
    reserve(rm, 2)
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(released("app", "p1", REPLACED))
    rm.remove("app")
    rm.expect(
        released("app", "p1"),
        released("app", "p2"),
        updated("app", "Completing"),
        any_order=True,
    )
    rm.release(release("app", "p1-0", REPLACED))
    rm.place("other", "k", vcores(1), "n", 2)


@SUBJECT.check(
    "many-of-one-ask",
    "a placeholder ask for several counts as so many members",
    "GANG-9",
    level=Level.REMUDA,
)
def _many_of_one_ask(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(3)}, [gang("app", vcores(3))])
    several = placeholder("app", "p", vcores(1))
    several.maxAllocations = 3
    rm.asks(several)
    rm.expect(
        *(placeholder_placed("app", "p", vcores(1), "n", number=number) for number in range(3)),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.asks(ask("app", "r", vcores(1), 3, taskGroupName="g"))
    rm.expect(*(released("app", "p", REPLACED, number=number) for number in range(3)))
    rm.release(*(release("app", f"p-{number}", REPLACED) for number in range(3)))
    rm.expect(
        *(placed("app", "r", vcores(1), "n", number=number, group="g") for number in range(3)),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "counters",
    "members, replaced and timed-out ones are counted by group",
    "GANG-35",
    needs=[Needs.REST],
)
def _counters(stage: Stage) -> None:
    rm = reserved(stage, 3)
    swapped = swap(rm, "r1", "p1", "p2", "p3")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    other = "p2" if swapped == "p1" else "p1"
    rm.release(release("app", f"{other}-0"))
    rm.expect(released("app", other))
    path = "/ws/v1/partition/default/queue/root.a/applications"
    listed = stage.get(path, rm, "REST-33")
    found = [each.get("placeholderData") for each in listed if each["applicationID"] == "app"]
    wanted = [
        {
            "taskGroupName": "g",
            "count": 3,
            "minResource": vcores(1),
            "replaced": 1,
            "timedout": 1,
        }
    ]
    stage.require(found == [wanted], "GANG-35", f"placeholderData: {wanted}", found, f"GET {path}")


@SUBJECT.check(
    "draining", "on a node that drains a placeholder is replaced all the same", "GANG-13", "NODE-11"
)
def _draining(stage: Stage) -> None:
    rm = reserved(stage, 1)
    rm.nodes(node("n", None, si.NodeInfo.DRAIN_NODE))
    rm.quiet()
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check("oldest-first", "the oldest placeholder goes first", "GANG-10", level=Level.REMUDA)
def _oldest_first(stage: Stage) -> None:
    rm = reserved(stage, 3)
    for number in (1, 2, 3):
        swap(rm, f"r{number}", f"p{number}")
        states = [updated("app", "Running")] if number == 2 else []
        rm.expect(placed("app", f"r{number}", vcores(1), "n", group="g"), *states)


@SUBJECT.check(
    "groups", "a member replaces placeholders of its own group only", "GANG-9", "GANG-10"
)
def _groups(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2))])
    rm.asks(placeholder("app", "p1", vcores(1)), placeholder("app", "p2", vcores(1), "h"))
    rm.expect(
        placeholder_placed("app", "p1", vcores(1), "n"),
        placeholder_placed("app", "p2", vcores(1), "n", group="h"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.asks(ask("app", "r", vcores(1), taskGroupName="h"))
    rm.expect(released("app", "p2", REPLACED))
    rm.release(release("app", "p2-0", REPLACED))
    rm.expect(placed("app", "r", vcores(1), "n", group="h"))


@SUBJECT.check(
    "counted-once",
    "a placeholder ask that is sent again is no further member",
    "GANG-35",
    "SI-33",
    level=Level.REMUDA,
    needs=[Needs.REST],
)
def _counted_once(stage: Stage) -> None:
    rm = reserved(stage, 2)
    rm.asks(placeholder("app", "p1", vcores(1)), placeholder("app", "p2", vcores(1)))
    rm.fence()
    path = "/ws/v1/partition/default/queue/root.a/applications"
    listed = stage.get(path, rm, "REST-33")
    found = [each.get("placeholderData") for each in listed if each["applicationID"] == "app"]
    wanted = [{"taskGroupName": "g", "count": 2, "minResource": vcores(1)}]
    stage.require(found == [wanted], "GANG-35", f"placeholderData: {wanted}", found, f"GET {path}")
