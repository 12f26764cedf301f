"""The states of applications, as `updated` tells them (chapter 80 section 1).

The checks wait for the 30 seconds of Completing, but not for timers of minutes.
"""

from __future__ import annotations

from typing import Final

from remuda.conformance.elements import Heard
from remuda.conformance.expectations import (
    accepted,
    ask_dropped,
    ask_rejected,
    known,
    node_accepted,
    placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import (
    QUEUES,
    application,
    ask,
    ask_release,
    existing,
    node,
    release,
    vcores,
)
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("states", "States of applications")

# Seconds an application stays Completing (APP-16), and how much later they may be over.
_COMPLETING: Final = 30.0
_MARGIN: Final = 10.0


@SUBJECT.check(
    "first-ask",
    "with its first ask an application is Accepted; more asks change nothing",
    "APP-4",
    "APP-5",
)
def _first_ask(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k1", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.asks(ask("app", "k2", vcores(1)))


@SUBJECT.check(
    "running",
    "the first allocation makes it Starting, the second Running, further ones change nothing",
    "APP-4",
    "APP-5",
)
def _running(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    for number, state in enumerate(("Starting", "Running", "", "")):
        rm.asks(ask("app", f"k{number}", vcores(1)))
        if number == 0:
            rm.expect(updated("app", "Accepted"))
        rm.expect(placed("app", f"k{number}", vcores(1), "n"))
        if state:
            rm.expect(updated("app", state))
        rm.quiet()


@SUBJECT.check(
    "stateaware-disable",
    "with the tag application.stateaware.disable Starting ends at once",
    "APP-16",
)
def _stateaware_disable(stage: Stage) -> None:
    tags = {"application.stateaware.disable": "true"}
    rm = stage.rm({"n": vcores(4)}, [application("app", tags=tags)])
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(
        placed("app", "k", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "recovered",
    "existing allocations make a new application Accepted and Starting, then Running",
    "APP-6",
    "REC-7",
)
def _recovered(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(4)}, ["app"])
    rm.existing(existing("app", "k1", "n", vcores(1)))
    rm.expect(
        known("app", "k1", vcores(1), "n", "k1-0"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.quiet()
    rm.existing(existing("app", "k2", "n", vcores(1)))
    rm.expect(known("app", "k2", vcores(1), "n", "k2-0"), updated("app", "Running"))


@SUBJECT.check(
    "asks-gone",
    "with its last ask gone and nothing allocated an application completes",
    "APP-8",
    "SI-51",
)
def _asks_gone(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.asks(ask("app", "large", vcores(5)))
    rm.expect(updated("app", "Accepted"))
    rm.release(ask_release("app", "large"))
    rm.expect(updated("app", "Completing"))
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Running"), placed("app", "k", vcores(1), "n"))
    rm.asks(ask("app", "large", vcores(5)))
    rm.release(ask_release("app", "large"))
    rm.quiet("APP-8")


@SUBJECT.check(
    "allocations-gone",
    "with its last allocation gone an application goes on while it asks",
    "APP-8",
    "APP-22",
)
def _allocations_gone(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    rm.asks(ask("app", "large", vcores(5)))
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"))
    rm.quiet()
    rm.release(ask_release("app"))
    rm.expect(updated("app", "Completing"))


def _complete(rm: RM, app: str) -> Heard:
    """Release the only allocation; return the notice that the application is completing."""
    rm.release(release(app, "k-0"))
    return rm.expect(updated(app, "Completing"), released(app, "k"))[0]


def _seconds_between(first: Heard, second: Heard) -> float:
    times = []
    for each in (first, second):
        assert isinstance(each.element, si.UpdatedApplication)
        times.append(each.element.stateTransitionTimestamp)
    return (times[1] - times[0]) / 1e9


@SUBJECT.check(
    "completed",
    "after 30 seconds of Completing an application is Completed, and its ID is free",
    "APP-16",
    "APP-8",
    "SI-23",
    seconds=_COMPLETING,
)
def _completed(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    began = _complete(rm, "app")
    ended = rm.expect(updated("app", "Completed"), seconds=_COMPLETING + _MARGIN)[0]
    took = _seconds_between(began, ended)
    if not _COMPLETING - 1 <= took <= _COMPLETING + _MARGIN:
        raise rm.failure("APP-16", "30 s between Completing and Completed", [f"{took:.1f} s"])
    rm.applications(application("app"))
    rm.expect(accepted("app"), rule="SI-23")
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "completing-again",
    "an ask while Completing ends the 30 s, which begin anew; one after them is rejected",
    "APP-2",
    "APP-14",
    "APP-17",
    "SI-31",
    level=Level.REMUDA,
    seconds=_COMPLETING,
)
def _completing_again(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n")
    _complete(rm, "app")
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(updated("app", "Running"), placed("app", "k2", vcores(1), "n"))
    rm.release(release("app", "k2-0"))
    began = rm.expect(updated("app", "Completing"), released("app", "k2"))[0]
    ended = rm.expect(updated("app", "Completed"), seconds=_COMPLETING + _MARGIN)[0]
    took = _seconds_between(began, ended)
    if took < _COMPLETING - 1:
        raise rm.failure("APP-17", "30 s after the last Completing", [f"{took:.1f} s"])
    rm.asks(ask("app", "k3", vcores(1)))
    rm.expect(ask_rejected("app", "k3"), rule="APP-14")


@SUBJECT.check(
    "run-time-limit",
    "with application.enforceExecutionTimeout an application ends after its execution timeout",
    "APP-30",
    "SI-78",
    level=Level.REMUDA,
    seconds=1.0,
)
def _run_time_limit(stage: Stage) -> None:
    limited = application("app", executionTimeoutMilliSeconds=500)
    extra = {"application.enforceExecutionTimeout": "true"}
    rm = stage.rm({"n": vcores(1)}, [limited], extra=extra)
    rm.place("app", "k", vcores(1), "n")
    rm.asks(ask("app", "waits", vcores(1)))
    rm.expect(
        updated("app", "Failing", "ExecutionTimeout"),
        ask_dropped("app", "waits"),
        released("app", "k", si.TIMEOUT),
    )
    rm.asks(ask("app", "late", vcores(1)))
    rm.expect(ask_rejected("app", "late"), rule="SI-31")
    rm.release(release("app", "k-0", si.TIMEOUT))
    rm.expect(updated("app", "Failed"))
    rm.start(apps=["app"])
    rm.place("app", "k", vcores(1), "n")


@SUBJECT.check(
    "no-run-time-limit",
    "without that setting the execution timeout of an application ends nothing",
    "SI-28",
    seconds=1.0,
)
def _no_run_time_limit(stage: Stage) -> None:
    limited = application("app", executionTimeoutMilliSeconds=1)
    rm = stage.rm({"n": vcores(1)}, [limited])
    rm.place("app", "k", vcores(1), "n")
    for _ in range(5):
        rm.fence("SI-28")


@SUBJECT.check(
    "running-limit",
    "above the maximum of applications one waits in Accepted until another completes",
    "APP-19",
    "QUE-22",
)
def _running_limit(stage: Stage) -> None:
    one = QUEUES.replace("- name: a\n", "- name: a\n            maxapplications: 1\n", 1)
    rm = stage.rm({"n": vcores(4)}, ["first", "second"], config=one)
    rm.place("first", "k", vcores(1), "n")
    rm.asks(ask("second", "k", vcores(1)))
    rm.expect(updated("second", "Accepted"))
    rm.fence(queue="root.b")
    rm.release(release("first", "k-0"))
    rm.expect(
        released("first", "k"),
        placed("second", "k", vcores(1), "n"),
        updated("first", "Completing"),
        updated("second", "Starting"),
    )


@SUBJECT.check(
    "never-fails",
    "losing all allocations and a node never fails an application",
    "APP-22",
    "NODE-13",
)
def _never_fails(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 2)
    rm.nodes(node("n", None, si.NodeInfo.DECOMISSION))
    rm.expect(
        released("app", "k"),
        released("app", "k", number=1),
        updated("app", "Completing"),
        any_order=True,
    )
    rm.asks(ask("app", "k2", vcores(1)))
    rm.expect(updated("app", "Running"))
    rm.nodes(node("n", vcores(1)))
    rm.expect(node_accepted("n"), placed("app", "k2", vcores(1), "n"))
