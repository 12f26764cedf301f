"""The settings of the lease: the address of the store as people write it, files, times."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from remuda.base.addresses import parse_address
from remuda.base.errors import UsageError
from remuda.base.message import message
from remuda.edges.addresses import Address

_DEFAULT: Final = ("127.0.0.1", 2379)
_FORM: Final = "etcd://HOST:PORT[,HOST:PORT...]/KEY, or etcds:// for TLS"

# In seconds. etcd gives no shorter lease with its usual settings; with a longer one a take-over
# would take minutes.
SHORTEST: Final = 2
LONGEST: Final = 60
TTL_SECONDS: Final = 3


@message
class LeaseSettings:
    """Where the lease is kept, and for how long it is held.

    ``members``: addresses of the members of one etcd cluster, of which one has to answer. ``tls``:
    whether they are spoken to over TLS. ``ca``, ``certificate``, ``key``: PEM files; without ``ca``
    the authorities of the system count. ``user`` "": none is named. ``password``: a file with it.
    ``advertised`` "": the address of the gRPC listener.
    """

    members: tuple[Address, ...]
    name: str
    tls: bool = False
    ttl_seconds: int = TTL_SECONDS
    advertised: str = ""
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password: Path | None = field(default=None, repr=False)


def read_address(option: str, text: str) -> tuple[tuple[Address, ...], str, bool]:
    """Return the members, the key and whether TLS is used, of ``etcd://127.0.0.1:2379/remuda``.

    Without members the one of this machine is meant. Raises: UsageError.
    """
    parts = urlsplit(text)
    name = parts.path.strip("/")
    extra = parts.query or parts.fragment or "@" in parts.netloc
    if parts.scheme not in ("etcd", "etcds") or not name or extra:
        raise UsageError(f"{option}: '{text}' is not of the form {_FORM}")
    members = tuple(parse_address(option, each) for each in parts.netloc.split(",") if each)
    return members or (_DEFAULT,), name, parts.scheme == "etcds"


def read_ttl(option: str, seconds: float) -> int:
    """Return the time of the lease in whole seconds. Raises: UsageError."""
    if seconds != int(seconds) or not SHORTEST <= seconds <= LONGEST:
        raise UsageError(
            f"{option}: etcd counts whole seconds; give {SHORTEST} to {LONGEST}, for example 3s"
        )
    return int(seconds)
