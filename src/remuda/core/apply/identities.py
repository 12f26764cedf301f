"""Names allocations (rules: CYC-18, SI-35)."""

from __future__ import annotations

from typing import Final

from remuda.core.model.request import Request

# Digits of a number that the scheduler could ever reach.
LONGEST_NUMBER: Final = 18


def next_allocation_id(request: Request) -> str:
    """Return the identity of an ask's next allocation, never one given out before.

    A recovered allocation, or one of an earlier ask with this key, may bear an identity of this
    form. Rules: CYC-18, SI-35, SI-111.
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
    """Take note of an identity that the RM reports: it is not given out again. Rules: SI-35."""
    key, _, number = identity.rpartition("-")
    plain = number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER
    if key == request.ask.allocation_key and plain and str(int(number)) == number:
        request.next_identity = max(request.next_identity, int(number) + 1)
