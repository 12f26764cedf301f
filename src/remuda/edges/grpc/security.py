"""Files that make the gRPC listener safe to reach: certificates, keys, and who may call (EXT-23).

They are read when the service starts, so a mistake is reported at once. Certificates may be
replaced while it serves: new connections get the new ones as soon as all files belong together.
"""

from __future__ import annotations

import logging
from dataclasses import field
from pathlib import Path

import grpc

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.certificates import TlsFiles, content, server_context
from remuda.edges.identities import AccessRules, read_access_rules

_log = logging.getLogger("remuda.security")


@message
class Security:
    """The protection of the listener. ``credentials`` None: clear text."""

    credentials: grpc.ServerCredentials | None = None
    access: AccessRules = field(default_factory=AccessRules)


def read_security(tls: TlsFiles | None, access: Path | None) -> Security:
    """Read the files that were named. Raises: UsageError, one line. Rules: EXT-23."""
    credentials = None if tls is None else server_credentials(tls)
    asks = tls is not None and tls.client_ca is not None
    if access is None:
        return Security(credentials)
    return Security(credentials, read_access_rules(access, certificates=asks))


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials that follow their files.

    Raises: UsageError, one line, if a file cannot be used now.
    """
    follower = _Follower(files)
    return grpc.dynamic_ssl_server_credentials(
        follower.first,
        follower.changed,  # type: ignore[arg-type] # None: no change, says its documentation
        require_client_authentication=files.client_ca is not None,
    )


class _Follower:
    """Reads the files of a listener again when they change. Called on threads of the library."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._mark = files.mark()
        self.first = _read(files)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the content of the files if it is new; None: keep the current one."""
        mark = self._files.mark()
        if mark == self._mark:
            return None
        self._mark = mark
        try:
            fresh = _read(self._files)
        except UsageError as error:
            _log.error("%s; the certificate in use stays", error)
            return None
        _log.info(
            "the certificate of the gRPC listener was replaced from %s", self._files.key.parent
        )
        return fresh


def _read(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    """Read the files and see that they belong together. Raises: UsageError."""
    pem = [content(path) for path in files.paths()]
    # gRPC does not say what is wrong with a file; the standard library does.
    server_context(files)
    roots = pem[2] if files.client_ca is not None else None
    return grpc.ssl_server_certificate_configuration([(pem[1], pem[0])], root_certificates=roots)
