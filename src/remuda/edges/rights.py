"""What a known caller may do, and how the file of identities says so (EXT-23, EXT-30).

The same keys give rights to an identity that has a token or a certificate of its own, and to those
whose token an issuer has signed (EXT-31).
"""

from __future__ import annotations

from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.roles import ADMINISTRATOR, OPERATOR, READER, RESOURCE_MANAGER, Scope, read_scope
from remuda.edges.token_hashes import TokenHash

# An RM ID that stands for all.
ANY_RM: Final = "*"


@message
class Identity:
    """A known caller. ``name`` is for people.

    ``certificates``: names in its certificate, any of which will do. ``token_digests``: SHA-256 of
    its tokens. ``token_hashes``: slow hashes of others. ``rm_ids``: the RMs it may act for, ``*``
    all. ``read``: it may read the HTTP API. ``admin``: it may do everything but act for RMs.
    ``operates``: what it may start and stop, None for nothing.
    """

    name: str
    certificates: tuple[str, ...] = ()
    token_digests: tuple[bytes, ...] = ()
    rm_ids: tuple[str, ...] = ()
    admin: bool = False
    read: bool = False
    token_hashes: tuple[TokenHash, ...] = ()
    operates: Scope | None = None

    @property
    def has_token(self) -> bool:
        """Whether it can be known by a token."""
        return bool(self.token_digests or self.token_hashes)


class RightsEntry(msgspec.Struct, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """The keys of a table of the file that say what a caller may do."""

    rm_ids: tuple[str, ...] = ()
    read: bool = False
    admin: bool = False
    role: str = ""
    partitions: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()


def read_rights(where: str, name: str, entry: RightsEntry) -> Identity:
    """Return an identity without proofs. Raises: UsageError. Rules: EXT-30."""
    scope = read_scope(where, entry.role, entry.partitions, entry.queues)
    if entry.role == RESOURCE_MANAGER and not entry.rm_ids:
        raise UsageError(f"{where} has the role of a resource manager and no rm-ids")
    if not (entry.rm_ids or entry.read or entry.admin or entry.role):
        raise UsageError(
            f"{where} may do nothing; give it rm-ids, read = true or admin = true, or a role"
        )
    return Identity(
        name,
        rm_ids=entry.rm_ids,
        admin=entry.admin or entry.role == ADMINISTRATOR,
        read=entry.read or entry.role in (READER, OPERATOR),
        operates=scope,
    )
