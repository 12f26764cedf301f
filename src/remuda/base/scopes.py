"""Which partitions and queues a caller may deal with (EXT-30, EXT-32, EXT-33)."""

from __future__ import annotations

from typing import Final

from remuda.base.message import message
from remuda.base.texts import shortened

_DEFAULT_PARTITION: Final = "default"

# Characters that a refusal shows of a scope.
_TEXT_LIMIT: Final = 300


@message
class Scope:
    """A part of what the scheduler has.

    ``partitions``: their names without the part that names an RM; empty: all. ``queues``: paths in
    lower case, each with all below it; empty: all, and partitions as a whole.
    """

    partitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()

    def has_partition(self, rm_id: str, partition: str) -> bool:
        """Whether something of a partition may be in the scope."""
        plain = partition.removeprefix(f"[{rm_id}]") or _DEFAULT_PARTITION
        return not self.partitions or plain in self.partitions

    def includes(self, rm_id: str, partition: str, queue: str) -> bool:
        """Whether a queue, or a partition if that is "", is in the scope. Rules: EXT-30, EXT-32."""
        if not self.has_partition(rm_id, partition):
            return False
        path = queue.lower()
        return not self.queues or any(
            path == each or path.startswith(f"{each}.") for each in self.queues
        )

    def text(self) -> str:
        """Return the scope for a refusal, cut to a readable length."""
        lists = (("partitions", self.partitions), ("queues", self.queues))
        text = "; ".join([f"{name} {', '.join(listed)}" for name, listed in lists if listed])
        return shortened(text, _TEXT_LIMIT)
