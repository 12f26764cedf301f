"""The plain form in which effects of the scheduler and of the reference are compared.

Texts, timestamps and echoed asks are left out; the order of what the specification orders is
kept. What the specification leaves open is made equal: the order of allocations inside one
release, of applications changing state side by side in one command, and of partitions among
each other in one step.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TypeAlias

from remuda.core.messages import effects as e

Released: TypeAlias = tuple[str, str, str]
Outcome: TypeAlias = (
    tuple[str, str, str]
    | tuple[str, str, bool]
    | tuple[str, str, str, str]
    | tuple[str, str, tuple[str, ...]]
    | tuple[str, str, tuple[str, ...], tuple[str, ...]]
    | tuple[str, str, tuple[Released, ...]]
)


def outcomes(effects: Iterable[e.Effect]) -> list[Outcome]:
    """The comparable part of a list of effects, event records left out."""
    return [outcome(effect) for effect in effects if not isinstance(effect, e.EventRecord)]


def outcome(effect: e.Effect) -> Outcome:
    """The comparable part of one effect."""
    match effect:
        case e.RegistrationAnswered():
            return ("registered", effect.rm_id, not effect.reason)
        case e.RequestRefused():
            return ("refused", effect.rm_id, "")
        case e.ApplicationUpdated():
            return ("state", effect.rm_id, effect.application_id, effect.state)
        case e.AllocationNew():
            return ("new", effect.rm_id, effect.allocation_id, effect.node_id)
        case e.AllocationsReleased():
            gone = [(r.application_id, r.allocation_id, r.allocation_key) for r in effect.released]
            return ("released", effect.rm_id, tuple(sorted(gone)))
        case e.EventRecord():
            raise TypeError("event records are compared elsewhere")
        case _:
            return verdict(effect)


def verdict(
    effect: e.ApplicationsAnswered | e.NodesAnswered | e.AsksRejected | e.AllocationsRejected,
) -> Outcome:
    """The subjects of an answer."""
    bad = tuple(rejection.subject for rejection in effect.rejected)
    match effect:
        case e.ApplicationsAnswered():
            return ("applications", effect.rm_id, effect.accepted, bad)
        case e.NodesAnswered():
            return ("nodes", effect.rm_id, effect.accepted, bad)
        case e.AsksRejected():
            return ("asks rejected", effect.rm_id, bad)
        case e.AllocationsRejected():
            return ("allocations rejected", effect.rm_id, bad)


def settled(found: list[Outcome], stepping: bool) -> list[Outcome]:
    """The same in an order that does not depend on what the specification leaves open."""
    if stepping:
        return sorted(found, key=home)
    ordered: list[Outcome] = []
    for is_state, group in itertools.groupby(found, key=lambda o: o[0] == "state"):
        members = list(group)
        ordered.extend(sorted(members, key=lambda o: o[1:3]) if is_state else members)
    return ordered


def home(found: Outcome) -> tuple[str, str]:
    """RM and partition of a state change or allocation; workloads put it into their names."""
    return found[1], str(found[2]).partition("/")[0]
