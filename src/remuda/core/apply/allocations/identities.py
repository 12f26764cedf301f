"""Gives allocations their IDs (rules: CYC-18, SI-35), and finds the one the RM means (SI-40)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from remuda.core.messages.commands import ExistingAllocation
from remuda.core.model.applications.application import Application
from remuda.core.model.asks.request import Request
from remuda.core.model.nodes.foreign import is_foreign
from remuda.core.model.partition import Partition

# Digits of the largest number the scheduler can ever reach.
LONGEST_NUMBER: Final = 18


def next_allocation_id(request: Request) -> str:
    """Return the ID of an ask's next allocation, which no allocation had before.

    A recovered allocation, or one of an earlier ask with this key, may have an ID of this form.
    Implements: CYC-18, SI-35. Rules: SI-111.
    """
    live = request.application.allocations
    key = request.ask.allocation_key
    if request.ask.key_is_identity and key not in live:
        return key
    number = request.next_identity
    if request.made > number:
        number = request.made
    allocation_id = f"{key}-{number}"
    while allocation_id in live:
        number += 1
        allocation_id = f"{key}-{number}"
    request.next_identity = number + 1
    return allocation_id


def note_identity(request: Request, identity: str) -> None:
    """Note an ID that the RM reports: no new allocation gets it. Rules: SI-35."""
    key, _, number = identity.rpartition("-")
    plain = number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER
    if key == request.ask.allocation_key and plain and str(int(number)) == number:
        request.next_identity = max(request.next_identity, int(number) + 1)


def identified(partition: Partition | None, existing: ExistingAllocation) -> ExistingAllocation:
    """Return an existing allocation with its ID; without one its key is the ID.

    If one allocation of its key is known already, the record means that one, no matter what ID it
    has.
    Rules: SI-40, SI-43, SI-111. Foreign ones are another matter: CYC-29.
    """
    if existing.allocation_id or existing.identity_fault or is_foreign(existing.ask):
        return existing
    ask = existing.ask
    application = partition.applications.get(ask.application_id) if partition else None
    if application is None:
        return replace(existing, allocation_id=ask.allocation_key)
    identity, fault = _meant(application, ask.allocation_key)
    return replace(existing, allocation_id=identity, identity_fault=fault)


def _meant(application: Application, key: str) -> tuple[str, str]:
    """Return the ID of the allocation a key means, or why it means none."""
    known = application.identities(key)
    if len(known) == 1:
        return known[0], ""
    if known and key not in known:
        return "", f"the key has {len(known)} allocations; name the allocation ID"
    if application.gang is not None:
        for real in application.gang.replacing.values():
            if real.ask.allocation_key == key:
                return real.allocation_id, ""
    bearer = application.allocations.get(key)
    if bearer is not None and bearer.ask.allocation_key != key:
        other = bearer.ask.allocation_key
        return "", f"the allocation of key '{other}' has that ID; name another allocation ID"
    return key, ""
