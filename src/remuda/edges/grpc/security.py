"""Files that make the gRPC listener safe to reach: certificates, keys, and who may call (EXT-23).

Read when the service starts, so that a mistake is told at once. Certificates may be replaced
while it serves: new connections get the new ones as soon as all files belong together.
"""

from __future__ import annotations

import logging
import ssl
import tomllib
from pathlib import Path
from typing import Final

import grpc
import msgspec

from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.grpc.access import Identity
from remuda.edges.grpc.settings import TlsFiles

_log = logging.getLogger("remuda.security")

# Bytes of one of these files.
_FILE_LIMIT: Final = 1_000_000


@message
class Security:
    """What the listener is protected by. ``credentials`` None: clear text."""

    credentials: grpc.ServerCredentials | None = None
    identities: tuple[Identity, ...] = ()


def read_security(tls: TlsFiles | None, access: Path | None) -> Security:
    """Read the files that were named. Raises: UsageError, one line. Rules: EXT-23."""
    credentials = None if tls is None else server_credentials(tls)
    asks = tls is not None and tls.client_ca is not None
    return Security(
        credentials, () if access is None else read_identities(access, certificates=asks)
    )


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
        self._mark = _mark(files)
        self.first = _read(files)

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what the files say if that is new; None: go on with what is used."""
        mark = _mark(self._files)
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


def _mark(files: TlsFiles) -> tuple[tuple[int, int, int], ...]:
    """Return something that differs when a file differs; a missing one counts, too."""
    found = []
    for path in files.paths():
        try:
            state = path.stat()
        except OSError:
            found.append((0, 0, 0))
        else:
            found.append((state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


def _read(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    """Read the files and see that they belong together. Raises: UsageError."""
    content = [_content(path) for path in files.paths()]
    _try(files)
    roots = content[2] if files.client_ca is not None else None
    return grpc.ssl_server_certificate_configuration(
        [(content[1], content[0])], root_certificates=roots
    )


def _try(files: TlsFiles) -> None:
    """Let a library look at the files that says what is wrong; gRPC's does not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # An encrypted key has no place here: nobody is there to type its password.
        context.load_cert_chain(files.certificate, files.key, password=b"")
    except (OSError, ValueError) as error:
        names = f"{files.certificate} and {files.key}"
        raise UsageError(f"{names} are no certificate and its key in PEM: {_why(error)}") from None
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except (OSError, ValueError) as error:
            text = f"{files.client_ca} has no certificates in PEM: {_why(error)}"
            raise UsageError(text) from None


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
    return str(reason).lower().replace("_", " ")


def _content(path: Path) -> bytes:
    """Return what is in a file. Raises: UsageError."""
    try:
        with path.open("rb") as file:
            content = file.read(_FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(content) > _FILE_LIMIT:
        raise UsageError(f"cannot use {path}: it has more than {_FILE_LIMIT} bytes")
    return content


class _Entry(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    """One table of the file."""

    name: str
    certificates: list[str] = []
    token_sha256: list[str] = []
    rm_ids: list[str] = []
    admin: bool = False


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The file of identities."""

    identity: list[_Entry]


def read_identities(path: Path, *, certificates: bool) -> tuple[Identity, ...]:
    """Read who may call. ``certificates``: clients have to show one that is looked at.

    Raises: UsageError, one line that says what is wrong and where.
    """
    try:
        found = msgspec.convert(tomllib.loads(_content(path).decode()), _File)
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    if not found.identity:
        raise UsageError(f"{path}: nobody may call; add an [[identity]], or leave the option out")
    identities = tuple([_identity(path, entry) for entry in found.identity])
    taken: dict[object, str] = {}
    for each in identities:
        if each.certificates and not certificates:
            text = f"identity {each.name!r} has certificates, but clients are not asked for them"
            raise UsageError(f"{path}: {text}; name the authority with --grpc-tls-client-ca")
        for mark in (*each.certificates, *each.token_digests):
            if mark in taken:
                text = f"identities {taken[mark]!r} and {each.name!r} cannot be told apart"
                raise UsageError(f"{path}: {text}; they share a certificate or token")
            taken[mark] = each.name
    return identities


def _identity(path: Path, entry: _Entry) -> Identity:
    """Turn one table into an identity. Raises: UsageError."""
    where = f"{path}: identity {entry.name!r}"
    if not (entry.certificates or entry.token_sha256):
        raise UsageError(f"{where} has neither certificates nor token-sha256; nobody can be it")
    if not (entry.rm_ids or entry.admin):
        raise UsageError(f"{where} may do nothing; give it rm-ids, or admin = true")
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
    return Identity(
        entry.name, tuple(entry.certificates), tuple(digests), tuple(entry.rm_ids), entry.admin
    )
