"""How the server is recognized, and what certificate we show: from files or from inline texts.

Inline keys have to be in a file for a moment, as Python's TLS reads keys from files only; it is one
that only this user can read.
"""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from lightkube.config.models import Cluster, User

from remuda.base.errors import UsageError


def context(cluster: Cluster, user: User) -> ssl.SSLContext:
    """Return the settings of TLS. Raises: UsageError that says which field is wrong."""
    if cluster.certificate_auth:
        authority = _text(cluster.certificate_auth, "certificate-authority")
    elif cluster.certificate_auth_data:
        authority = _decoded(cluster.certificate_auth_data, "certificate-authority-data").decode(
            "ascii", "replace"
        )
    else:
        authority = None
    with _fault_of("certificate-authority"):
        tls = ssl.create_default_context(cadata=authority)
    if authority is None and cluster.insecure:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if user.client_cert or user.client_cert_data:
        _show(tls, user)
    return tls


def _show(tls: ssl.SSLContext, user: User) -> None:
    """Have TLS show the user's certificate."""
    with TemporaryDirectory(prefix="remuda-") as folder:
        certificate = _file(
            folder, user.client_cert, user.client_cert_data, name="client-certificate"
        )
        key = _file(folder, user.client_key, user.client_key_data, name="client-key")
        with _fault_of("client-certificate and client-key"):
            tls.load_cert_chain(certificate, key)


def _file(folder: str, file: str | None, data: str | None, *, name: str) -> str:
    """Return the file of a field, or one with its inline text, which wins."""
    if data:
        made = Path(folder) / name
        made.write_bytes(_decoded(data, f"{name}-data"))
        return str(made)
    if not file:
        raise UsageError(f"{name} is missing")
    _text(file, name)
    return file


def _text(file: str, name: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise UsageError(f"{name}: {file}: {error.strerror}") from None


def _decoded(data: str, name: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        raise UsageError(f"{name}: not base64") from None


@contextmanager
def _fault_of(name: str) -> Iterator[None]:
    """A fault names the field and not its contents."""
    try:
        yield
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "not readable"
        raise UsageError(f"{name}: no certificate or key in PEM form ({reason})") from None
