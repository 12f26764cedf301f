"""Serving certificates with their keys. Each has an authority of its own, which signs nothing else.

The key of the authority is forgotten at once. So nobody can steal it, and there is nothing to
protect but the serving key.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from remuda.base.errors import RemudaError

# How long a certificate counts, and how long before its end another one takes its place.
DAYS: Final = 90
RENEW_DAYS: Final = 30
# Clocks of a cluster may differ by so much.
_SLACK: Final = timedelta(hours=1)
_NAME_LIMIT: Final = 64

# What the library raises for keys and certificates that it cannot read or does not know.
_UNREADABLE: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


class PairError(RemudaError):
    """A certificate and a key cannot be used; says why."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A serving certificate with its authority behind it, and its key; all in PEM."""

    certificate: bytes
    key: bytes

    def chain(self) -> tuple[x509.Certificate, ...]:
        """Return the certificates. Raises: PairError."""
        return chain_of(self.certificate)

    @property
    def authority(self) -> bytes:
        """The certificate of the authority in PEM. Raises: PairError."""
        return self.chain()[-1].public_bytes(Encoding.PEM)


def chain_of(text: bytes) -> tuple[x509.Certificate, ...]:
    """Return certificates in PEM, at least one. Raises: PairError."""
    try:
        return tuple(x509.load_pem_x509_certificates(text))
    except (ValueError, x509.InvalidVersion) as error:
        raise PairError(f"no certificates in PEM: {error}") from None


def new_pair(names: Sequence[str], now: datetime) -> Pair:
    """Return a new certificate for these DNS names and addresses, from a new authority."""
    begin, end = now - _SLACK, now + timedelta(days=DAYS)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = _called(f"remuda admission {now:%Y-%m-%d %H:%M:%S}")

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begin)
            .not_valid_after(end)
        )

    authority = (
        builder(issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    serving = (
        builder(_called(names[0]), key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(n) for n in names]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    certificates = serving.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
    return Pair(certificates, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:_NAME_LIMIT])])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def check_pair(pair: Pair, names: Sequence[str], now: datetime) -> None:
    """Check that a certificate can serve under these names now. Raises: PairError."""
    serving = pair.chain()[0]
    try:
        same = load_pem_private_key(pair.key, None).public_key() == serving.public_key()
        told = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except _UNREADABLE as error:
        raise PairError(f"no key in PEM, or a certificate without names: {error}") from None
    if not same:
        raise PairError("the key is not that of the certificate")
    missing = [name for name in names if _general(name) not in told]
    if missing:
        raise PairError(f"the certificate is not for {', '.join(missing)}")
    if not serving.not_valid_before_utc <= now < ends(pair):
        raise PairError("the certificate does not count now")


def ends(pair: Pair) -> datetime:
    """Return when the first certificate of a chain ends. Raises: PairError."""
    return min(each.not_valid_after_utc for each in pair.chain())


def is_trusted(chain: Sequence[x509.Certificate], bundle: bytes, now: datetime) -> bool:
    """Whether a client that trusts a bundle takes a served chain, as far as signatures tell.

    An empty bundle stands for the authorities of the client's system, which nobody else knows.
    Implements: EXT-143.
    """
    if not all(each.not_valid_before_utc <= now < each.not_valid_after_utc for each in chain):
        return False
    if not bundle:
        return True
    try:
        authorities = chain_of(bundle)
    except PairError:
        return False
    return any(_vouches(authority, each) for authority in authorities for each in chain)


def _vouches(authority: x509.Certificate, served: x509.Certificate) -> bool:
    if served == authority:
        return True
    try:
        served.verify_directly_issued_by(authority)
    except (*_UNREADABLE, InvalidSignature):
        return False
    return True


def still_valid(bundle: bytes, now: datetime) -> list[bytes]:
    """Return the certificates of a bundle that have not ended, in PEM, without those twice."""
    try:
        found = chain_of(bundle)
    except PairError:
        return []
    texts = [each.public_bytes(Encoding.PEM) for each in found if now < each.not_valid_after_utc]
    return list(dict.fromkeys(texts))


def serving_context(pair: Pair) -> ssl.SSLContext:
    """Return the TLS settings of a listener with a certificate. Raises: PairError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        with _as_file(pair.key + b"\n" + pair.certificate) as path:
            # An encrypted key has no place here: nobody is there to type its password.
            context.load_cert_chain(path, password=b"")
    except (OSError, ValueError) as error:
        raise PairError(f"no certificate and its key in PEM: {error}") from None
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Give a file with a secret: in memory, else one that only its owner can read.

    Python's TLS reads keys from files only; the file system of a container may be read-only.
    """
    if not hasattr(os, "memfd_create"):
        with TemporaryDirectory(prefix="remuda-") as folder:
            path = Path(folder) / "pair"
            path.write_bytes(content)
            yield str(path)
        return
    descriptor = os.memfd_create("remuda-pair")
    try:
        os.write(descriptor, content)
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def utc(seconds: float) -> datetime:
    """Return a moment from Unix seconds."""
    return datetime.fromtimestamp(seconds, UTC)
