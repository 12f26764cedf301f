"""The file of identities that gRPC and the HTTP API share: it names all callers (EXT-23, REST-1).

It is read when the service starts, so that a mistake is reported at once, and again when it changes
(EXT-27). It has only hashes of tokens and names in certificates, so it is no secret.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.certificates import content
from remuda.edges.issuers.settings import Issuer, IssuerEntry, read_issuers
from remuda.edges.rights import Identity, RightsEntry, read_rights
from remuda.edges.token_hashes import read_token_hash


@message
class AccessRules:
    """What a file of identities says: who is known, and whose signed tokens count."""

    identities: tuple[Identity, ...] = ()
    issuers: tuple[Issuer, ...] = ()

    @property
    def names_nobody(self) -> bool:
        """Whether it names neither an identity nor an issuer."""
        return not (self.identities or self.issuers)


class _Entry(RightsEntry, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """One table of the file."""

    name: str
    certificates: tuple[str, ...] = ()
    token_sha256: tuple[str, ...] = ()
    token_hash: tuple[str, ...] = ()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The file of identities."""

    identity: list[_Entry] | None = None
    issuer: list[IssuerEntry] = []


def read_access_rules(path: Path, *, certificates: bool, again: bool = False) -> AccessRules:
    """Read who may call. ``certificates``: clients have to show one that is looked at.

    ``again``: the service runs; ``identity = []`` then means that nobody may call any more.

    Raises: UsageError, one line that says what is wrong and where.
    """
    try:
        found = msgspec.convert(tomllib.loads(content(path).decode()), _File)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits is a ValueError, too.
        raise UsageError(f"{path}: {error}") from None
    # Without the key the file may be half written; `identity = []` is meant.
    if found.identity is None and not found.issuer:
        raise UsageError(f"{path}: Object missing required field `identity`")
    if not (found.identity or found.issuer or again):
        raise UsageError(f"{path}: nobody may call; add an [[identity]], or leave the option out")
    issuers = read_issuers(path, found.issuer)
    identities = tuple([_identity(path, entry) for entry in found.identity or ()])
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
    return AccessRules(identities, issuers)


def _identity(path: Path, entry: _Entry) -> Identity:
    """Turn one table into an identity. Raises: UsageError."""
    where = f"{path}: identity {entry.name!r}"
    if not (entry.certificates or entry.token_sha256 or entry.token_hash):
        text = f"{where} has neither certificates nor token-hash nor token-sha256"
        raise UsageError(f"{text}; nobody can be it")
    rights = read_rights(where, entry.name, entry)
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
    return replace(
        rights,
        certificates=entry.certificates,
        token_digests=tuple(digests),
        token_hashes=tuple([each for each in hashes if each is not None]),
    )
