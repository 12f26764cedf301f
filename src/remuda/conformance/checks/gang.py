"""Gangs: which are admitted, and which asks wait for the whole gang (chapter 80 section 3).

A placeholder is an allocation like any other, and is checked as one.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.checks.gang_steps import REPLACED, reserve, swap
from remuda.conformance.elements import OneOf
from remuda.conformance.expectations import (
    identity_of,
    node_accepted,
    placed,
    placeholder_placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import (
    QUEUES,
    application,
    ask,
    gang,
    node,
    placeholder,
    release,
    vcores,
)
from remuda.conformance.stage import Stage

SUBJECT: Final = Subject("gang", "Gang scheduling")


@SUBJECT.check(
    "fair-queue", "a gang in a queue that is sorted fairly is rejected", "GANG-2", "SI-20"
)
def _fair_queue(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(gang("fair", vcores(2), queue="root.fair"))
    rm.expect(rejected("fair"))
    rm.start(apps=[gang("fifo", vcores(2)), gang("aware", vcores(2), queue="root.aware")])


@SUBJECT.check("too-large", "a gang above the maximum of its queue is rejected", "GANG-3", "SI-20")
def _too_large(stage: Stage) -> None:
    rm = stage.rm()
    rm.applications(gang("large", vcores(5), queue="root.small"))
    rm.expect(rejected("large"))
    rm.start(apps=[gang("fits", vcores(4), queue="root.small"), gang("free", vcores(500))])


@SUBJECT.check(
    "limits-apart",
    "a type that is limited on one level of the path has that limit",
    "GANG-3",
    level=Level.REMUDA,
)
def _limits_apart(stage: Stage) -> None:
    queues = """
partitions:
  - name: default
    queues:
      - name: root
        submitacl: "*"
        queues:
          - name: p
            resources: {max: {vcore: 4}}
            queues:
              - {name: a, resources: {max: {memory: 100}}}
