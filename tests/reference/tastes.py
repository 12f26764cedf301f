"""The predicates of workloads: they refuse some nodes, and may change their mind."""

from __future__ import annotations

import zlib

from tests.port import one_by_one


class Taste:
    """Predicates that depend on an ask's class, the node and the mood of the moment alone.

    The class is what follows ``~`` in the key. One in capitals is an equivalence class, whose
    answers never change (SI-80, README, decision 3). What may not run on a node may still reserve
    it, and the other way round.
    """

    def __init__(self) -> None:
        self.moods: dict[str, int] = {}
        self.port = one_by_one(self.refusal)

    def change(self, rm_id: str, mood: int) -> None:
        """Another mood of an RM; it starts with 0."""
        self.moods[rm_id] = mood

    def refusal(self, rm_id: str, allocation_key: str, node_id: str, allocate: bool) -> str:
        """Why an ask may not go to a node, "" if it may."""
        group = allocation_key.rpartition("~")[2]
        mood = 0 if group.isupper() else self.moods.get(rm_id, 0)
        number = zlib.crc32(f"{rm_id} {group} {node_id} {mood}".encode())
        refused = number % 3 == 0 if allocate else number % 5 == 0
        return f"class {group} does not like {node_id}" if refused else ""


# Always in the same mood.
refuse_some = Taste().port
