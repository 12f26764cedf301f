"""What a known caller may do, and how the file of identities says so (EXT-23, EXT-30).

The same keys give rights to an identity that has a token or a certificate of its own, and to those
whose token an issuer has signed (EXT-31).
"""

from __future__ import annotations

from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.base.scopes import Scope
from remuda.edges.roles import ADMINISTRATOR, OPERATOR, READER, RESOURCE_MANAGER, read_scope
from remuda.edges.token_hashes import TokenHash

# An RM ID that stands for all.
ANY_RM: Final = "*"


@message
class Identity:
    """A known caller. ``name`` is for people.

    ``certificates``: names in its certificate, any of which will do. ``token_digests``: SHA-256 of
    its tokens. ``token_hashes``: slow hashes of others. ``rm_ids``: the RMs it may act for, ``*``
    all. ``read``: it may read the HTTP API. ``admin``: it may do everything but act for RMs.
    ``runs``: it may run commands of a local node (EXT-111).
    ``operates``: what it may start and stop, None for nothing. ``reads``: the scope of ``read``,
    None: everything. ``places``: the scope in which its RMs may have applications and new nodes,
    None: everywhere.
    """

    name: str
    certificates: tuple[str, ...] = ()
    token_digests: tuple[bytes, ...] = ()
    rm_ids: tuple[str, ...] = ()
    admin: bool = False
    read: bool = False
    token_hashes: tuple[TokenHash, ...] = ()
    operates: Scope | None = None
    reads: Scope | None = None
    places: Scope | None = None
    runs: bool = False

    @property
    def has_token(self) -> bool:
        """Whether it can be known by a token."""
        return bool(self.token_digests or self.token_hashes)


class RightsEntry(msgspec.Struct, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """The keys of a table of the file that say what a caller may do."""

    rm_ids: tuple[str, ...] = ()
    read: bool = False
    admin: bool = False
    run: bool = False
    role: str = ""
    partitions: tuple[str, ...] | None = None
    queues: tuple[str, ...] | None = None


def read_rights(where: str, name: str, entry: RightsEntry) -> Identity:
    """Return an identity without proofs.

    Raises: UsageError. Rules: EXT-30, EXT-32, EXT-33.
    """
    scope = read_scope(where, entry.role, entry.partitions, entry.queues)
    if entry.role == RESOURCE_MANAGER and not entry.rm_ids:
        raise UsageError(f"{where} has the role of a resource manager and no rm-ids")
    if not (entry.rm_ids or entry.read or entry.admin or entry.role):
        raise UsageError(
            f"{where} may do nothing; give it rm-ids, read = true or admin = true, or a role"
        )
    readable = entry.read or entry.admin or entry.role in (READER, OPERATOR, ADMINISTRATOR)
    if entry.run and not readable:
        raise UsageError(
            f"{where} has run = true and may not use the HTTP API; give it read = true as well"
        )
    reads = scope if entry.role == READER else None
    places = scope if entry.role == RESOURCE_MANAGER else None
    beside = entry.read or entry.admin
    if (reads is not None and (beside or entry.rm_ids)) or (places is not None and beside):
        text = f"{where} has a scope for the role {entry.role}, and other rights without one"
        raise UsageError(f"{text}; make two identities of it")
    return Identity(
        name,
        rm_ids=entry.rm_ids,
        admin=entry.admin or entry.role == ADMINISTRATOR,
        read=entry.read or entry.role in (READER, OPERATOR),
        operates=(scope or Scope()) if entry.role == OPERATOR else None,
        reads=reads,
        places=places,
        runs=entry.run,
    )
