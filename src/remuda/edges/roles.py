"""The roles of the file of identities, and how far an operator's goes (EXT-30)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.message import message

READER: Final = "reader"
OPERATOR: Final = "operator"
ADMINISTRATOR: Final = "administrator"
RESOURCE_MANAGER: Final = "rm"
ROLES: Final = (READER, OPERATOR, ADMINISTRATOR, RESOURCE_MANAGER)

_DEFAULT_PARTITION: Final = "default"


@message
class Scope:
    """The queues and partitions that an operator may start and stop.

    ``partitions``: their names without the part that names an RM; empty: all. ``queues``: paths in
    lower case, each with all below it; empty: all, and partitions as a whole.
    """

    partitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()

    def includes(self, rm_id: str, partition: str, queue: str) -> bool:
        """Whether a queue, or a partition if that is "", is in the scope. Rules: EXT-30."""
        plain = partition.removeprefix(f"[{rm_id}]") or _DEFAULT_PARTITION
        if self.partitions and plain not in self.partitions:
            return False
        path = queue.lower()
        return not self.queues or any(
            path == each or path.startswith(f"{each}.") for each in self.queues
        )


def read_scope(
    where: str, role: str, partitions: Sequence[str], queues: Sequence[str]
) -> Scope | None:
    """Return the scope of an operator, None for other roles. Raises: UsageError. Rules: EXT-30."""
    if role and role not in ROLES:
        raise UsageError(f"{where}: role {role!r} is none of {', '.join(ROLES)}")
    if role != OPERATOR:
        if partitions or queues:
            raise UsageError(f"{where}: partitions and queues are for the role of an operator")
        return None
    paths = tuple([each.lower() for each in queues])
    wrong = [each for each in paths if each != "root" and not each.startswith("root.")]
    if wrong:
        raise UsageError(f"{where}: queue {wrong[0]!r} does not begin with root")
    return Scope(tuple(partitions), paths)
