"""Addresses as people write them: ``HOST:PORT``."""

from __future__ import annotations

from remuda.base.errors import UsageError


def parse_address(option: str, text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT`` or ``[IPV6]:PORT``.

    Raises: UsageError.
    """
    host, colon, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not (colon and bare and port.isascii() and port.isdecimal() and int(port) < 1 << 16):
        raise UsageError(f"{option}: '{text}' is not HOST:PORT, for example 127.0.0.1:9079")
    if ":" in bare and bare == host:
        raise UsageError(f"{option}: write an IPv6 address in brackets, for example [::1]:9079")
    return bare, int(port)
