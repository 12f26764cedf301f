"""The protection of the listeners, and a warning for one without (EXT-23, REST-1)."""

from __future__ import annotations

import ipaddress
import logging
import ssl
from pathlib import Path
from typing import Final

from remuda.base.message import message
from remuda.edges.addresses import Address, address_text
from remuda.edges.certificates import TlsFiles, following_context
from remuda.edges.grpc.security import Security, read_security
from remuda.edges.identities import Identity
from remuda.edges.rest.transport.access import read_readers

_log = logging.getLogger("remuda.config")

_CLEAR_TOKENS: Final = "tokens travel in clear text"


@message
class Files:
    """The files that one listener was given. None: it is in clear text, open to everybody."""

    tls: TlsFiles | None = None
    access: Path | None = None


@message
class Protection:
    """The protection of the listeners. ``rest_tls`` None: clear text.

    ``readers``: who may use the HTTP API; nobody named: everybody. ``certified``: gRPC clients show
    a certificate.
    """

    grpc: Security
    rest_tls: ssl.SSLContext | None = None
    readers: tuple[Identity, ...] = ()
    certified: bool = False

    def warn(self, grpc: Address, rest: Address) -> None:
        """Warn if one of the addresses is open to everybody. Rules: EXT-23, REST-1."""
        danger = ""
        if not self.grpc.identities and not self.certified:
            danger = "whoever reaches it may do everything"
        elif self.grpc.credentials is None:
            danger = _CLEAR_TOKENS
        _warn("gRPC", grpc, danger)
        danger = ""
        if not self.readers:
            danger = "whoever reaches it sees users, applications and configurations"
        elif self.rest_tls is None:
            danger = _CLEAR_TOKENS
        _warn("REST", rest, danger)


def read_protection(grpc: Files, rest: Files) -> Protection:
    """Read the files that were named. Raises: UsageError, one line. Rules: EXT-23, REST-1."""
    return Protection(
        read_security(grpc.tls, grpc.access),
        None if rest.tls is None else following_context(rest.tls),
        read_readers(rest.access),
        certified=grpc.tls is not None and grpc.tls.client_ca is not None,
    )


def _warn(purpose: str, address: Address, danger: str) -> None:
    if danger and not _is_loopback(address[0]):
        text = "%s listens on %s: %s; see SECURITY.md"
        _log.warning(text, purpose, address_text(address), danger)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
