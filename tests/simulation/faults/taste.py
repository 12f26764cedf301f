"""Predicates that never change their mind, so that nothing waits for them to."""

from __future__ import annotations

import zlib


def picky(rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
    """Why a task does not like a node, "" if it does not mind.

    More of them mind to take the place of a placeholder, or to reserve.
    """
    number = zlib.crc32(f"{rm_id} {allocation_key} {node_id} {allocate}".encode())
    return f"{node_id} is not liked" if number % (6 if allocate else 2) == 0 else ""
