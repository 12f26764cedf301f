"""Addresses: how they are written, and the source of a connection or call.

Sources are for limits per address (REST-3, SI-105).
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import unquote

# Host and port.
Address: TypeAlias = tuple[str, int]

# Bits of an IPv6 address that tell one customer from another; the rest is at his choice.
_CUSTOMER_BITS: Final = 64

# Hosts whose source is remembered: each call and connection asks.
_SOURCES_REMEMBERED: Final = 4_096


def address_text(address: Address) -> str:
    """Return ``HOST:PORT``, with brackets around an IPv6 address."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@lru_cache(maxsize=_SOURCES_REMEMBERED)
def source(host: str) -> str:
    """Return the common part of the addresses of one source: all of IPv4, half of IPv6.

    A text that is no address is returned as it is.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _CUSTOMER_BITS), strict=False).network_address)


def source_of_peer(peer: str) -> str:
    """Return the source of a peer as gRPC writes it, such as ``ipv4:10.0.0.1:4711``."""
    _, _, rest = peer.partition(":")
    return source(unquote(rest).rpartition(":")[0].strip("[]"))
