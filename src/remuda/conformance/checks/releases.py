"""Releases of asks and allocations, and confirmations (chapter 70 section 7)."""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import node_accepted, placed, released, updated
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import ask, ask_release, node, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("releases", "Releases")


def _full(stage: Stage, count: int = 2) -> RM:
    """Return a resource manager with a full node and one more ask that waits for room."""
    rm = stage.rm({"n": vcores(count)}, ["app"])
    rm.place("app", "k", vcores(1), "n", count)
    rm.asks(ask("app", "waits", vcores(1)))
    rm.quiet()
    return rm


@SUBJECT.check(
    "ask", "an ask that was released is never placed, and not answered", "SI-50", "SI-51"
)
def _ask(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "gone", vcores(1), 5), ask("app", "stays", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.release(ask_release("app", "gone"))
    rm.quiet()
    rm.nodes(node("n", vcores(8)))
    rm.expect(
        node_accepted("n"), placed("app", "stays", vcores(1), "n"), updated("app", "Starting")
    )
    rm.fence()


@SUBJECT.check(
    "all-asks",
    "without a key all asks go; an application with nothing left completes",
    "SI-50",
    "SI-51",
    "APP-8",
)
def _all_asks(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k1", vcores(1)), ask("app", "k2", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.release(ask_release("app"))
    rm.expect(updated("app", "Completing"))
    rm.start({"n": vcores(8)})
    rm.fence()


@SUBJECT.check(
    "unknown-asks", "releases of unknown asks, or of no application, are ignored", "SI-50"
)
def _unknown_asks(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.release(
        ask_release("app", "none"),
        ask_release("none", "k"),
        ask_release("", "k"),
        ask_release("app", "k", partitionName="none"),
    )
    rm.quiet()
    rm.nodes(node("n", vcores(1)))
    rm.expect(node_accepted("n"), placed("app", "k", vcores(1), "n"), updated("app", "Starting"))


@SUBJECT.check("ask-timeout", "a release of an ask with type TIMEOUT is ignored", "SI-52")
def _ask_timeout(stage: Stage) -> None:
    rm = stage.rm(apps=["app"])
    rm.asks(ask("app", "k", vcores(1)))
    rm.expect(updated("app", "Accepted"))
    rm.release(ask_release("app", "k", terminationType=si.TIMEOUT))
    rm.quiet()
    rm.nodes(node("n", vcores(1)))
    rm.expect(node_accepted("n"), placed("app", "k", vcores(1), "n"), updated("app", "Starting"))


@SUBJECT.check(
    "allocation",
    "a release is answered with STOPPED_BY_RM, and the room is used again",
    "SI-60",
    "SI-77",
)
def _allocation(stage: Stage) -> None:
    rm = _full(stage)
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "waits", vcores(1), "n"))


@SUBJECT.check("no-type", "a release without a type is one with STOPPED_BY_RM", "SI-60", "SI-68")
def _no_type(stage: Stage) -> None:
    rm = _full(stage)
    rm.release(release("app", "k-0", si.UNKNOWN_TERMINATION_TYPE))
    rm.expect(released("app", "k"), placed("app", "waits", vcores(1), "n"))


@SUBJECT.check(
    "confirmations",
    "a release with TIMEOUT or PREEMPTED_BY_SCHEDULER is done and not answered",
    "SI-60",
    "SI-63",
    "SI-68",
)
def _confirmations(stage: Stage) -> None:
    rm = _full(stage)
    rm.release(release("app", "k-0", si.TIMEOUT))
    rm.expect(placed("app", "waits", vcores(1), "n"))
    rm.asks(ask("app", "waits2", vcores(1)))
    rm.fence()
    rm.release(release("app", "k-1", si.PREEMPTED_BY_SCHEDULER))
    rm.expect(placed("app", "waits2", vcores(1), "n"))


@SUBJECT.check("all", "without identity and key all allocations go, listed in one answer", "SI-61")
def _all(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 2)
    rm.release(release("app"))
    heard = rm.expect(
        released("app", "k"),
        released("app", "k", number=1),
        updated("app", "Completing"),
        any_order=True,
    )
    if heard[0].response != heard[1].response:
        came = [f"response {each.response}: {each.text()}" for each in heard[:2]]
        raise rm.failure("SI-61", "both in one response", came)


@SUBJECT.check("identity-counts", "with an identity the key is not looked at", "SI-61")
def _identity_counts(stage: Stage) -> None:
    rm = _full(stage)
    rm.release(release("app", "k-0", allocationKey="wrong"))
    rm.expect(released("app", "k"), placed("app", "waits", vcores(1), "n"))


@SUBJECT.check("one-name", "either name of the identity is understood", "SI-61", "SI-110")
def _one_name(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(3)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 3)
    rm.release(
        si.AllocationRelease(applicationID="app", UUID="k-0", terminationType=si.STOPPED_BY_RM)
    )
    rm.expect(released("app", "k"))
    rm.release(
        si.AllocationRelease(
            applicationID="app", allocationID="k-1", terminationType=si.STOPPED_BY_RM
        )
    )
    rm.expect(released("app", "k", number=1))


@SUBJECT.check(
    "two-names", "two different identities in one release are ignored", "SI-61", level=Level.REMUDA
)
def _two_names(stage: Stage) -> None:
    rm = _full(stage)
    both = release("app", "k-0")
    both.allocationID = "k-1"
    rm.release(both)
    rm.fence()


@SUBJECT.check(
    "by-key", "with the key alone the allocations of that key go", "SI-61", level=Level.REMUDA
)
def _by_key(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(3)}, ["app"])
    rm.place("app", "other", vcores(1), "n")
    rm.asks(ask("app", "k", vcores(1), 2))
    rm.expect(
        placed("app", "k", vcores(1), "n"),
        placed("app", "k", vcores(1), "n", number=1),
        updated("app", "Running"),
    )
    rm.release(release("app", allocationKey="k"))
    rm.expect(released("app", "k"), released("app", "k", number=1), any_order=True)
    rm.release(release("app", allocationKey="none"))
    rm.quiet()
    rm.release(release("app", "other-0"))
    rm.expect(released("app", "other"), updated("app", "Completing"))


