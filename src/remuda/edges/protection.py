"""The protection of the listeners, and a warning for one without (EXT-23, REST-1)."""

from __future__ import annotations

import logging
import ssl
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Final

from remuda.base.message import message
from remuda.edges.access_file import AccessFile, Read
from remuda.edges.addresses import Address, address_text, is_loopback
from remuda.edges.callers import KnownCallers
from remuda.edges.certificates import TlsFiles, following_context
from remuda.edges.grpc.security import Security, read_security
from remuda.edges.identities import AccessRules, read_access_rules
from remuda.edges.lockout import Lockout
from remuda.edges.rest.transport.access import read_readers
from remuda.runtime.configuration.followed_file import Mark, mark_of
from remuda.telemetry.audit.records import Audit

_log = logging.getLogger("remuda.config")

_CLEAR_TOKENS: Final = "tokens travel in clear text"


@message
class Files:
    """The files that one listener was given. None: it is in clear text, open to everybody."""

    tls: TlsFiles | None = None
    access: Path | None = None


@message
class Followed:
    """A file of identities. ``mark``: taken before it was read. ``read``: reads it again."""

    path: Path
    mark: Mark
    read: Read


@message
class Protection:
    """The protection of the listeners. ``rest_tls`` None: clear text.

    ``readers``: who may use the HTTP API; nobody named: everybody. ``certified``: gRPC clients show
    a certificate. ``grpc_access``, ``rest_access``: the files of identities, to be read again.
    """

    grpc: Security
    rest_tls: ssl.SSLContext | None = None
    readers: AccessRules = field(default_factory=AccessRules)
    certified: bool = False
    grpc_access: Followed | None = None
    rest_access: Followed | None = None

    def known_callers(self, audit: Audit) -> tuple[KnownCallers, KnownCallers]:
        """Return who may call gRPC and who the HTTP API; both lock out the same addresses."""
        lockout = Lockout(audit)
        grpc, rest = [
            KnownCallers(each.identities, lockout, issuers=each.issuers, audit=audit)
            for each in (self.grpc.access, self.readers)
        ]
        return grpc, rest

    def access_files(
        self, grpc: KnownCallers, rest: KnownCallers, audit: Audit
    ) -> list[AccessFile]:
        """Return what keeps the callers of the two listeners in step with the files.

        Rules: EXT-27.
        """
        return [
            AccessFile(each.path, each.read, callers, mark=each.mark, audit=audit)
            for each, callers in ((self.grpc_access, grpc), (self.rest_access, rest))
            if each is not None
        ]

    def warn(self, grpc: Address, rest: Address) -> None:
        """Warn if one of the addresses is open to everybody. Rules: EXT-23, REST-1."""
        danger = ""
        if self.grpc.access.names_nobody and not self.certified:
            danger = "whoever reaches it may do everything"
        elif self.grpc.credentials is None:
            danger = _CLEAR_TOKENS
        _warn("gRPC", grpc, danger)
        danger = ""
        if self.readers.names_nobody:
            danger = "whoever reaches it sees users, applications and configurations"
        elif self.rest_tls is None:
            danger = _CLEAR_TOKENS
        _warn("REST", rest, danger)


def read_protection(grpc: Files, rest: Files) -> Protection:
    """Read the files that were named. Raises: UsageError, one line. Rules: EXT-23, REST-1."""
    certified = grpc.tls is not None and grpc.tls.client_ca is not None
    grpc_access = rest_access = None
    if grpc.access is not None:
        again = partial(read_access_rules, grpc.access, certificates=certified, again=True)
        grpc_access = Followed(grpc.access, mark_of(grpc.access), again)
    if rest.access is not None:
        again = partial(read_readers, rest.access, again=True)
        rest_access = Followed(rest.access, mark_of(rest.access), again)
    return Protection(
        read_security(grpc.tls, grpc.access),
        None if rest.tls is None else following_context(rest.tls),
        read_readers(rest.access),
        certified=certified,
        grpc_access=grpc_access,
        rest_access=rest_access,
    )


def _warn(purpose: str, address: Address, danger: str) -> None:
    if danger and not is_loopback(address[0]):
        text = "%s listens on %s: %s; see SECURITY.md"
        _log.warning(text, purpose, address_text(address), danger)
