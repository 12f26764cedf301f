"""What a resource manager reports as running already: chapter 70 section 6, CYC-28, CYC-29."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from remuda.core.messages import commands as c
from remuda.core.messages import events as ev
from tests.reference import arithmetic as res
from tests.reference import reserving
from tests.reference.state import Allocation, Application, Partition

if TYPE_CHECKING:
    from tests.reference.model import Reference

FOREIGN = "foreign"


def report(reference: Reference, rm_id: str, existing: c.ExistingAllocation) -> bool:
    """One existing allocation and its answer. Rules: SI-42."""
    partition = reference.partition(rm_id, existing.ask.partition)
    taken = partition is not None and take(reference, partition, existing, existing.node_id)
    if partition is not None and taken:
        app = partition.applications.get(existing.ask.application_id)
        identity = identify(app, existing) if app else existing.allocation_id
        identity = identity or existing.ask.allocation_key
        reference.out.append(("new", rm_id, identity, existing.node_id))
    return taken


def identify(app: Application, existing: c.ExistingAllocation) -> str:
    """What identifies a reported allocation, "" if nothing does. Rules: SI-40.

    Without an ID that is the key, or the one allocation that is known of it.
    """
    if existing.allocation_id or existing.identity_fault:
        return existing.allocation_id
    key = existing.ask.allocation_key
    known = [one.identity for one in app.allocations.values() if one.key == key]
    if len(known) == 1:
        return known[0]
    named_so = app.allocations.get(key)
    if known:
        return key if named_so is not None and named_so.key == key else ""
    return "" if named_so is not None else key


def take(
    reference: Reference, partition: Partition, existing: c.ExistingAllocation, where: str
) -> bool:
    """SI-40, SI-41, SI-43, CYC-28, CYC-29."""
    ask, identity = existing.ask, existing.allocation_id
    if where not in partition.nodes or not ask.allocation_key or ask.placeholder:
        return False
    if any(v < 0 for v in ask.resource.values()):
        return False
    if FOREIGN in ask.tags and not ask.application_id:
        put_foreign(partition, identity or ask.allocation_key, where, dict(ask.resource))
        return True
    app = partition.applications.get(ask.application_id)
    if app is None:
        return False
    identity = identify(app, existing)
    if not identity:
        return False
    known = app.allocations.get(identity)
    if known is None:
        named = replace(existing, allocation_id=identity)
        bind_reported(reference, partition, app, named, where)
        return True
    to_nothing = any(known.resource.values()) and not any(ask.resource.values())
    if known.node_id != where or to_nothing:
        return False
    resize(reference, partition, app, known, dict(ask.resource))
    return True


def bind_reported(
    reference: Reference,
    partition: Partition,
    app: Application,
    existing: c.ExistingAllocation,
    where: str,
) -> None:
    """Take over an allocation the RM runs already. Rules: SI-41, SI-44, APP-6."""
    ask, resource = existing.ask, dict(existing.ask.resource)
    if ask.allocation_key not in app.asks:
        app.asks[ask.allocation_key] = reference.new_ask(app, ask, total=1)
    app.asks[ask.allocation_key].made += 1
    gone = reserving.surplus(partition, app, ask.allocation_key, where)
    reference.unreserve(partition, gone, "reported")
    if app.state == "New":
        reference.fire(partition, app, "run")
    names = (existing.allocation_id, ask.allocation_key)
    reference.bind(partition, app, names, where, resource)


def resize(
    reference: Reference,
    partition: Partition,
    app: Application,
    known: Allocation,
    resource: dict[str, int],
) -> None:
    """Another size of what runs, in place and whatever the limits say. Rules: CYC-28."""
    change = res.subtract(resource, known.resource)
    known.resource = resource
    for kind, sign in ((ev.REMOVE, -1), (ev.ADD, 1)):
        part = {t: v * sign for t, v in change.items() if v * sign > 0}
        if part:
            reference.tell_usage(partition, app, kind, part)


def put_foreign(partition: Partition, key: str, where: str, resource: dict[str, int]) -> None:
    """What others run: added, changed, or moved here. Rules: CYC-29, NODE-17, decision 56."""
    drop_foreign(partition, key)
    node = partition.nodes[where]
    node.foreign[key] = resource
    node.counts_foreign = True


def drop_foreign(partition: Partition, key: str) -> None:
    """What others run has ended; nobody answers. Rules: CYC-29."""
    for node in partition.nodes.values():
        node.foreign.pop(key, None)
