"""The form of 1.6 and later, in which an allocation without a node is an ask (SI-111)."""

from __future__ import annotations

from typing import Final

from remuda.conformance.elements import Expected
from remuda.conformance.expectations import (
    allocation_rejected,
    known,
    node_accepted,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import (
    Amounts,
    application,
    existing,
    node,
    release,
    vcores,
)
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("newer", "The form of 1.6 and later")


def _entry(app: str, key: str, size: Amounts, where: str = "") -> si.Allocation:
    """Return an allocation as newer resource managers write it: its key is its identity."""
    return existing(app, key, where, size, UUID="", allocationID="")


def _placed(app: str, key: str, size: Amounts, where: str) -> Expected:
    """The ask got its allocation, whose identity is its key."""
    return known(app, key, size, where, key)


@SUBJECT.check(
    "ask",
    "an allocation without a node is an ask for one, and its key the identity of what it gets",
    "SI-111",
    "SI-35",
    level=Level.REMUDA,
)
def _ask(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.existing(_entry("app", "k1", vcores(1)), _entry("app", "k2", vcores(1)))
    rm.expect(
        _placed("app", "k1", vcores(1), "n"),
        _placed("app", "k2", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Running"),
    )


@SUBJECT.check(
    "rejected",
    "a bad ask of that form is a rejected allocation",
    "SI-111",
    "SI-31",
    level=Level.REMUDA,
)
def _rejected(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, ["app"])
    rm.existing(
        _entry("none", "k1", vcores(1)),
        _entry("app", "k2", {}),
        _entry("app", "k3", vcores(1)),
    )
    rm.expect(
        allocation_rejected("none", "k1"),
        allocation_rejected("app", "k2"),
        _placed("app", "k3", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Running"),
        any_order=True,
    )


@SUBJECT.check(
    "release",
    "a release by key drops the ask that waits, or ends the allocation",
    "SI-111",
    "SI-61",
    level=Level.REMUDA,
)
def _release(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, ["app"])
    rm.existing(_entry("app", "k1", vcores(1)))
    rm.expect(
        _placed("app", "k1", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Running"),
    )
    rm.existing(_entry("app", "gone", vcores(1)), _entry("app", "k2", vcores(1)))
    rm.release(release("app", allocationKey="gone"))
    rm.quiet("SI-50")
    rm.release(release("app", allocationKey="k1"))
    rm.expect(released("app", "k1", identity="k1"), _placed("app", "k2", vcores(1), "n"))
    rm.fence(state="Running")


@SUBJECT.check(
    "level",
    "who registers with si_level 1.6 hears of states in that form from the beginning",
    "SI-111",
    "APP-1",
    level=Level.REMUDA,
)
def _level(stage: Stage) -> None:
    _comes_back(stage, {"si_level": "1.6"})


@SUBJECT.check(
    "restart",
    "what runs is reported by key and node, whatever was said of the level, and released by key",
    "SI-111",
    "SI-40",
    "SI-61",
    "REC-1",
    level=Level.REMUDA,
)
def _restart(stage: Stage) -> None:
    _comes_back(stage, {})


def _comes_back(stage: Stage, build: dict[str, str]) -> None:
    """Report a running allocation by key and node, and end it by key."""
    rm = stage.unregistered()
    rm.register(build=build)
    rm.open()
    rm.nodes(node("n", vcores(2)))
    rm.expect(node_accepted("n"))
    rm.start(apps=[application("app")])
    rm.existing(_entry("app", "k", vcores(1), "n"))
    rm.expect(
        _placed("app", "k", vcores(1), "n"),
        updated("app", "Accepted"),
        updated("app", "Running"),
    )
    rm.release(release("app", allocationKey="k"))
    rm.expect(released("app", "k", identity="k"), updated("app", "Completing"))
