"""The first steps of a gang, which checks of several subjects begin with."""

from __future__ import annotations

from typing import Final

from remuda.conformance.elements import Expected, OneOf
from remuda.conformance.expectations import placeholder_placed, released, updated
from remuda.conformance.requests import Amounts, ask, gang, placeholder, release, vcores
from remuda.conformance.rm import RM
from remuda.conformance.stage import Stage
from remuda.si.pb import si_pb2 as si

REPLACED: Final = si.PLACEHOLDER_REPLACED


def reserve(rm: RM, count: int, size: Amounts | None = None, app: str = "app") -> None:
    """Ask for all placeholders of a gang, p1 and so on, and wait until they are placed."""
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
    """Return a resource manager with a node and a gang whose placeholders are all placed."""
    rm = stage.rm({"n": vcores(cores)}, [gang("app", vcores(count))])
    reserve(rm, count)
    return rm


def replace(rm: RM, real: str, *keys: str) -> str:
    """Ask for a member, which orders out one of the placeholders with these keys; return which."""
    rm.asks(ask("app", real, vcores(1), taskGroupName="g"))
    order = ordered_out(*keys)
    found = rm.expect(order, rule="GANG-14")[0].element
    assert isinstance(found, si.AllocationRelease)
    return found.allocationKey


def ordered_out(*keys: str) -> Expected:
    """The release of one of these placeholders is requested, to replace it (any one: GANG-10)."""
    if len(keys) == 1:
        return released("app", keys[0], REPLACED)
    identities = OneOf(tuple(form for key in keys for form in (f"{key}-0", key)))
    return released("app", keys[0], REPLACED).but(
        allocationKey=OneOf(keys), UUID=identities, allocationID=identities
    )


def swap(rm: RM, real: str, *keys: str) -> str:
    """Replace one of the placeholders with these keys and confirm its end; return which."""
    key = replace(rm, real, *keys)
    rm.release(release("app", f"{key}-0", REPLACED))
    return key
