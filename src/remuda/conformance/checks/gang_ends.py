"""How reservations of gangs end, and how gangs complete (chapter 80 section 3).

The reservation timeout, 15 minutes by default, is 1.5 s in each application here.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from remuda.conformance.checks.gang_steps import REPLACED, replace, reserve, swap
from remuda.conformance.expectations import (
    accepted,
    ask_dropped,
    ask_rejected,
    node_accepted,
    placed,
    placeholder_placed,
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
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("gang-end", "Gang scheduling: timeouts and ends")

_CAUSE: Final = "ResourceReservationTimeout"

# Milliseconds of a reservation timeout that is to come, and the seconds a check waits for it.
_SHORT: Final = 1500
_SECONDS: Final = _SHORT / 1000

# Seconds an application stays Completing (APP-16), and how much later they may be over.
_COMPLETING: Final = 30.0
_MARGIN: Final = 10.0


def _half(stage: Stage, style: str) -> RM:
    """Return a resource manager with a gang of two of which one placeholder found no room."""
    rm = stage.rm({"n": vcores(1)}, [gang("app", vcores(2), style, millis=_SHORT)])
    rm.asks(placeholder("app", "p1", vcores(1)), placeholder("app", "p2", vcores(1)))
    rm.expect(placeholder_placed("app", "p1", vcores(1), "n"), updated("app", "Accepted"))
    return rm


def _over(rm: RM, state: str) -> None:
    """Wait until the reservation is over; placed asks may be listed with the dropped ones."""
    rm.expect(updated("app", state, _CAUSE), rule="GANG-23", seconds=_SECONDS)
    rm.expect(
        ask_dropped("app", "p1").but(optional=True),
        ask_dropped("app", "p2"),
        released("app", "p1", si.TIMEOUT),
        rule="GANG-23",
        any_order=True,
    )


def _over_ours(rm: RM, state: str, *dropped: str) -> None:
    """Wait until the reservation ends; dropped asks come first, and no others (GANG-24)."""
    rm.expect(updated("app", state, _CAUSE), rule="GANG-23", seconds=_SECONDS)
    asks = [ask_dropped("app", key) for key in dropped]
    rm.expect(*asks, rule="GANG-23", any_order=True)
    rm.expect(released("app", "p1", si.TIMEOUT), rule="GANG-24")


@SUBJECT.check(
    "hard",
    "Hard: Failing, asks dropped, placeholders to be released; Failed after the last confirmation",
    "GANG-23",
    "GANG-24",
    "GANG-25",
    "SI-78",
    "SI-70",
    seconds=_SECONDS,
)
def _hard(stage: Stage) -> None:
    rm = _half(stage, "Hard")
    _over(rm, "Failing")
    rm.quiet("GANG-25")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Failed"), rule="GANG-25")
    rm.start(apps=["app"])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "hard-asks",
    "Hard: real asks are dropped, too, and later ones rejected",
    "GANG-26",
    "SI-31",
    level=Level.REMUDA,
    seconds=_SECONDS,
)
def _hard_asks(stage: Stage) -> None:
    rm = _half(stage, "Hard")
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    _over_ours(rm, "Failing", "p2", "r1")
    rm.asks(ask("app", "late", vcores(1)))
    rm.expect(ask_rejected("app", "late"), rule="SI-31")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Failed"))


@SUBJECT.check(
    "soft",
    "Soft: Resuming, then Accepted after the last confirmation, and an ordinary application",
    "GANG-23",
    "GANG-24",
    "GANG-25",
    "SI-78",
    seconds=_SECONDS,
)
def _soft(stage: Stage) -> None:
    rm = _half(stage, "Soft")
    _over(rm, "Resuming")
    rm.quiet("GANG-25")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Accepted"), rule="GANG-25")
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"), updated("app", "Starting"))


@SUBJECT.check(
    "soft-asks",
    "Soft: real asks are kept, and placed when the placeholders are gone",
    "GANG-26",
    "APP-12",
    level=Level.REMUDA,
    seconds=_SECONDS,
)
def _soft_asks(stage: Stage) -> None:
    rm = _half(stage, "Soft")
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    _over_ours(rm, "Resuming", "p2")
    rm.start({"m": vcores(1)})
    rm.fence("APP-12")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(
        updated("app", "Accepted"),
        updated("app", "Starting"),
        placed("app", "r1", vcores(1), group="g"),
    )


@SUBJECT.check("style", "any style but Hard is Soft", "SI-27", seconds=_SECONDS)
def _style(stage: Stage) -> None:
    rm = _half(stage, "hard")
    _over(rm, "Resuming")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Accepted"))


@SUBJECT.check(
    "any-order",
    "confirmations may come one by one; only the last one moves the state",
    "GANG-27",
    "SI-62",
    seconds=_SECONDS,
)
def _any_order(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(3), "Soft", millis=_SHORT)])
    rm.asks(*(placeholder("app", key, vcores(1)) for key in ("p1", "p2", "p3")))
    rm.expect(
        placeholder_placed("app", "p1", vcores(1), "n"),
        placeholder_placed("app", "p2", vcores(1), "n"),
        updated("app", "Accepted"),
    )
    rm.expect(updated("app", "Resuming", _CAUSE), seconds=_SECONDS)
    rm.expect(
        ask_dropped("app", "p1").but(optional=True),
        ask_dropped("app", "p2").but(optional=True),
        ask_dropped("app", "p3"),
        released("app", "p1", si.TIMEOUT),
        released("app", "p2", si.TIMEOUT),
        any_order=True,
    )
    rm.release(release("app", "p2-0", si.TIMEOUT))
    rm.quiet()
    rm.release(release("app", "p2-0", si.TIMEOUT))
    rm.quiet()
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Accepted"))


@SUBJECT.check(
    "while-starting",
    "in Starting placeholders that are left have to be released, not those in replacement",
    "GANG-22",
    seconds=_SECONDS,
)
def _while_starting(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2), millis=_SHORT)])
    reserve(rm, 2)
    replaced = replace(rm, "r1", "p1", "p2")
    other = "p2" if replaced == "p1" else "p1"
    rm.expect(released("app", other, si.TIMEOUT), rule="GANG-22", seconds=_SECONDS)
    rm.quiet("GANG-22")
    rm.release(release("app", f"{other}-0", si.TIMEOUT))
    rm.quiet("GANG-22")
    rm.release(release("app", f"{replaced}-0", REPLACED))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check(
    "no-placeholder-yet",
    "the timeout does not begin before the first placeholder is there",
    "GANG-21",
    seconds=2 * _SECONDS,
)
def _no_placeholder_yet(stage: Stage) -> None:
    rm = stage.rm(apps=[gang("app", vcores(1), "Hard", millis=_SHORT)])
    rm.asks(placeholder("app", "p1", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    threading.Event().wait(2 * _SECONDS)
    rm.nodes(node("n", vcores(1)))
    rm.expect(
        node_accepted("n"),
        placeholder_placed("app", "p1", vcores(1), "n"),
        updated("app", "Starting"),
    )
    rm.remove("app")
    rm.expect(released("app", "p1"), updated("app", "Completing"))


@SUBJECT.check(
    "repeated",
    "an order that is not confirmed within rm.confirmTimeout is sent again",
    "SI-69",
    level=Level.REMUDA,
    seconds=_SECONDS,
)
def _repeated(stage: Stage) -> None:
    rm = stage.rm(
        {"n": vcores(1)}, [gang("app", vcores(1))], extra={"rm.confirmTimeout": f"{_SHORT}ms"}
    )
    reserve(rm, 1)
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    order = released("app", "p1", REPLACED)
    first = rm.expect(order)[0]
    second = rm.expect(order, rule="SI-69", seconds=_SECONDS)[0]
    if second.at - first.at < _SECONDS / 2:
        millis = f"{1000 * (second.at - first.at):.0f} ms"
        raise rm.failure("SI-69", f"{_SHORT} ms between the orders", [millis])
    rm.release(release("app", "p1-0", REPLACED))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check(
    "withdrawn",
    "with its last placeholder released by the resource manager an application completes",
    "GANG-33",
    "APP-8",
)
def _withdrawn(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [gang("app", vcores(2))])
    rm.asks(placeholder("app", "p1", vcores(1)))
    rm.expect(placeholder_placed("app", "p1", vcores(1), "n"), updated("app", "Accepted"))
    rm.release(release("app", "p1-0"))
    rm.expect(released("app", "p1"), updated("app", "Completing"))


def _left_over(stage: Stage) -> tuple[RM, str]:
    """Return a resource manager whose gang is Completing, and the one placeholder that is left."""
    rm = stage.rm({"n": vcores(3)}, [gang("app", vcores(2))])
    reserve(rm, 2)
    swapped = swap(rm, "r1", "p1", "p2")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    rm.release(release("app", "r1-0"))
    rm.expect(released("app", "r1"), updated("app", "Completing"), rule="GANG-32")
    return rm, "p2" if swapped == "p1" else "p1"


@SUBJECT.check(
    "left-over",
    "a placeholder that was never used has to be released after 30 s, then: Completed",
    "GANG-30",
    "GANG-31",
    "GANG-32",
    seconds=_COMPLETING,
)
def _clean_up(stage: Stage) -> None:
    rm, left = _left_over(stage)
    rm.expect(released("app", left, si.TIMEOUT), seconds=_COMPLETING + _MARGIN)
    rm.quiet("GANG-31")
    rm.release(release("app", f"{left}-0", si.TIMEOUT))
    rm.expect(updated("app", "Completed"), rule="GANG-31")
    rm.applications(gang("app", vcores(2)))
    rm.expect(accepted("app"), rule="SI-23")


@SUBJECT.check(
    "left-over-ask",
    "an ask during that clean-up sets it running; the confirmation changes nothing",
    "GANG-31",
    seconds=_COMPLETING,
)
def _clean_up_ask(stage: Stage) -> None:
    rm, left = _left_over(stage)
    rm.expect(released("app", left, si.TIMEOUT), seconds=_COMPLETING + _MARGIN)
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Running"), placed("app", "k", vcores(1), "n"))
    rm.release(release("app", f"{left}-0", si.TIMEOUT))


@SUBJECT.check(
    "left-over-released",
    "if the resource manager releases it, Completing still lasts its 30 s",
    "APP-10",
    level=Level.REMUDA,
    seconds=_COMPLETING,
)
def _left_over_released(stage: Stage) -> None:
    rm, left = _left_over(stage)
    began = time.monotonic()
    rm.release(release("app", f"{left}-0"))
    rm.expect(released("app", left))
    ended = rm.expect(updated("app", "Completed"), seconds=_COMPLETING + _MARGIN)[0]
    if ended.at - began < _COMPLETING - 2:
        raise rm.failure("APP-10", "30 s of Completing", [f"{ended.at - began:.1f} s"])


@SUBJECT.check(
    "all-replaced",
    "with the last placeholder gone the timeout is off; a later placeholder begins it anew",
    "GANG-21",
    "GANG-22",
    seconds=3 * _SECONDS,
)
def _all_replaced(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, [gang("app", vcores(1), millis=_SHORT)])
    reserve(rm, 1)
    swap(rm, "r1", "p1")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
    threading.Event().wait(1.5 * _SECONDS)
    rm.quiet("GANG-21")
    rm.asks(placeholder("app", "p2", vcores(1)))
    rm.expect(placeholder_placed("app", "p2", vcores(1), "n"))
    rm.expect(released("app", "p2", si.TIMEOUT), seconds=_SECONDS)
    rm.release(release("app", "p2-0", si.TIMEOUT))


@SUBJECT.check(
    "running-limit",
    "a gang that is Accepted with placeholders counts as running, and no longer when it fails",
    "APP-19",
    "QUE-22",
    level=Level.REMUDA,
    seconds=_SECONDS,
)
def _running_limit(stage: Stage) -> None:
    one = QUEUES.replace("- name: parent\n", "- name: parent\n            maxapplications: 1\n")
    one = one.replace("- name: leaf", "- {name: leaf, maxapplications: 1}")
    leaf = "root.parent.leaf"
    total = {"vcore": 1000, "gpu": 1}
    rm = stage.rm(
        {"n": vcores(2)},
        [
            gang("app", total, "Hard", millis=_SHORT, queue=leaf),
            application("next", leaf),
        ],
        config=one,
    )
    rm.asks(placeholder("app", "p1", vcores(1)), placeholder("app", "p2", {"gpu": 1}))
    rm.expect(placeholder_placed("app", "p1", vcores(1), "n"), updated("app", "Accepted"))
    rm.asks(ask("next", "k", vcores(1)))
    rm.expect(updated("next", "Accepted"))
    _over_ours(rm, "Failing", "p2")
    rm.expect(updated("next", "Starting"), placed("next", "k", vcores(1), "n"))
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Failed"))