"""
    rm = stage.rm(config=queues)
    rm.start(apps=[gang("fits", {"vcore": 4000, "memory": 100}, queue="root.p.a")])
    rm.applications(
        gang("vcore", {"vcore": 4001}, queue="root.p.a"),
        gang("memory", {"memory": 101}, queue="root.p.a"),
    )
    rm.expect(rejected("vcore"), rejected("memory"), any_order=True)


@SUBJECT.check(
    "normal",
    "the normal sequence: placeholders, Starting, real asks, confirmations, Running",
    "GANG-5",
    "GANG-10",
    "GANG-14",
    "GANG-17",
    "SI-60",
)
def _normal(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2))])
    reserve(rm, 2)
    rm.asks(
        ask("app", "r1", vcores(1), taskGroupName="g"),
        ask("app", "r2", vcores(1), taskGroupName="g"),
    )
    rm.expect(released("app", "p1", REPLACED), released("app", "p2", REPLACED), any_order=True)
    rm.quiet("SI-69")
    rm.release(release("app", "p1-0", REPLACED))
    either = OneOf(("r1", "r2")), OneOf(("r1-0", "r2-0", "r1", "r2"))
    member = placed("app", "r1", vcores(1), "n", group="g").but(
        allocationKey=either[0], UUID=either[1], allocationID=either[1]
    )
    first = rm.expect(member, rule="GANG-17")[0].element
    rm.quiet("APP-7")
    rm.release(release("app", "p2-0", REPLACED))
    last = "r2" if identity_of(first).startswith("r1") else "r1"
    rm.expect(placed("app", last, vcores(1), "n", group="g"), updated("app", "Running"))


@SUBJECT.check(
    "gate",
    "no placeholder is placed before the free quota of the queue covers the whole gang",
    "GANG-4",
    level=Level.REMUDA,
)
def _gate(stage: Stage) -> None:
    small = "root.small"
    rm = stage.rm(
        {"n": vcores(8)}, [application("other", small), gang("app", vcores(3), queue=small)]
    )
    rm.place("other", "k", vcores(2), "n")
    rm.asks(*(placeholder("app", f"p{number}", vcores(1)) for number in (1, 2, 3)))
    rm.expect(updated("app", "Accepted"))
    rm.fence(queue=small)
    rm.release(release("other", "k-0"))
    rm.expect(
        released("other", "k"),
        *(placeholder_placed("app", f"p{number}", vcores(1), "n") for number in (1, 2, 3)),
        updated("other", "Completing"),
        updated("app", "Starting"),
    )


@SUBJECT.check(
    "greedy",
    "with application.gang.admission greedy placeholders go as far as the quota does",
    "GANG-4",
    level=Level.REMUDA,
)
def _greedy(stage: Stage) -> None:
    small = "root.small"
    greedy = QUEUES.replace(
        "- name: small\n            properties: {",
        "- name: small\n            properties: {application.gang.admission: greedy, ",
    )
    rm = stage.rm(
        {"n": vcores(8)},
        [application("other", small), gang("app", vcores(3), queue=small)],
        config=greedy,
    )
    rm.place("other", "k", vcores(2), "n")
    rm.asks(*(placeholder("app", f"p{number}", vcores(1)) for number in (1, 2, 3)))
    rm.expect(
        placeholder_placed("app", "p1", vcores(1), "n"),
        placeholder_placed("app", "p2", vcores(1), "n"),
        updated("app", "Accepted"),
    )
    rm.fence(queue=small)


@SUBJECT.check(
    "held",
    "real asks of a gang wait until all its placeholders are there",
    "GANG-6",
    level=Level.REMUDA,
)
def _held(stage: Stage) -> None:
    special = {"vcore": 1000, "gpu": 1}
    rm = stage.rm({"n": vcores(8)}, [gang("app", {"vcore": 2000, "gpu": 1})])
    rm.asks(placeholder("app", "p1", vcores(1)), placeholder("app", "p2", special))
    rm.expect(placeholder_placed("app", "p1", vcores(1), "n"), updated("app", "Accepted"))
    rm.asks(
        ask("app", "alone", vcores(1)),
        ask("app", "other", vcores(1), taskGroupName="h"),
        ask("app", "r1", vcores(1), taskGroupName="g"),
    )
    rm.fence()
    rm.nodes(node("m", special))
    rm.expect(
        node_accepted("m"),
        placeholder_placed("app", "p2", special, "m"),
        placed("app", "alone", vcores(1), "n"),
        placed("app", "other", vcores(1), "n", group="h"),
        released("app", "p1", REPLACED),
        updated("app", "Starting"),
        updated("app", "Running"),
        any_order=True,
    )


@SUBJECT.check(
    "no-total",
    "without placeholderAsk a placeholder is replaced at once, and that starts the application",
    "GANG-1",
    "APP-7",
    level=Level.REMUDA,
)
def _no_total(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.asks(placeholder("app", "p1", vcores(1)))
    rm.expect(placeholder_placed("app", "p1", vcores(1), "n"), updated("app", "Accepted"))
    rm.quiet("GANG-5")
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"), updated("app", "Starting"))


@SUBJECT.check(
    "surplus",
    "a reservation is complete when the placeholders cover placeholderAsk, or more",
    "GANG-5",
    level=Level.REMUDA,
)
def _surplus(stage: Stage) -> None:
    rm = stage.rm({"n": {"vcore": 9000, "memory": 9}}, [gang("app", vcores(3))])
    reserve(rm, 2, {"vcore": 2000, "memory": 1})


@SUBJECT.check("full-queue", "a replacement needs no room in the queue", "GANG-12")
def _full_queue(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, [gang("app", vcores(4), queue="root.small")])
    reserve(rm, 4)
    swap(rm, "r1", "p1", "p2", "p3", "p4")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check("room", "placeholders take room in queue and node like allocations", "GANG-7")
def _room(stage: Stage) -> None:
    small = "root.small"
    rm = stage.rm(
        {"n": vcores(8)}, [gang("app", vcores(4), queue=small), application("other", small)]
    )
    reserve(rm, 4)
    rm.asks(ask("other", "k", vcores(1)))
    rm.expect(updated("other", "Accepted"))
    rm.fence(queue=small)
    rm.release(release("app", "p1-0"))
    rm.expect(
        released("app", "p1"), placed("other", "k", vcores(1), "n"), updated("other", "Starting")
    )
