"""The PEM files of a listener: checked at the start, read again when they change (EXT-23, REST-1).

A certificate is renewed many times in the life of a service. New connections get the new one as
soon as all files belong together; until then the old one stays in use.
"""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remuda.base.errors import UsageError

_log = logging.getLogger("remuda.security")

# Bytes of one of these files.
FILE_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of a listener. ``client_ca`` None: clients need no certificate (EXT-23)."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def paths(self) -> tuple[Path, ...]:
        """Return all files there are."""
        own = (self.certificate, self.key)
        return own if self.client_ca is None else (*own, self.client_ca)

    def mark(self) -> tuple[tuple[int, int, int], ...]:
        """Return a mark that changes when a file changes or is removed."""
        found = []
        for path in self.paths():
            try:
                state = path.stat()
            except OSError:
                found.append((0, 0, 0))
            else:
                found.append((state.st_mtime_ns, state.st_size, state.st_ino))
        return tuple(found)


def content(path: Path) -> bytes:
    """Return the content of a file. Raises: UsageError."""
    try:
        with path.open("rb") as file:
            found = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(found) > FILE_LIMIT:
        raise UsageError(f"cannot use {path}: it has more than {FILE_LIMIT} bytes")
    return found


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return the context of a listener; check that the files belong together.

    Raises: UsageError, one line, if a file cannot be used now.
    """
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
    return context


def following_context(files: TlsFiles) -> ssl.SSLContext:
    """Return a context whose new connections get the present certificate of the files.

    Raises: UsageError, one line, if a file cannot be used now. Rules: REST-1.
    """
    for path in files.paths():
        content(path)
    mark = files.mark()
    first = fresh = server_context(files)

    def choose(connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        nonlocal mark, fresh
        seen = files.mark()
        if seen != mark:
            mark = seen
            try:
                fresh = server_context(files)
            except UsageError as error:
                _log.error("%s; the certificate in use stays", error)
            else:
                _log.info("the certificate of the HTTP listener was replaced from %s", files.key)
        connection.context = fresh

    first.sni_callback = choose
    return first


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or str(error)
    return str(reason).lower().replace("_", " ")
