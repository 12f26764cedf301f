"""Asks: refusals, replacements, order and lifetime (chapter 70).

An accepted ask gets no answer; a check sees whether it exists when there is room for it.
"""

from __future__ import annotations

import itertools
from typing import Final

from remuda.conformance.elements import Heard
from remuda.conformance.expectations import (
    ask_rejected,
    identity_of,
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
    ask_release,
    existing,
    node,
    placeholder,
    release,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("asks", "Asks")

_REQUIRED: Final = "yunikorn.apache.org/requiredNode"

# Milliseconds after which a check has its allocations end, and by how many of them a clock may
# be off.
_SHORT: Final = 1000
_TOLERANCE: Final = 300


@SUBJECT.check("rejected", "what cannot be is rejected, all of it in one response", "SI-31", "SI-4")
def _rejected(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    bad = {
        "zero": ask("app", "zero", {"vcore": 0}),
        "nothing": ask("app", "nothing", {}),
        "none-wanted": ask("app", "none-wanted", vcores(1), 0),
        "no-group": placeholder("app", "no-group", vcores(1), ""),
        "nowhere": ask("app", "nowhere", vcores(1), partitionName="none"),
    }
    rm.asks(*bad.values())
    heard = rm.expect(*(ask_rejected("app", key) for key in bad), any_order=True)
    if len({each.response for each in heard}) > 1:
        came = [f"response {each.response}: {each.text()}" for each in heard]
        raise rm.failure("SI-4", "all of it in one response", came)


@SUBJECT.check(
    "negative", "negative sizes and negative numbers are rejected", "SI-31", level=Level.REMUDA
)
def _negative(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.asks(ask("app", "size", {"vcore": -1, "memory": 1}), ask("app", "number", vcores(1), -1))
    rm.expect(ask_rejected("app", "size"), ask_rejected("app", "number"), any_order=True)


@SUBJECT.check("no-application", "an ask of an unknown application is rejected", "SI-31")
def _no_application(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)})
    rm.asks(ask("none", "k", vcores(1)), ask("", "k2", vcores(1)))
    rm.expect(ask_rejected("none", "k"), ask_rejected("", "k2"), any_order=True)


@SUBJECT.check("accepted", "an accepted ask is not answered", "SI-32")
def _accepted(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(2)))
    rm.expect(updated("app", "Accepted"))
    rm.asks(ask("app", "k2", vcores(2)))
    rm.fence()


@SUBJECT.check("several", "an ask yields as many allocations as it says", "SI-32")
def _several(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(8)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 3)
    rm.fence()


@SUBJECT.check("thousand", "many asks in one request are placed once each", "SI-32", "SI-35")
def _thousand(stage: Stage) -> None:
    rm = stage.rm({f"n{number}": vcores(100) for number in range(10)}, ["app"])
    rm.asks(*(ask("app", f"k{number}", vcores(1)) for number in range(1000)))
    rm.expect(
        *(placed("app", f"k{number}", vcores(1)) for number in range(1000)),
        *(updated("app", state) for state in ("Accepted", "Starting", "Running")),
    )


@SUBJECT.check(
    "identities",
    "allocations are named key-0, key-1, ..., and none is used twice",
    "SI-35",
    level=Level.REMUDA,
)
def _identities(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    found = rm.place("app", "k", vcores(1), "n", 2)
    rm.asks(ask("app", "k", vcores(1), 3))
    rm.quiet()
    rm.release(release("app", "k-0"))
    heard = rm.expect(released("app", "k"), placed("app", "k", vcores(1), "n", number=2))
    found.append(identity_of(heard[1].element))
    if found != ["k-0", "k-1", "k-2"]:
        raise rm.failure("SI-35", "the identities k-0, k-1 and k-2", [", ".join(found)])


@SUBJECT.check(
    "replayed",
    "an ask that is sent again changes nothing; with a higher number it yields the difference",
    "SI-34",
    level=Level.REMUDA,
)
def _replayed(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(8)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 2)
    rm.asks(ask("app", "k", vcores(1), 2))
    rm.fence()
    rm.asks(ask("app", "k", vcores(1), 3))
    rm.expect(placed("app", "k", vcores(1), "n", number=2))
    rm.asks(ask("app", "k", vcores(1), 1))
    rm.fence()


@SUBJECT.check(
    "updated",
    "an ask that is sent again replaces the one that waits",
    "SI-33",
    level=Level.REMUDA,
)
def _updated(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k", vcores(4), 3))
    rm.expect(updated("app", "Accepted"))
    rm.asks(ask("app", "k", vcores(1)))
    rm.quiet()
    rm.start({"n": vcores(8)})
    rm.expect(placed("app", "k", vcores(1), "n"), updated("app", "Starting"))
    rm.fence()


@SUBJECT.check("priority", "of an application the ask of highest priority goes first", "SI-32")
def _priority(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    priorities = {"low": -(2**31), "middle": 0, "high": 2**31 - 1}
    rm.asks(*(ask("app", key, vcores(1), priority=p) for key, p in priorities.items()))
    rm.expect(updated("app", "Accepted"))
    rm.nodes(node("n", vcores(3)))
    rm.expect(
        node_accepted("n"),
        *(placed("app", key, vcores(1), "n") for key in ("high", "middle", "low")),
        updated("app", "Starting"),
        updated("app", "Running"),
    )


@SUBJECT.check("age", "of equal priority the older ask goes first", "SI-32")
def _age(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "z", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.asks(ask("app", "a", vcores(1)))
    rm.quiet()
    rm.nodes(node("n", vcores(1)))
    rm.expect(node_accepted("n"), placed("app", "z", vcores(1), "n"), updated("app", "Starting"))


@SUBJECT.check("updated-age", "an ask that is replaced keeps its age", "SI-33", level=Level.REMUDA)
def _updated_age(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "first", vcores(9)))
    rm.expect(updated("app", "Accepted"))
    rm.asks(ask("app", "second", vcores(1)))
    rm.quiet()
    rm.asks(ask("app", "first", vcores(1)))
    rm.quiet()
    rm.nodes(node("n", vcores(1)))
    rm.expect(node_accepted("n"), placed("app", "first", vcores(1), "n"))
    rm.expect(updated("app", "Starting"))


@SUBJECT.check("required-node", "an ask that requires a node goes there and nowhere else", "SI-39")
def _required_node(stage: Stage) -> None:
    rm = stage.rm({"n1": vcores(4), "n2": vcores(2), "n3": vcores(4)}, ["app"])
    rm.asks(ask("app", "k", vcores(2), tags={_REQUIRED: "n2"}))
    rm.expect(
        placed("app", "k", vcores(2), "n2"), updated("app", "Accepted"), updated("app", "Starting")
    )
    rm.asks(ask("app", "k2", vcores(2), tags={_REQUIRED: "n2"}))
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "k2", vcores(2), "n2"), updated("app", "Running"))


@SUBJECT.check("maximum", "an ask above the maximum of its queue waits", "SI-32", "QUE-8")
def _maximum(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(8)}, [application("app", "root.small")])
    rm.place("app", "k", vcores(3), "n")
    rm.asks(ask("app", "k2", vcores(2)))
    rm.fence(queue="root.small")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "k2", vcores(2), "n"), updated("app", "Running"))


