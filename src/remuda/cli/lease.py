"""The options of ``remuda serve`` about its lease, checked before anything starts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from remuda.base.addresses import parse_address
from remuda.base.duration import SECOND, parse_duration
from remuda.base.errors import UsageError
from remuda.cli.extras import require

if TYPE_CHECKING:
    from remuda.edges.lease.settings import LeaseSettings


@dataclass(frozen=True, slots=True)
class LeaseFiles:
    """What etcd is shown, and what it has to show."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    user: str = ""
    password: Path | None = None


def read_lease(
    url: str, ttl: str, advertised: str, files: LeaseFiles, *, demo: bool = False
) -> LeaseSettings:
    """Return what the options say. Raises: UsageError. Rules: EXT-34, KV-6."""
    require("etcd", "remuda serve --lease", "etcd3gw")
    from remuda.edges.lease.settings import (  # noqa: PLC0415 - keeps help and completion fast
        LeaseSettings,
        read_address,
        read_ttl,
    )

    if demo:
        raise UsageError("--demo and --lease exclude each other; the demo has one scheduler")
    members, name, tls = read_address("--lease", url)
    _check(files, tls=tls)
    if advertised:
        parse_address("--lease-advertise", advertised)
    return LeaseSettings(
        members,
        name,
        tls=tls,
        ttl_seconds=read_ttl("--lease-ttl", (parse_duration(ttl) or 0) / SECOND),
        advertised=advertised,
        ca=files.ca,
        certificate=files.certificate,
        key=files.key,
        user=files.user,
        password=files.password,
    )


def _check(files: LeaseFiles, *, tls: bool) -> None:
    """Raise UsageError for files that cannot be read, or that miss each other."""
    if (files.certificate is None) != (files.key is None):
        raise UsageError("--lease-cert and --lease-key belong together; one is missing")
    if bool(files.user) != (files.password is not None):
        raise UsageError("--lease-user and --lease-password belong together; one is missing")
    named = {"ca": files.ca, "cert": files.certificate, "key": files.key}
    if not tls and any(named.values()):
        raise UsageError("--lease-ca and --lease-cert are for TLS: write the lease as etcds://")
    for option, path in {**named, "password": files.password}.items():
        if path is not None and not (path.is_file() and os.access(path, os.R_OK)):
            raise UsageError(f"--lease-{option} {path}: is no file that this user may read")
