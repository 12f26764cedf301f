"""Everything the scheduler knows: resource managers and their partitions."""

from __future__ import annotations

from typing import final

from remuda.core.messages.commands import RegisterResourceManager
from remuda.core.model.deadlines import Deadlines
from remuda.core.model.partition import Partition


@final
class ResourceManager:
    """One registered RM and its partitions by plain name (RM-10)."""

    __slots__ = ("partitions", "record")

    def __init__(self, record: RegisterResourceManager) -> None:
        self.record = record
        self.partitions: dict[str, Partition] = {}


@final
class Cluster:
    """The whole state."""

    __slots__ = ("deadlines", "managers")

    def __init__(self) -> None:
        self.deadlines = Deadlines()
        self.managers: dict[str, ResourceManager] = {}

    def partition(self, rm_id: str, name: str) -> Partition | None:
        """Find a partition by the name an RM uses. Rules: RM-21, RM-22, RM-24."""
        manager = self.managers.get(rm_id)
        return None if manager is None else manager.partitions.get(plain_name(rm_id, name))

    def partitions(self) -> list[Partition]:
        """Return all partitions by (RM ID, name)."""
        return [
            self.managers[rm_id].partitions[name]
            for rm_id in sorted(self.managers)
            for name in sorted(self.managers[rm_id].partitions)
        ]


def unknown_partition(name: str) -> str:
    """Return why what names a missing partition is refused. Rules: SI-20, SI-31, SI-40, NODE-10."""
    return f"partition '{name or 'default'}' doesn't exist"


def plain_name(rm_id: str, name: str) -> str:
    """Return the plain partition name; a foreign ``[rm]`` prefix names no partition.

    Rules: RM-21 (empty means default), RM-22 (only the sender's own prefix).
    """
    prefix = f"[{rm_id}]"
    name = name.removeprefix(prefix)
    return name or "default"
