"""How gangs come back after a restart (chapter 80 section 3).

The scheduler stores nothing, so it knows only the parts of a gang that its resource manager
reports.
"""

from __future__ import annotations

import time
from typing import Final

from remuda.conformance.checks.gang_steps import REPLACED, reserve, swap
from remuda.conformance.elements import Expected
from remuda.conformance.expectations import (
    known,
    node_accepted,
    placed,
    placeholder_placed,
    released,
    updated,
)
from remuda.conformance.registry import Level, Subject
from remuda.conformance.requests import (
    ask,
    existing,
    gang,
    node,
    placeholder,
    release,
    vcores,
)
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

SUBJECT: Final = Subject("gang-recovery", "Gang scheduling: recovery")


def _recovered(key: str) -> Expected:
    """The answer to a placeholder that exists already."""
    found = known("app", key, vcores(1), "n", f"{key}-0", group="g")
    return Expected(found.what, {**found.fields, "placeholder": True})


def _existing(key: str, **fields: object) -> si.Allocation:
    allocation = existing("app", key, "n", vcores(1), placeholder=True, taskGroupName="g")
    tags = fields.get("tags")
    if isinstance(tags, dict):
        allocation.allocationTags.update(tags)
    return allocation


@SUBJECT.check(
    "whole",
    "placeholders come back as existing allocations and are replaced as before",
    "GANG-40",
    "GANG-41",
    "REC-7",
)
def _recovered_whole(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(2))])
    rm.existing(_existing("p1"), _existing("p2"))
    rm.expect(
        _recovered("p1"), _recovered("p2"), updated("app", "Accepted"), updated("app", "Starting")
    )
    swap(rm, "r1", "p1", "p2")
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))


@SUBJECT.check(
    "part",
    "of placeholders that are missing after a recovery new ones are asked for",
    "GANG-41",
    "REC-3",
)
def _recovered_part(stage: Stage) -> None:
    rm = stage.rm(apps=[gang("app", vcores(2))])
    rm.nodes(node("n", vcores(2), existingAllocations=[_existing("p1")]))
    rm.expect(node_accepted("n"), updated("app", "Accepted"))
    rm.asks(placeholder("app", "p2", vcores(1)))
    rm.expect(placeholder_placed("app", "p2", vcores(1), "n"), updated("app", "Starting"))


@SUBJECT.check(
    "plain",
    "without its flag a recovered placeholder is an ordinary allocation",
    "GANG-40",
)
def _recovered_plain(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(2)}, [gang("app", vcores(1))])
    rm.existing(existing("app", "p1", "n", vcores(1), taskGroupName="g"))
    rm.expect(
        known("app", "p1", vcores(1), "n", "p1-0", group="g"),
        updated("app", "Accepted"),
        updated("app", "Starting"),
    )
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"), updated("app", "Running"))


@SUBJECT.check(
    "timeout",
    "recovered placeholders begin the timeout, at the oldest creation time among them",
    "GANG-20",
    "GANG-43",
    level=Level.REMUDA,
)
def _recovered_timeout(stage: Stage) -> None:
    hour_ago = str(int(time.time()) - 3600)
    old = gang("app", vcores(2))
    old.tags["yunikorn.apache.org/creationTime"] = hour_ago
    rm = stage.rm({"n": vcores(2)}, [old])
    rm.existing(_existing("p1", tags={"creationTime": hour_ago}))
    rm.expect(_recovered("p1"), updated("app", "Accepted"))
    rm.expect(updated("app", "Resuming", "ResourceReservationTimeout"), rule="GANG-20")
    rm.expect(released("app", "p1", si.TIMEOUT), rule="GANG-23")
    rm.release(release("app", "p1-0", si.TIMEOUT))
    rm.expect(updated("app", "Accepted"))


@SUBJECT.check(
    "swap",
    "a replacement under way at a restart begins anew with what is replayed",
    "GANG-42",
    "REC-11",
)
def _recovered_swap(stage: Stage) -> None:
    rm = stage.rm({"n": vcores(1)}, [gang("app", vcores(1))])
    reserve(rm, 1)
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(released("app", "p1", REPLACED))
    rm.hang_up()
    rm.register(rule="RM-9")
    rm.open()
    rm.start({"n": vcores(1)}, [gang("app", vcores(1))])
    rm.existing(_existing("p1"))
    rm.expect(_recovered("p1"), updated("app", "Accepted"), updated("app", "Starting"))
    rm.asks(ask("app", "r1", vcores(1), taskGroupName="g"))
    rm.expect(released("app", "p1", REPLACED), rule="GANG-42")
    rm.release(release("app", "p1-0", REPLACED))
    rm.expect(placed("app", "r1", vcores(1), "n", group="g"))
