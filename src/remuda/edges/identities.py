"""Who may call: the file of identities that gRPC and the HTTP API share (EXT-23, REST-1).

It is read when the service starts, so that a mistake is reported at once, and again when it changes
(EXT-27). It has only hashes of tokens and names in certificates, so it is no secret.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.certificates import content
from remuda.edges.roles import ADMINISTRATOR, OPERATOR, READER, RESOURCE_MANAGER, Scope, read_scope
from remuda.edges.token_hashes import TokenHash, read_token_hash

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


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """One table of the file."""

    name: str
    certificates: list[str] = []
    token_sha256: list[str] = []
    token_hash: list[str] = []
    rm_ids: list[str] = []
    read: bool = False
    admin: bool = False
    role: str = ""
    partitions: list[str] = []
    queues: list[str] = []


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The file of identities."""

    identity: list[_Entry]


def read_identities(path: Path, *, certificates: bool, again: bool = False) -> tuple[Identity, ...]:
    """Read who may call. ``certificates``: clients have to show one that is looked at.

    ``again``: the service runs; ``identity = []`` then means that nobody may call any more.

    Raises: UsageError, one line that says what is wrong and where.
    """
    try:
        found = msgspec.convert(tomllib.loads(content(path).decode()), _File)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not (found.identity or again):
        raise UsageError(f"{path}: nobody may call; add an [[identity]], or leave the option out")
    identities = tuple([_identity(path, entry) for entry in found.identity])
    taken: dict[object, str] = {}
    for each in identities:
        if each.certificates and not certificates:
            text = f"identity {each.name!r} has certificates, but clients are not asked for them"
            raise UsageError(f"{path}: {text}; name the authority with --grpc-tls-client-ca")
        hashed = [each_hash.key for each_hash in each.token_hashes]
        for mark in (*each.certificates, *each.token_digests, *hashed):
            if mark in taken:
                text = f"identities {taken[mark]!r} and {each.name!r} cannot be told apart"
                raise UsageError(f"{path}: {text}; they share a certificate or token")
            taken[mark] = each.name
    return identities


def _identity(path: Path, entry: _Entry) -> Identity:
    """Turn one table into an identity. Raises: UsageError."""
    where = f"{path}: identity {entry.name!r}"
    if not (entry.certificates or entry.token_sha256 or entry.token_hash):
        text = f"{where} has neither certificates nor token-hash nor token-sha256"
        raise UsageError(f"{text}; nobody can be it")
    scope = read_scope(where, entry.role, entry.partitions, entry.queues)
    if entry.role == RESOURCE_MANAGER and not entry.rm_ids:
        raise UsageError(f"{where} has the role of a resource manager and no rm-ids")
    if not (entry.rm_ids or entry.read or entry.admin or entry.role):
        raise UsageError(
            f"{where} may do nothing; give it rm-ids, read = true or admin = true, or a role"
        )
    digests = []
    for text in entry.token_sha256:
        try:
            digest = bytes.fromhex(text)
        except ValueError:
            digest = b""
        if len(digest) != 32:
            raise UsageError(
                f"{where}: a token-sha256 is not the 64 hexadecimal digits of a SHA-256"
            )
        digests.append(digest)
    hashes = [read_token_hash(text) for text in entry.token_hash]
    if None in hashes:
        raise UsageError(f"{where}: a token-hash is none that `remuda token` makes")
    return Identity(
        entry.name,
        tuple(entry.certificates),
        tuple(digests),
        tuple(entry.rm_ids),
        admin=entry.admin or entry.role == ADMINISTRATOR,
        read=entry.read or entry.role in (READER, OPERATOR),
        token_hashes=tuple([each for each in hashes if each is not None]),
        operates=scope,
    )
