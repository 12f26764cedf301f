"""The plain form in which effects of the scheduler and of the reference are compared.

Texts, timestamps and echoed asks are left out; the order of what the specification orders is
kept. What the specification leaves open is made equal: the order of allocations inside one
release, of applications changing state side by side in one command, and of partitions among
each other in one step.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from remuda.core.messages import effects as e
from remuda.core.messages import events as ev
from tests.reference import arithmetic as res
from tests.reference.state import Partition

Released: TypeAlias = tuple[str, str, str]
Outcome: TypeAlias = (
    tuple[str, str, str]
    | tuple[str, str, bool]
    | tuple[str, str, str, str]
    | tuple[str, str, tuple[str, ...]]
    | tuple[str, str, tuple[str, ...], tuple[str, ...]]
    | tuple[str, str, tuple[Released, ...]]
)

# RM, partition, kind, object, change, detail, reference, amounts.
Record: TypeAlias = tuple[str, str, int, str, int, int, str, tuple[tuple[str, int], ...]]
Usage: TypeAlias = tuple[str, str, int, str, int, int, str]

USAGE = (ev.UG_USER_RESOURCE, ev.UG_GROUP_RESOURCE)


def outcomes(effects: Iterable[e.Effect]) -> list[Outcome]:
    """The comparable part of a list of effects; of event records, those of reservations."""
    return [
        outcome(effect)
        for effect in effects
        if not isinstance(effect, (e.EventRecord, e.ContainerStateUpdated, e.ReleaseRefused))
        or (isinstance(effect, e.EventRecord) and effect.detail == ev.NODE_RESERVATION)
    ]


def outcome(effect: e.Effect) -> Outcome:
    """The comparable part of one effect."""
    match effect:
        case e.RegistrationAnswered():
            return ("registered", effect.rm_id, not effect.reason)
        case e.ConfigurationAnswered():
            return ("configured", effect.rm_id, not effect.reason)
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
            kind = "reserved" if effect.change == ev.ADD else "unreserved"
            return (kind, effect.rm_id, effect.reference_id, effect.object_id)
        case (
            e.ContainerStateUpdated()
            | e.AsksReleased()
            | e.ReleaseRefused()
            | e.ObjectStateAnswered()
            | e.ResourceManagerStopped()
            | e.ResourceManagerFailed()
        ):
            raise TypeError("hints, gangs, pauses, operators and faults are not compared")
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
        return sorted(ends_in_any_order(found), key=home)
    kept = [one for one in found if one[0] == "unreserved"]
    return told_in_order([one for one in found if one not in kept]) + sorted(kept, key=str)


def ends_in_any_order(found: list[Outcome]) -> list[Outcome]:
    """The same with reservations sorted that end one right after the other."""
    ordered: list[Outcome] = []
    for is_end, group in itertools.groupby(found, key=lambda o: o[0] == "unreserved"):
        members = list(group)
        ordered.extend(sorted(members, key=str) if is_end else members)
    return ordered


def told_in_order(found: list[Outcome]) -> list[Outcome]:
    """Answers to a command, states that were entered side by side sorted."""
    ordered: list[Outcome] = []
    for is_state, group in itertools.groupby(found, key=lambda o: o[0] == "state"):
        members = list(group)
        ordered.extend(sorted(members, key=lambda o: o[1:3]) if is_state else members)
    return ordered


def entries(found: Outcome) -> tuple[Released, ...]:
    """What a release names."""
    named = found[2]
    assert isinstance(named, tuple)
    return tuple((one[0], one[1], one[2]) for one in named)


def home(found: Outcome) -> tuple[str, str]:
    """RM and partition of a state change or allocation; workloads put it into their names."""
    return found[1], str(found[2]).partition("/")[0]


# ------------------------------------------------------------------------------ event records


def record(
    partition: Partition,
    kind: int,
    name: str,
    change: int,
    detail: int,
    *,
    amounts: Mapping[str, int] | None = None,
    reference: str = "",
) -> Record:
    """One event record as the reference tells it."""
    plain = tuple(sorted((t, v) for t, v in (amounts or {}).items() if v))
    return (partition.rm_id, partition.name, kind, name, change, detail, reference, plain)


def records(effects: Iterable[e.Effect]) -> list[Record]:
    """The records of queues and of usage; root's maximum and whose queue it is left out."""
    found = []
    for one in effects:
        if not isinstance(one, e.EventRecord) or one.kind not in (ev.QUEUE, ev.USERGROUP):
            continue
        of_root = one.object_id == "root" and one.detail == ev.QUEUE_MAX
        if of_root or one.detail in (ev.QUEUE_APP, ev.UG_APP_LINK):
            continue
        if one.detail in (ev.UG_USER_LIMIT, ev.UG_GROUP_LIMIT):
            continue
        plain = tuple(sorted((t, v) for t, v in (one.resource or {}).items() if v))
        home = (one.rm_id, one.partition, one.kind)
        found.append((*home, one.object_id, one.change, one.detail, one.reference_id, plain))
    return found


def counted(found: Iterable[Record]) -> tuple[Counter[Record], dict[Usage, dict[str, int]]]:
    """Records to compare: how often each, and usage summed, however it was cut into records."""
    sums: dict[Usage, dict[str, int]] = {}
    others: Counter[Record] = Counter()
    for one in found:
        if one[5] in USAGE:
            sums[one[:7]] = res.add(sums.get(one[:7], {}), dict(one[7]))
        else:
            others[one] += 1
    return others, {key: amounts for key, amounts in sums.items() if any(amounts.values())}
