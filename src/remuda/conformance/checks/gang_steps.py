"""The first steps of a gang, which checks of several subjects begin with."""

from __future__ import annotations

from typing import Final

from remuda.conformance.expectations import placeholder_placed, released, updated
from remuda.conformance.requests import Amounts, ask, gang, placeholder, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

REPLACED: Final = si.PLACEHOLDER_REPLACED


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


def reserved(stage: Stage, count: int, cores: int = 8) -> RM:
    """Return a resource manager with a node and a gang whose placeholders are all there."""
    rm = stage.rm({"n": vcores(cores)}, [gang("app", vcores(count))])
    reserve(rm, count)
    return rm


def swap(rm: RM, key: str, real: str, size: Amounts | None = None) -> None:
    """Ask for a member, which orders a placeholder out, and confirm that."""
    rm.asks(ask("app", real, size or vcores(1), taskGroupName="g"))
    rm.expect(released("app", key, REPLACED), rule="GANG-14")
    rm.release(release("app", f"{key}-0", REPLACED))
