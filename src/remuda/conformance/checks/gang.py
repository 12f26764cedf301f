"""Gangs: who is admitted, what waits for what, how placeholders are replaced (GANG-1 to GANG-19).

Over the three streams predicates always pass, so a replacement is always on the same node.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.elements import OneOf
from remuda.conformance.expectations import (
    known,
    node_accepted,
    placed,
    placeholder_placed,
    rejected,
    released,
    updated,
)
from remuda.conformance.registry import Level, Needs, Subject
from remuda.conformance.requests import (
    QUEUES,
    Amounts,
    application,
    ask,
    ask_release,
    gang,
    node,
    placeholder,
    release,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("gang", "Gang scheduling")

_REPLACED: Final = si.PLACEHOLDER_REPLACED


def reserve(rm: RM, count: int, size: Amounts | None = None, app: str = "app") -> None:
    """Ask for all placeholders of a gang, p1 and so on, and wait until they are there."""
    each = size or vcores(1)
    keys = [f"p{number}" for number in range(1, count + 1)]
    rm.asks(*(placeholder(app, key, each) for key in keys))
    rm.expect(
        *(placeholder_placed(app, key, each) for key in keys),
        updated(app, "Accepted"),
        updated(app, "Starting"),
        rule="GANG-5",
    )


def _gang(stage: Stage, count: int, cores: int = 8) -> RM:
    """Return a resource manager with a node and a gang whose placeholders are all there."""
    rm = stage.rm({"n": vcores(cores)}, [gang("app", vcores(count))])
    reserve(rm, count)
    return rm


def _swap(rm: RM, key: str, real: str, size: Amounts | None = None) -> None:
    """Ask for a member, which orders a placeholder out, and confirm that."""
    rm.asks(ask("app", real, size or vcores(1), taskGroupName="g"))
    rm.expect(released("app", key, _REPLACED), rule="GANG-14")
    rm.release(release("app", f"{key}-0", _REPLACED))


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
    rm.expect(released("app", "p1", _REPLACED), released("app", "p2", _REPLACED))
    rm.quiet("SI-69")
    rm.release(release("app", "p1-0", _REPLACED))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"), rule="GANG-17")
    rm.quiet("APP-7")
    rm.release(release("app", "p2-0", _REPLACED))
    rm.expect(placed("app", "r2", vcores(1), "n", group="g"), updated("app", "Running"))


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
        released("app", "p1", _REPLACED),
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
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"), updated("app", "Starting"))


@SUBJECT.check(
    "more-asks",
    "a real ask beyond the placeholders of its group, or of a group without any, is a normal one",
    "GANG-11",
)
def _more_asks(stage: Stage) -> None:
    rm = _gang(stage, 1)
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.asks(ask("app", "r2", vcores(1), taskGroupName="g"))
    rm.expect(placed("app", "r2", vcores(1), "n", group="g"), updated("app", "Running"))
    rm.asks(ask("app", "h1", vcores(1), taskGroupName="h"), ask("app", "free", vcores(1)))
    rm.expect(placed("app", "h1", vcores(1), "n", group="h"), placed("app", "free", vcores(1), "n"))


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
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check(
    "smaller", "what a member needs less than its placeholder is free for others", "GANG-17"
)
def _smaller(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2)), "other"])
    reserve(rm, 1, vcores(2))
    rm.asks(ask("other", "k", vcores(1)))
    rm.expect(updated("other", "Accepted"))
    _swap(rm, "p1", "r1")
    rm.expect(
        placed("app", "r1", vcores(1), "n", group="g"),
        placed("other", "k", vcores(1), "n"),
        updated("other", "Starting"),
    )


@SUBJECT.check(
    "too-small",
    "placeholders smaller than the member are ordered out; then it is placed like any ask",
    "GANG-15",
    "SI-112",
    level=Level.REMUDA,
)
def _too_small(stage: Stage) -> None:
    rm = _gang(stage, 2)
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
    rm = _gang(stage, 1)
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.quiet("APP-9")
    rm.release(release("app", "r1-0"))
    rm.expect(released("app", "r1"), updated("app", "Completing"))


@SUBJECT.check(
    "confirmed-twice", "a second confirmation of a replacement is ignored", "SI-62", "GANG-27"
)
def _confirmed_twice(stage: Stage) -> None:
    rm = _gang(stage, 1)
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.release(release("app", "p1-0", _REPLACED))


@SUBJECT.check(
    "confirmed-otherwise",
    "another type of confirmation completes the swap as well",
    "SI-66",
    level=Level.REMUDA,
)
def _confirmed_otherwise(stage: Stage) -> None:
    for type_ in (si.TIMEOUT, si.PREEMPTED_BY_SCHEDULER):
        rm = _gang(stage, 1)
        rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
        rm.expect(released("app", "p1", _REPLACED))
        rm.release(release("app", "p1-0", type_))
        rm.expect(placed("app", "r1", vcores(1), "n", group="g"), rule="SI-66")


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
    rm.expect(released("app", "p1", _REPLACED))
    rm.release(ask_release("app", "r1"))
    rm.quiet()
    rm.release(release("app", "p1-0", _REPLACED))
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
    rm.release(release("app", "p1-0", _REPLACED))
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
    rm.expect(released("app", "p1", _REPLACED))
    rm.nodes(node("n", None, si.NodeInfo.DECOMISSION))
    rm.expect(released("app", "p1"))
    rm.release(release("app", "p1-0", _REPLACED))
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
    rm.expect(released("app", "p1", _REPLACED))
    rm.remove("app")
    rm.expect(
        released("app", "p1"),
        released("app", "p2"),
        updated("app", "Completing"),
        any_order=True,
    )
    rm.release(release("app", "p1-0", _REPLACED))
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
    rm.expect(*(released("app", "p", _REPLACED, number=number) for number in range(3)))
    rm.release(*(release("app", f"p-{number}", _REPLACED) for number in range(3)))
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
    rm = _gang(stage, 3)
    rm.asks(placeholder("app", "p1", vcores(1)))
    _swap(rm, "p1", "r1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.release(release("app", "p2-0"))
    rm.expect(released("app", "p2"))
    path = "/ws/v1/partition/default/application/app"
    found = stage.get(path, rm, "REST-77").get("placeholderData")
    wanted = [
        {
            "taskGroupName": "g",
            "count": 3,
            "minResource": vcores(1),
            "replaced": 1,
            "timedout": 1,
        }
    ]
    stage.require(found == wanted, "GANG-35", f"placeholderData: {wanted}", found, f"GET {path}")