def _order(rm: RM, app: str, key: str) -> Heard:
    """Wait for the order to end an allocation."""
    return rm.expect(released(app, key, si.TIMEOUT), rule="SI-37", seconds=_SHORT / 1000)[0]


@SUBJECT.check(
    "time-limit",
    "after its execution timeout the release of an allocation is requested until it is confirmed",
    "SI-37",
    "SI-69",
    level=Level.REMUDA,
    seconds=2 * _SHORT / 1000,
)
def _time_limit(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(1), executionTimeoutMilliSeconds=_SHORT))
    heard = rm.expect(
        placed("app", "k", vcores(1), "n"), updated("app", "Accepted"), updated("app", "Starting")
    )
    orders = [heard[0], _order(rm, "app", "k"), _order(rm, "app", "k")]
    for before, after in itertools.pairwise(orders):
        millis = 1000 * (after.at - before.at)
        if millis < _SHORT - _TOLERANCE:
            raise rm.failure("SI-37", f"{_SHORT} ms in between", [f"{millis:.0f} ms"])
    rm.asks(ask("app", "waits", vcores(1)))
    rm.fence("SI-69")
    rm.release(release("app", "k-0", si.TIMEOUT))
    rm.expect(placed("app", "waits", vcores(1), "n"), updated("app", "Running"), rule="SI-60")


@SUBJECT.check(
    "time-limit-stopped",
    "an allocation that has to be released may be released; the later confirmation is ignored",
    "SI-67",
    "SI-62",
    level=Level.REMUDA,
    seconds=_SHORT / 1000,
)
def _time_limit_stopped(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "k", vcores(1), executionTimeoutMilliSeconds=_SHORT))
    rm.expect(
        placed("app", "k", vcores(1), "n"), updated("app", "Accepted"), updated("app", "Starting")
    )
    _order(rm, "app", "k")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"), rule="SI-67")
    rm.release(release("app", "k-0", si.TIMEOUT))


@SUBJECT.check(
    "time-limit-recovered",
    "of an allocation that existed before only a tag sets the execution timeout",
    "SI-37",
    level=Level.REMUDA,
    seconds=_SHORT / 1000,
)
def _time_limit_recovered(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    tags = {"remuda/executionTimeout": str(_SHORT)}
    rm.existing(
        existing("app", "with", "n", vcores(1), allocationTags=tags),
        existing("app", "without", "n", vcores(1)),
    )
    rm.expect(
        known("app", "with", vcores(1), "n", "with-0"),
        known("app", "without", vcores(1), "n", "without-0"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
    )
    _order(rm, "app", "with")
    rm.release(release("app", "with-0", si.TIMEOUT))


@SUBJECT.check(
    "completing",
    "an ask for an application that is completing sets it running",
    "APP-4",
    "APP-5",
)
def _completing(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"))
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(updated("app", "Running"), placed("app", "k2", vcores(1), "n"))


@SUBJECT.check(
    "released-then-new",
    "an ask that was released may come again under its key",
    "SI-32",
    "SI-50",
)
def _released_then_new(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k", vcores(1)), ask("app", "other", vcores(9)))
    rm.expect(updated("app", "Accepted"))
    rm.release(ask_release("app", "k"))
    rm.asks(ask("app", "k", vcores(2)))
    rm.quiet()
    rm.nodes(node("n", vcores(2)))
    rm.expect(node_accepted("n"), placed("app", "k", vcores(2), "n"), updated("app", "Starting"))