@SUBJECT.check("unknown", "releases and confirmations of what is not known are ignored", "SI-62")
def _unknown(stage: Stage) -> None:
    rm = _full(stage)
    for type_ in si.TerminationType.values():
        rm.release(
            release("app", "none", type_),
            release("none", "k-0", type_),
            release("app", "k-0", type_, partitionName="none"),
            release("", "k-0", type_),
        )
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "waits", vcores(1), "n"))


@SUBJECT.check("twice", "a second release of the same allocation is ignored", "SI-62")
def _twice(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 2)
    rm.release(release("app", "k-0"), release("app", "k-0"))
    rm.release(release("app", "k-0", si.TIMEOUT))
    rm.expect(released("app", "k"))


@SUBJECT.check(
    "no-placeholder",
    "PLACEHOLDER_REPLACED for a real allocation, or without identity, is refused",
    "SI-64",
    level=Level.REMUDA,
)
def _no_placeholder(stage: Stage) -> None:
    rm = _full(stage)
    rm.release(release("app", "k-0", si.PLACEHOLDER_REPLACED))
    rm.release(release("app", "", si.PLACEHOLDER_REPLACED))
    rm.release(release("app", "", si.PLACEHOLDER_REPLACED, allocationKey="k"))
    rm.fence()
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), placed("app", "waits", vcores(1), "n"))


@SUBJECT.check(
    "last", "with the last allocation and no ask an application completes", "SI-60", "APP-8"
)
def _last(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.place("app", "k", vcores(1), "n", 2)
    rm.release(release("app", "k-1"))
    rm.expect(released("app", "k", number=1))
    rm.quiet("APP-22")
    rm.release(release("app", "k-0"))
    rm.expect(released("app", "k"), updated("app", "Completing"))
