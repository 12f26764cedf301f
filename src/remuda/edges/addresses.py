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

# The first bits of an IPv6 address: providers give them to a customer, who chooses the others.
_CUSTOMER_BITS: Final = 64

# How many sources are remembered, because each call and connection needs one.
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
    """Return what all addresses of one source have in common.

    That is the whole of an IPv4 address, and the first half of an IPv6 address.

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
