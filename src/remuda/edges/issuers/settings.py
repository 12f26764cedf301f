"""The issuers of tokens that a file of identities names, and what their tokens permit (EXT-31)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.addresses import is_loopback
from remuda.edges.rights import Identity, RightsEntry, read_rights

# Algorithms of signatures with a pair of keys. The others prove nothing (`none`), or with a secret
# that everybody who verifies has (HS256 and its relatives).
ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)
_DEFAULT_ALGORITHMS: Final = ("RS256", "ES256")

# What holds where the file says nothing.
_SUBJECT: Final = "sub"
_LEEWAY_SECONDS: Final = 30
_TOKEN_BYTES: Final = 8_192
_KEPT_SECONDS: Final = 86_400

_LONGEST_LEEWAY_SECONDS: Final = 300
_LONGEST_TOKEN_BYTES: Final = 65_536
_LONGEST_KEPT_SECONDS: Final = 30 * 86_400

# Where keys are read from, for messages.
_PLACES: Final = "keys-file or keys-url"


@message
class Grant:
    """What a token may do whose ``claim`` has one of ``values``: the rights of an identity."""

    claim: str
    values: tuple[str, ...]
    rights: Identity

    def fits(self, claims: Mapping[str, object]) -> bool:
        """Whether the claims of a token have one of the values; a claim may be a list."""
        found = claims.get(self.claim)
        several = found if isinstance(found, list) else [found]
        return any(isinstance(each, str) and each in self.values for each in several)


@message
class Trust:
    """How the tokens of an issuer are verified.

    ``name``: for people. ``issuer``, ``audience``: what the claims `iss` and `aud` must have.
    ``keys``: a path or an address of its keys. ``authority``: a file with the authorities that may
    have signed the certificate of that address; None: those of the system. ``subject``: the claim
    that names the caller. ``kept_seconds``: how old known keys may be when no newer ones can be
    had.
    """

    name: str
    issuer: str
    audience: tuple[str, ...]
    algorithms: tuple[str, ...]
    keys: Path | SplitResult
    authority: Path | None = None
    subject: str = _SUBJECT
    leeway_seconds: int = _LEEWAY_SECONDS
    token_bytes: int = _TOKEN_BYTES
    kept_seconds: int = _KEPT_SECONDS


@message
class Issuer:
    """An issuer. Of the ``grants`` the first that fits a token counts."""

    trust: Trust
    grants: tuple[Grant, ...]

    def identity(self, claims: Mapping[str, object]) -> Identity | None:
        """Return who shows a token with these claims; None: it may do nothing."""
        subject = claims.get(self.trust.subject)
        if not isinstance(subject, str) or not subject:
            return None
        for grant in self.grants:
            if grant.fits(claims):
                return replace(grant.rights, name=f"{self.trust.name}/{subject}")
        return None


class GrantEntry(RightsEntry, forbid_unknown_fields=True, rename="kebab"):
    """One table `[[issuer.grant]]` of the file."""

    values: tuple[str, ...] = ()
    claim: str = ""


class IssuerEntry(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """One table `[[issuer]]` of the file."""

    name: str
    issuer: str
    audience: str | tuple[str, ...]
    grant: list[GrantEntry]
    algorithms: tuple[str, ...] = _DEFAULT_ALGORITHMS
    keys_file: str = ""
    keys_url: str = ""
    keys_ca: str = ""
    subject_claim: str = _SUBJECT
    groups_claim: str = "groups"
    leeway_seconds: int = _LEEWAY_SECONDS
    token_bytes: int = _TOKEN_BYTES
    keys_kept_seconds: int = _KEPT_SECONDS


def read_issuers(path: Path, entries: list[IssuerEntry]) -> tuple[Issuer, ...]:
    """Turn the tables of a file into issuers. Raises: UsageError, one line. Rules: EXT-31."""
    if entries and find_spec("jwt") is None:
        text = "an [[issuer]] needs the libraries of the extra `oidc`"
        raise UsageError(f"{path}: {text}; pip install 'remuda[oidc]'")
    issuers = tuple([_issuer(path, entry) for entry in entries])
    taken: set[str] = set()
    for each in issuers:
        if each.trust.issuer in taken:
            raise UsageError(f"{path}: two issuers are {each.trust.issuer!r}")
        taken.add(each.trust.issuer)
    return issuers


def _issuer(path: Path, entry: IssuerEntry) -> Issuer:
    where = f"{path}: issuer {entry.name!r}"
    audience = (entry.audience,) if isinstance(entry.audience, str) else entry.audience
    for what, value in (("issuer", entry.issuer), ("audience", all(audience) and audience)):
        if not value:
            raise UsageError(f"{where}: {what} is empty")
    wrong = [each for each in entry.algorithms if each not in ALGORITHMS]
    if wrong or not entry.algorithms:
        text = f"algorithms has {wrong[0]!r}" if wrong else "algorithms is empty"
        raise UsageError(f"{where}: {text}; use some of {', '.join(ALGORITHMS)}")
    for what, number, most in (
        ("leeway-seconds", entry.leeway_seconds, _LONGEST_LEEWAY_SECONDS),
        ("token-bytes", entry.token_bytes, _LONGEST_TOKEN_BYTES),
        ("keys-kept-seconds", entry.keys_kept_seconds, _LONGEST_KEPT_SECONDS),
    ):
        if not 0 <= number <= most:
            raise UsageError(f"{where}: {what} is not between 0 and {most}")
    if not entry.grant:
        raise UsageError(f"{where} grants nothing; add an [[issuer.grant]]")
    trust = Trust(
        entry.name,
        entry.issuer,
        audience,
        entry.algorithms,
        _place(where, path, entry),
        authority=path.parent / entry.keys_ca if entry.keys_ca else None,
        subject=entry.subject_claim,
        leeway_seconds=entry.leeway_seconds,
        token_bytes=entry.token_bytes,
        kept_seconds=entry.keys_kept_seconds,
    )
    return Issuer(trust, tuple([_grant(where, entry, each) for each in entry.grant]))


def _grant(where: str, issuer: IssuerEntry, entry: GrantEntry) -> Grant:
    claim = entry.claim or issuer.groups_claim
    where = f"{where}: grant for {claim} {', '.join(entry.values)!r}"
    if not entry.values:
        raise UsageError(f"{where} has no values")
    return Grant(claim, entry.values, read_rights(where, "", entry))


def _place(where: str, path: Path, entry: IssuerEntry) -> Path | SplitResult:
    """Return where the keys are; a path is relative to the file. Raises: UsageError."""
    if bool(entry.keys_file) == bool(entry.keys_url):
        raise UsageError(f"{where} needs either {_PLACES}")
    if entry.keys_file:
        return path.parent / entry.keys_file
    try:
        place = urlsplit(entry.keys_url)
        host, _ = place.hostname, place.port
    except ValueError as error:
        raise UsageError(f"{where}: keys-url is no address: {error}") from None
    if not host or place.username is not None or place.scheme not in ("http", "https"):
        raise UsageError(f"{where}: keys-url is no address of HTTP without a user")
    if place.scheme == "http" and not is_loopback(host):
        text = "keys-url is in clear text, which is for loopback only"
        raise UsageError(f"{where}: {text}: everybody on the path could replace the keys")
    return place
