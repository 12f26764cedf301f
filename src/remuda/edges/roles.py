"""The roles of the file of identities, and the scopes that limit some of them (EXT-30, EXT-32)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remuda.base.errors import UsageError
from remuda.base.scopes import Scope

READER: Final = "reader"
OPERATOR: Final = "operator"
ADMINISTRATOR: Final = "administrator"
RESOURCE_MANAGER: Final = "rm"
ROLES: Final = (READER, OPERATOR, ADMINISTRATOR, RESOURCE_MANAGER)

# The roles that may have a scope.
_SCOPED: Final = (READER, OPERATOR, RESOURCE_MANAGER)


def read_scope(
    where: str, role: str, partitions: Sequence[str] | None, queues: Sequence[str] | None
) -> Scope | None:
    """Return the scope of a role; None: the file gives it none.

    A list without elements is refused, since it could be meant as nothing or as everything.
    Raises: UsageError. Rules: EXT-30, EXT-32, EXT-33.
    """
    if role and role not in ROLES:
        raise UsageError(f"{where}: role {role!r} is none of {', '.join(ROLES)}")
    if partitions is None and queues is None:
        return None
    if role not in _SCOPED:
        roles = ", ".join(_SCOPED)
        raise UsageError(f"{where}: partitions and queues are for the roles {roles}")
    for name, listed in (("partitions", partitions), ("queues", queues)):
        if listed is not None and not listed:
            raise UsageError(f"{where}: {name} has no elements; leave it out for all of them")
    paths = tuple([each.lower() for each in queues or ()])
    wrong = [each for each in paths if each != "root" and not each.startswith("root.")]
    if wrong:
        raise UsageError(f"{where}: queue {wrong[0]!r} does not begin with root")
    return Scope(tuple(partitions or ()), paths)
